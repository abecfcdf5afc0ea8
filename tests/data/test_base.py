"""The contract every data set keeps, and the catalogue that opens them."""

import pytest

from specflash.data import DATASETS, Dataset, as_request, open_dataset
from specflash.data.base import make_sample
from specflash.data.drawn import write_scenes
from specflash.data.media import BadPicture, load_picture
from specflash.errors import UserError
from specflash.records import Turn, sample_id


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    write_scenes(folder, train=4, test=3, seed=0)
    return folder


@pytest.fixture(params=sorted(DATASETS))
def dataset(request, folder) -> Dataset:
    if request.param == "photographs":
        pytest.importorskip("skimage")
    return open_dataset(request.param, None if request.param == "photographs" else folder, "test")


def test_samples_are_content(dataset):
    samples = [dataset[index] for index in range(len(dataset))]
    assert samples
    assert dataset.split == "test"
    for sample in samples:
        assert sample.task == dataset.task
        assert sample.id == sample_id(sample.media, sample.turns)
        assert all(turn.question for turn in sample.turns)
        assert all(load_picture(image).mode == "RGB" for image in sample.media)
    assert len({sample.id for sample in samples}) == len(samples)


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
                                        r"known: coco-captions, llava-instruct, photographs"):
        open_dataset("llava-instrct", None, "train")


@pytest.mark.parametrize("name", ["llava-instruct", "coco-captions"])
def test_missing_folders_and_splits(name, folder, tmp_path):
    with pytest.raises(UserError, match=f"data set `{name}` needs a folder"):
        open_dataset(name, None, "train")
    with pytest.raises(UserError, match=r"no folder at .*nowhere; run `specflash prepare`"):
        open_dataset(name, tmp_path / "nowhere", "train")
    with pytest.raises(UserError, match=r"no .*\.json in "):
        open_dataset(name, tmp_path, "train")
    with pytest.raises(UserError, match=r"has no split `dev` in .*; found: .*test, train"):
        open_dataset(name, folder, "dev")
