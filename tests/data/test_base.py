"""The contract every data set keeps, and the catalogue that opens them."""

import pytest

from specflash.data import DATASETS, Dataset, as_request, open_dataset
from specflash.data.base import Chained, First, Prompted, Questions, Shown, make_sample
from specflash.data.drawn import write_scenes
from specflash.data.media import BadPicture
from specflash.data.video import load_frames
from specflash.errors import UserError
from specflash.presets import EXPLAIN
from specflash.records import Clip, Turn, sample_id
from tests.data.sets import SETS, lines


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    write_scenes(folder, train=4, test=3, seed=0)
    return folder


@pytest.fixture(params=sorted(DATASETS))
def dataset(request, tmp_path) -> Dataset:
    if request.param in ("mmmu", "parquet"):
        request.getfixturevalue("cache")
    SETS[request.param](tmp_path)
    return open_dataset(request.param, tmp_path, "test")


def test_samples_are_content(dataset):
    samples = [dataset[index] for index in range(len(dataset))]
    assert samples
    assert dataset.split == "test"
    for sample in samples:
        assert sample.task == dataset.task
        assert sample.id == sample_id(sample.media, sample.turns)
        assert all(turn.question for turn in sample.turns)
        assert all(frame.mode == "RGB" for medium in sample.media for frame in load_frames(medium))
    assert len({sample.id for sample in samples}) == len(samples)
    assert len({dataset.where(index) for index in range(len(samples))}) == len(samples)


def test_an_index_past_the_end_ends_iteration(dataset):
    with pytest.raises(IndexError):
        dataset[len(dataset)]
    assert [sample.id for sample in dataset] == [dataset[index].id for index in range(len(dataset))]


@pytest.mark.parametrize("name", ["llava-instruct", "coco-captions"])
def test_a_limit_takes_the_first_and_changes_no_id(name, folder):
    whole, first = open_dataset(name, folder, "train"), open_dataset(name, folder, "train", 2)
    assert (len(whole), len(first)) == (4, 2)
    assert list(first) == [whole[0], whole[1]]
    assert len(open_dataset(name, folder, "train", 99)) == 4
    with pytest.raises(IndexError):
        first[2]


def test_ids_do_not_depend_on_where_the_pictures_lie(folder, tmp_path):
    write_scenes(tmp_path / "elsewhere", train=4, test=3, seed=0)
    here, there = (open_dataset("llava-instruct", place, "test") for place in (folder, tmp_path / "elsewhere"))
    assert [sample.id for sample in here] == [sample.id for sample in there]


def test_a_request_asks_the_first_question_and_holds_no_answer(folder):
    sample = next(sample for sample in open_dataset("llava-instruct", folder, "train") if len(sample.turns) > 1)
    request = as_request(sample)
    assert request.turns == (Turn(sample.turns[0].question),)
    assert (request.media, request.task) == (sample.media, sample.task)
    assert request.id == sample_id(request.media, request.turns) != sample.id
    assert as_request(request) == request


def test_a_missing_picture_spoils_its_own_sample_only(tmp_path):
    write_scenes(tmp_path, train=3, test=1, seed=0)
    lost = tmp_path / "train2017" / "000000000001.jpg"
    lost.unlink()
    dataset = open_dataset("llava-instruct", tmp_path, "train")
    assert dataset[0].id != dataset[2].id
    with pytest.raises(BadPicture, match=rf"{lost.name}: No such file"):
        dataset[1]


def test_a_sample_without_pictures():
    sample = make_sample((), (Turn("Why?", "Because."),), "instruct")
    assert sample.media == ()
    assert sample.id == sample_id((), (Turn("Why?", "Because."),))


def test_unknown_names_list_the_known_ones():
    with pytest.raises(UserError, match=r"unknown data set `llava-instrct` \(did you mean `llava-instruct`\?\); "
                                        r"known: coco-captions, jsonl, kinetics-400, llava-bench, llava-instruct, "
                                        r"mmbench, mmmu, parquet, photographs"):
        open_dataset("llava-instrct", None, "train")


def test_a_prompt_takes_the_place_of_the_question_and_its_answer(tmp_path):
    lines(tmp_path / "train.jsonl", {"prompt": "What is it?\nAnswer the question using a single word or phrase.",
                                     "answer": "A dog."})
    dataset = open_dataset("jsonl", tmp_path, "train")
    assert Prompted(dataset, "Describe it.")[0].turns == (Turn("Describe it."),)
    assert Prompted(dataset, EXPLAIN)[0].turns == (
        Turn("What is it?\nPlease give a detailed and reasonable explanation for the answer."),)
    assert Prompted(dataset, dataset[0].turns[0].question)[0] == dataset[0]
    assert Prompted(dataset, "Hm?").where(0) == dataset.where(0) == f"{tmp_path / 'train.jsonl'}: line 1"


def test_frames_of_clips_can_be_set_and_pictures_stay_as_they_are(tmp_path):
    lines(tmp_path / "train.jsonl", {"prompt": "What?", "video": "1.mp4", "image": "1.jpg"})
    [(media, _)] = [Shown(open_dataset("jsonl", tmp_path, "train"), 3).entry(0)]
    assert media == (tmp_path / "1.jpg", Clip(tmp_path / "1.mp4", 3))
    opened = open_dataset("jsonl", tmp_path, "train", limit=1, prompt="Hm?", frames=3)
    assert opened.entry(0) == (media, (Turn("Hm?"),))


@pytest.mark.parametrize("name", sorted(set(DATASETS) - {"photographs"}))
def test_every_set_needs_its_folder_and_its_files(name, tmp_path):
    with pytest.raises(UserError, match=f"data set `{name}` needs a folder"):
        open_dataset(name, None, "train")
    with pytest.raises(UserError, match=rf"data set `{name}`: no .* in {tmp_path}"):
        open_dataset(name, tmp_path, "train")


@pytest.mark.parametrize("name", ["llava-instruct", "coco-captions"])
def test_missing_folders_and_splits(name, folder, tmp_path):
    with pytest.raises(UserError, match=f"data set `{name}` needs a folder"):
        open_dataset(name, None, "train")
    with pytest.raises(UserError, match=r"no folder at .*nowhere; run `specflash prepare`"):
        open_dataset(name, tmp_path / "nowhere", "train")
    with pytest.raises(UserError, match=r"no .*\.json in "):
        open_dataset(name, tmp_path, "train")
    with pytest.raises(UserError, match=r"has no split `dev` in .*; found: .*test.*, train"):
        open_dataset(name, folder, "dev")


def test_a_chain_has_the_samples_of_its_parts_in_order_each_with_its_own_label(folder):
    captions, instruct = (open_dataset(name, folder, "test") for name in ("coco-captions", "llava-instruct"))
    chain = Chained([First(captions, 2), instruct])
    assert len(chain) == 2 + len(instruct)
    assert [chain[index] for index in (0, 1, 2)] == [captions[0], captions[1], instruct[0]]
    assert chain.where(2) == instruct.where(0)
    assert [Questions(chain)[index].task for index in (1, 2)] == [captions.task, instruct.task]
    assert (chain.task, chain.split) == (f"{captions.task} + {instruct.task}", "test")
    with pytest.raises(IndexError):
        chain[len(chain)]
