"""What the driver shows of what the workers tell."""

import pytest

from flashbench.train.progress import Progress, show_while, tell


def test_a_bar_of_steps_and_a_line_per_epoch(tmp_path, capfd):
    path = tmp_path / "progress.json"

    def action() -> None:
        tell(path, Progress(0, 0, 4, ()))
        tell(path, Progress(0, 4, 4, ("epoch 1: loss 2", "epoch 2: loss 1")))

    show_while(action, path, "train toy")
    shown = capfd.readouterr().err
    assert shown.splitlines()[:2] == ["train toy: epoch 1: loss 2", "train toy: epoch 2: loss 1"]
    assert "train toy: 4/4" in shown


def test_a_continued_training_counts_from_its_checkpoint(tmp_path, capfd):
    path = tmp_path / "progress.json"
    show_while(lambda: tell(path, Progress(6, 10, 10, ())), path, "train toy")
    assert "train toy (from step 6 of 10): 4/4" in capfd.readouterr().err


def test_what_an_earlier_run_told_is_not_shown(tmp_path, capfd):
    path = tmp_path / "progress.json"
    tell(path, Progress(0, 9, 9, ("old",)))
    show_while(lambda: None, path, "train toy")
    assert capfd.readouterr().err == ""


def test_a_failure_is_passed_on(tmp_path):
    def action() -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        show_while(action, tmp_path / "progress.json", "train toy")
