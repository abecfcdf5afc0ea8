"""Training sees the samples of the source that was dumped last, and is refused for any other source."""

import pytest

from flashbench.data_settings import SourceSettings
from flashbench.dump.plan import make_plan, pieces
from flashbench.dump.quarantine import Quarantined, read_quarantine, write_quarantine
from flashbench.dump.read import open_source
from flashbench.dump.source import check_intact, read_source, source_store, write_source
from flashbench.dump.store import FeatureStore, _open_shard, finished
from flashbench.train.run import run_train
from specflash.errors import UserError
from tests.flashbench.dump.source import exchange, settings_for, write_rows
from tests.flashbench.dump.source import write_source as write_pictures
from tests.flashbench.dump.test_store import features, write
from tests.flashbench.train.conftest import make_experiment

SOURCE = SourceSettings(dataset="coco-captions")


def test_samples_of_an_earlier_source_stay_in_the_store_and_are_not_trained_on(tmp_path):
    write(tmp_path, *(features(name) for name in "abcd"))
    write_source(tmp_path, SOURCE, "bd")
    assert source_store(tmp_path).ids() == ["b", "d"]
    assert FeatureStore(tmp_path).ids() == list("abcd")


def test_a_sample_that_is_not_finished_yet_is_not_there(tmp_path):
    write(tmp_path, features("a"))
    write_source(tmp_path, SOURCE, "ab")
    assert source_store(tmp_path).ids() == ["a"]


def test_a_half_finished_dump_is_not_trained_on(tmp_path):
    write(tmp_path, features("a"), features("b"))
    write_source(tmp_path, SOURCE, "abcd")
    write_quarantine(tmp_path, "coco-captions:train", [Quarantined("coco-captions:train", 2, "c", "no picture")])
    dumped = read_source(tmp_path)
    with pytest.raises(UserError, match=r"1 of 4 samples of dump\.source are not in .*run `specflash dump`"):
        dumped.check_complete(dumped.store())
    write(tmp_path, features("d"))
    dumped.check_complete(dumped.store())


def test_features_whose_bytes_have_changed_are_not_trained_on(tmp_path):
    write(tmp_path, *(features(name) for name in "ab"))
    write_source(tmp_path, SOURCE, "ab")
    check_intact(source_store(tmp_path))
    (shard,) = tmp_path.glob("shard-*.safetensors")
    data = bytearray(shard.read_bytes())
    data[-20] ^= 1
    shard.unlink()
    shard.write_bytes(data)
    _open_shard.cache_clear()
    with pytest.raises(UserError, match=r"1 samples in .* are damaged, in shard-.*run `specflash dump` again"):
        check_intact(source_store(tmp_path))


@pytest.mark.parametrize("change", [{"split": "test"}, {"limit": 3}, {"path": "elsewhere"}])
def test_training_on_another_source_than_the_settings_is_refused(weights, tmp_path, change):
    settings = make_experiment(weights, tmp_path)
    dump = settings.dump.model_copy(update={"source": SourceSettings(dataset="coco-captions", **change)})
    with pytest.raises(UserError, match=rf"another source .*{next(iter(change))}.*run `specflash dump`"):
        run_train(settings.model_copy(update={"dump": dump}))


@pytest.mark.parametrize("content", [None, b"", b"[]", b"{}", b'{"ids": 3, "source": {}}',
                                     b'{"ids": [[1]], "source": {}}', b"[" * 200_000, b'{"ids": ["a'])
def test_a_store_that_does_not_name_its_source_is_to_be_dumped_again(tmp_path, content):
    write(tmp_path, features("a"))
    if content is not None:
        (tmp_path / "source.json").write_bytes(content)
    with pytest.raises(UserError, match=r"source.json .*run `specflash dump` again"):
        read_source(tmp_path)


def test_a_plan_names_finished_and_unfinished_samples_of_its_source_only(weights, tmp_path):
    settings = settings_for(weights, write_pictures(tmp_path / "data", 3), tmp_path / "run")
    dataset = open_source(settings.dump)
    ids = [dataset[index].id for index in range(3)]
    write(settings.dump_folder, features("of-another-source"), features(ids[1]))
    plan = make_plan(settings, dataset, finished(settings.dump_folder))
    assert plan.ids == {id: index for index, id in enumerate(ids)}
    assert list(plan.todo) == [ids[0], ids[2]]


@pytest.mark.parametrize(("media", "at_most", "work"), [
    ("abacad", 4, ["0241", "35"]), ("aaaaab", 2, ["01", "23", "45"]), ("abcd", 2, ["01", "23"]), ("", 2, []),
    ("abab", 8, ["0213"])])
def test_pieces_hold_what_shares_its_media_and_no_more_than_they_may(media, at_most, work):
    samples = {str(place): medium for place, medium in enumerate(media)}
    assert ["".join(piece) for piece in pieces(samples, samples, at_most)] == work


@pytest.mark.parametrize("spoil", [{"question": "half \udc80"}, {"image": "images/\0.jpg"}, {"image": "\udc80.jpg"}])
def test_text_and_names_that_cannot_be_written_make_a_sample_bad_and_no_more(weights, tmp_path, spoil):
    folder = write_pictures(tmp_path / "data", 2)
    rows = [exchange(0), exchange(1)]
    rows[0]["image"] = spoil.get("image", rows[0]["image"])
    rows[0]["conversations"][0]["value"] = spoil.get("question", rows[0]["conversations"][0]["value"])
    write_rows(folder, rows)
    settings = settings_for(weights, folder, tmp_path / "run")
    settings.dump_folder.mkdir(parents=True)
    plan = make_plan(settings, open_source(settings.dump), finished(settings.dump_folder))
    assert [entry.index for entry in plan.bad] == [0]
    assert len(plan.todo) == 1
    write_quarantine(settings.dump_folder, "source", plan.bad)
    assert read_quarantine(settings.dump_folder)[0].reason == plan.bad[0].reason
