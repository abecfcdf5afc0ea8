"""What is alike by content is found whatever it is called and wherever it lies, in a file or in a table."""

from flashbench.prepare.scan import count_duplicates, count_known, scan
from specflash.data import open_dataset
from specflash.data.tables import Table
from tests.data.sets import lines, picture


def of(dataset):
    return scan(dataset, range(len(dataset)), lambda: None)


def test_equal_pictures_under_two_names_are_one_sample(tmp_path):
    picture(tmp_path, "a.jpg")
    picture(tmp_path, "b.jpg")
    (tmp_path / "c.jpg").write_bytes((tmp_path / "a.jpg").read_bytes()[:-1] + b"x")  # of equal size
    lines(tmp_path / "train.jsonl", *({"prompt": "Why?", "image": name} for name in ("a.jpg", "b.jpg", "c.jpg")),
          {"prompt": "Why not?", "image": "a.jpg"}, {"prompt": "Why?"}, {"prompt": "Why?"})
    dataset = open_dataset("jsonl", tmp_path, "train")
    found = of(dataset)
    assert count_duplicates(dataset, found.samples) == 2  # b.jpg, and the second bare question
    assert [seen.name.name for seen in found.media] == ["a.jpg", "b.jpg", "c.jpg"]


def test_a_tables_pictures_are_known_by_their_hash_and_fetched_again(tmp_path):
    data = picture(tmp_path, "a.jpg")
    rows = [{"question": "Why?", "image": {"bytes": data, "path": None}}] * 2
    table = Table(tmp_path, "train", rows)
    found = of(table)
    [seen] = found.media
    assert (len(seen.name), seen.size, seen.fetch(table)) == (32, len(data), data)
    assert count_duplicates(table, found.samples) == 1
    lines(tmp_path / "test.jsonl", {"prompt": "What?", "image": "a.jpg"}, {"prompt": "Why?"})
    test = of(open_dataset("jsonl", tmp_path, "test"))
    assert count_known(test.samples, found.samples) == count_known(found.samples[:1], test.samples) == 1


def test_two_parts_of_a_clip_are_two_samples_of_one_file(tmp_path):
    (tmp_path / "1.mp4").write_bytes(b"video")
    lines(tmp_path / "train.jsonl", {"prompt": "Why?", "video": "1.mp4"})
    few, many = (of(open_dataset("jsonl", tmp_path, "train", frames=frames)) for frames in (2, 4))
    assert few.samples[0].key != many.samples[0].key
    assert count_known(few.samples, many.samples) == 1
