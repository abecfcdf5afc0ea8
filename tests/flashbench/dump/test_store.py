"""Laws of the feature store: whole or not at all, exact, once per id, refused when it does not fit."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from flashbench.dump.manifest import Manifest
from flashbench.dump.shards import Limits, Row, ShardWriter, Writer, piece_name
from flashbench.dump.store import FeatureStore
from flashbench.lock import sole_writer
from specflash.errors import UserError
from specflash.files import DiskFull
from specflash.records import Features

WIDTH = 6
MANIFEST = Manifest(target="toy", fingerprint="f1", dtype="bfloat16", max_length=64, width=WIDTH)
LIMITS = Limits()
SOMEONE = Writer(pid=1, gpus=("0",), device="cpu")


def features(name: str, length: int = 5) -> Features:
    generator = torch.Generator().manual_seed(sum(name.encode()))
    return Features(id=name, ids=torch.randint(0, 300, (length,), generator=generator),
                    features=torch.randn(length, WIDTH, generator=generator).bfloat16(),
                    spans=((1, 2),), answer_mask=torch.arange(length) >= length - 2)


def write(folder: Path, *samples: Features, limits: Limits = LIMITS) -> ShardWriter:
    MANIFEST.claim(folder)
    return write_only(folder, *samples, limits=limits)


def write_only(folder: Path, *samples: Features, limits: Limits = LIMITS) -> ShardWriter:
    shards = ShardWriter(folder, piece_name([sample.id for sample in samples]), limits, SOMEONE)
    for sample in samples:
        shards.add(sample)
    shards.flush()
    return shards


def assert_same(read: Features, written: Features) -> None:
    assert (read.id, read.spans) == (written.id, written.spans)
    for part in ("ids", "features", "answer_mask"):
        left, right = getattr(read, part), getattr(written, part)
        assert left.dtype == right.dtype
        assert torch.equal(left, right)


def test_a_sample_comes_back_to_the_last_bit_by_place_and_by_id(tmp_path):
    long, short = features("b", 9), replace(features("a", 4), spans=())
    write(tmp_path, long, short)
    store = FeatureStore(tmp_path)
    assert store.ids() == ["a", "b"]
    assert (len(store), store.lengths()) == (2, [4, 9])
    assert_same(store.read(0), short)
    assert_same(store.read("b"), long)
    assert torch.equal(store.answer_ids("b"), long.ids[-2:])


def test_inner_states_come_back_where_they_are_stored_and_wanted_and_the_prefix_s_once(tmp_path):
    pair = [replace(features(name, 6), inner=features(name + "inner", 6).features) for name in ("a", "b")]
    pair[1].features[:3], pair[1].inner[:3] = pair[0].features[:3], pair[0].inner[:3]  # the same picture
    replace(MANIFEST, inner=1).claim(tmp_path)
    write_only(tmp_path, *pair)
    store = FeatureStore(tmp_path)
    for sample in pair:
        assert_same(store.read(sample.id), sample)
        assert torch.equal(store.read(sample.id).inner, sample.inner)
        assert store.read(sample.id, inner=False).inner is None
    with safe_open(next(tmp_path.glob("*.safetensors")), "pt") as shard:
        assert sum(name.startswith("prefix-") for name in shard.keys()) == 2  # noqa: SIM118
    assert store.verify() == []


def test_a_store_without_inner_states_takes_none_from_now_on_and_the_other_way_round(tmp_path):
    MANIFEST.claim(tmp_path / "plain")
    with pytest.raises(UserError, match="inner None → 1"):
        replace(MANIFEST, inner=1).claim(tmp_path / "plain")
    replace(MANIFEST, inner=1).claim(tmp_path / "deep")
    with pytest.raises(UserError, match="inner 1 → 0"):
        replace(MANIFEST, inner=0).claim(tmp_path / "deep")


def test_order_does_not_depend_on_who_wrote_what(tmp_path):
    samples = [features(name) for name in "dbac"]
    write(tmp_path / "one", *samples)
    for sample in samples:
        write(tmp_path / "four", sample)
    assert FeatureStore(tmp_path / "one").ids() == FeatureStore(tmp_path / "four").ids()


def test_a_shard_ends_at_its_size(tmp_path):
    one_and_a_half = 1.5 * (50 * WIDTH * 2 + 50 * 4 + 50 + 16) / 2**20
    write(tmp_path, *(features(name, 50) for name in "abcde"), limits=Limits(one_and_a_half))
    assert sorted(map(samples_of, tmp_path.glob("shard-*.json"))) == [["a", "b"], ["c", "d"], ["e"]]
    assert FeatureStore(tmp_path).ids() == list("abcde")


def samples_of(index: Path) -> list[str]:
    return [row["id"] for row in json.loads(index.read_text())["samples"]]


def test_what_a_kill_leaves_behind_is_no_sample(tmp_path):
    """A kill leaves a half-written file, or a whole shard whose index is missing."""
    write(tmp_path, features("a"))
    write(tmp_path, features("b"))
    index_of_b = next(path for path in tmp_path.glob("shard-*.json") if samples_of(path) == ["b"])
    index_of_b.rename(index_of_b.with_suffix(".json.tmp"))
    (tmp_path / "shard-0-0.safetensors.tmp").write_bytes(b"half")
    assert FeatureStore(tmp_path).ids() == ["a"]
    assert FeatureStore(tmp_path).verify() == []

    write(tmp_path, features("b"))
    assert FeatureStore(tmp_path).ids() == ["a", "b"]
    assert_same(FeatureStore(tmp_path).read("b"), features("b"))


def test_a_repeated_attempt_writes_nothing_durable_again(tmp_path):
    name = piece_name(["a", "b"])
    MANIFEST.claim(tmp_path)
    first = ShardWriter(tmp_path, name, Limits(), SOMEONE)
    first.add(features("a"))
    first.flush()
    before = {path.name: path.stat().st_ino for path in tmp_path.iterdir()}

    second = ShardWriter(tmp_path, name, Limits(), SOMEONE)
    assert set(second.done) == {"a"}
    second.add(features("b"))
    second.flush()
    assert before.items() <= {path.name: path.stat().st_ino for path in tmp_path.iterdir()}.items()
    assert FeatureStore(tmp_path).ids() == ["a", "b"]


def test_an_id_written_by_two_workers_counts_once(tmp_path):
    write(tmp_path, features("a"), features("b"))
    write(tmp_path, features("b"), features("c"))
    store = FeatureStore(tmp_path)
    assert store.ids() == ["a", "b", "c"]
    assert_same(store.read("b"), features("b"))


@pytest.mark.parametrize("full", [".safetensors", ".json"])
def test_a_full_disk_is_one_line_and_keeps_what_was_finished(tmp_path, full):
    """/dev/full gives the kernel's own ENOSPC, for the shard or for its index."""
    write(tmp_path, features("a"))
    unfinished = tmp_path / f"shard-{piece_name(['b'])}-0{full}.tmp"
    unfinished.symlink_to("/dev/full")
    with pytest.raises(DiskFull, match=r"no space left .*what is finished is kept.*run the same command again"):
        write(tmp_path, features("b"))
    assert not unfinished.is_symlink()
    assert FeatureStore(tmp_path).ids() == ["a"]
    write(tmp_path, features("b"))
    assert_same(FeatureStore(tmp_path).read("b"), features("b"))


def test_only_a_full_disk_is_taken_for_a_full_disk(tmp_path):
    with pytest.raises(FileNotFoundError):
        ShardWriter(tmp_path / "nowhere", "x", Limits(0), SOMEONE).add(features("a"))


@pytest.mark.parametrize(("change", "words"), [
    ({"fingerprint": "f2"}, "fingerprint f1 → f2"), ({"dtype": "float32"}, "dtype bfloat16 → float32"),
    ({"max_length": 32}, "max_length 64 → 32"), ({"target": "other"}, "target toy → other")])
def test_another_setting_is_refused_with_what_differs(tmp_path, change, words):
    MANIFEST.claim(tmp_path)
    other = replace(MANIFEST, **change)
    with pytest.raises(UserError, match=f"{words}.*another folder"):
        other.claim(tmp_path)
    assert other.settings_hash != MANIFEST.settings_hash
    assert FeatureStore(tmp_path).manifest == MANIFEST


def test_library_versions_are_recorded_but_shape_nothing(tmp_path):
    MANIFEST.claim(tmp_path)
    newer = replace(MANIFEST, versions={"torch": "99"})
    newer.claim(tmp_path)
    assert newer.settings_hash == MANIFEST.settings_hash
    assert FeatureStore(tmp_path).manifest.versions["torch"] == torch.__version__


def test_a_folder_without_a_store_is_a_clear_error(tmp_path):
    with pytest.raises(UserError, match=r"no feature store at .*specflash dump"):
        FeatureStore(tmp_path)


def test_another_format_is_refused(tmp_path):
    MANIFEST.claim(tmp_path)
    entries = json.loads((tmp_path / "manifest.json").read_text())
    for other in (2, 99):
        (tmp_path / "manifest.json").write_text(json.dumps({**entries, "format": other}))
        with pytest.raises(UserError, match=f"format {other}, this version reads 3: dump into another folder"):
            FeatureStore(tmp_path)


@pytest.mark.parametrize("part", [slice(0, 3), slice(3, 5)])
def test_verify_names_the_sample_with_a_flipped_bit(tmp_path, part):
    """In its visual prefix as well as behind it."""
    write(tmp_path, features("a"), features("b"))
    store = FeatureStore(tmp_path)
    assert store.verify() == []
    shard = tmp_path / store.rows[1].shard
    data = bytearray(shard.read_bytes())
    place = data.index(features("b").features[part].view(torch.uint8).numpy().tobytes())
    data[place] ^= 1
    with shard.open("r+b") as file:
        file.write(data)
    seen = []
    assert store.verify(lambda: seen.append(1)) == ["b"]
    assert len(seen) == 2


@pytest.mark.parametrize("harm", [Path.unlink, lambda shard: shard.write_bytes(b"no shard")])
def test_a_lost_or_spoilt_shard_is_found_and_named(tmp_path, harm):
    write(tmp_path, features("a"))
    write(tmp_path, features("b"))
    store = FeatureStore(tmp_path)
    harm(tmp_path / store.rows[0].shard)
    assert store.verify() == ["a"]
    with pytest.raises(UserError, match=f"{store.rows[0].shard} is gone or damaged"):
        store.read("a")


def test_every_row_says_who_wrote_it_and_how_long_the_sample_is(tmp_path):
    write(tmp_path, features("a", 7))
    index = json.loads(next(tmp_path.glob("shard-*.json")).read_text())
    assert (index["writer"]["pid"], index["writer"]["gpus"], index["writer"]["device"]) == (1, ["0"], "cpu")
    assert index["writer"]["versions"]["torch"] == torch.__version__
    row = Row(**index["samples"][0])
    assert (row.id, row.tokens, row.answer_tokens) == ("a", 7, 2)
    assert (tmp_path / row.shard).is_file()


def test_embeddings_are_never_stored(tmp_path):
    write(tmp_path, features("a"))
    with safe_open(next(tmp_path.glob("*.safetensors")), "pt") as shard:
        assert sorted(name for name in shard.keys() if name.startswith("a/")) == [  # noqa: SIM118
            "a/answer_mask", "a/features", "a/ids", "a/spans"]
        assert len(shard.keys()) == 5  # and the visual prefix


def without(entries: dict, name: str) -> str:
    return json.dumps({key: value for key, value in entries.items() if key != name})


@pytest.mark.parametrize("spoil", [
    lambda entries: "", lambda entries: "[]", lambda entries: json.dumps(entries)[:40],
    lambda entries: without(entries, "dtype"), lambda entries: without(entries, "format"),
    lambda entries: json.dumps({**entries, "more": 1}), lambda entries: json.dumps({**entries, "width": "6"})])
def test_a_damaged_manifest_is_told_with_what_to_do(tmp_path, spoil):
    write(tmp_path, features("a"))
    path = tmp_path / "manifest.json"
    path.write_text(spoil(json.loads(path.read_text())))
    for ask in (lambda: FeatureStore(tmp_path), lambda: MANIFEST.claim(tmp_path)):
        with pytest.raises(UserError, match=r"manifest.json is damaged: .*delete it and run") as caught:
            ask()
        assert "\n" not in str(caught.value)
    path.unlink()
    MANIFEST.claim(tmp_path)
    assert FeatureStore(tmp_path).ids() == ["a"]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"samples": [{"id": "a"}]}', '{"samples": [{', '{"samples": 3}'])
def test_a_damaged_index_is_told_with_what_to_do(tmp_path, content):
    write(tmp_path, features("a"))
    index = next(tmp_path.glob("shard-*.json"))
    index.write_text(content)
    with pytest.raises(UserError, match=rf"{index.name} is damaged: .*delete it and run `specflash dump` again"):
        FeatureStore(tmp_path)
    index.unlink()
    write(tmp_path, features("a"))
    assert FeatureStore(tmp_path).verify() == []


def test_work_that_outlived_its_dump_is_not_published(tmp_path):
    """A worker of a killed dump, while the next dump does the same samples."""
    MANIFEST.claim(tmp_path)
    with sole_writer(tmp_path, "dump"):
        late = ShardWriter(tmp_path, piece_name(["a"]), Limits(), SOMEONE)
        late.add(features("a"))
    with sole_writer(tmp_path, "dump"):
        with pytest.raises(UserError, match="another dump has taken over"):
            late.flush()
        assert FeatureStore(tmp_path).ids() == []
