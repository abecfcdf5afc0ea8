"""A finished scripted run that is in MLflow: made once, for all tests that look at what lies there."""

from pathlib import Path

import pytest

from flashbench.fingerprint import DRAFT_FILES, draft_fingerprint
from flashbench.settings import Settings
from flashbench.track import log_comparison, log_training
from tests.flashbench.scripted import scripted_run

SOURCE = {"dataset": "coco-captions"}
CURVES = [{"epoch": 1, "loss": 2.0, "slot_accuracy": [0.5, 0.25], "seconds": 3.0},
          {"epoch": 2, "loss": 1.0, "slot_accuracy": [0.6, 0.3], "seconds": 4.0}]


def settings_for(run: Path, uri: str | None = None, experiment: str = "specflash") -> Settings:
    return Settings.model_validate({
        "name": "scripted", "run": run, "dump": {"source": SOURCE}, "drafts": {"eagle": {"k": 3}, "specflash": {}},
        "bench": {"tasks": {"instruct": {"source": SOURCE}}}, "track": {"uri": uri, "experiment": experiment}})


def write_draft(settings: Settings, name: str, weights: bytes) -> str:
    """The two files of a draft; returns its fingerprint."""
    folder = settings.draft_folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    for file in DRAFT_FILES:
        (folder / file).write_bytes(weights)
    return draft_fingerprint(folder)


@pytest.fixture(scope="session")
def tracked(tmp_path_factory):
    """Settings and summary of the run; a draft of the same name was trained before and after its own."""
    run = tmp_path_factory.mktemp("run")
    settings, summary = settings_for(run, f"sqlite:///{run}/mlflow.db"), scripted_run(run)
    (run / "report.html").write_text("<p>report</p>")
    (run / "figures").mkdir()
    (run / "figures" / "speedup.png").write_bytes(b"png")
    for weights in (b"an earlier one", b"its own", b"a later one"):
        fingerprint = write_draft(settings, "drafty", weights)
        if weights == b"its own":
            summary["fingerprint"]["drafts"]["drafty"] = fingerprint
        assert log_training(settings, "drafty", CURVES) == []
    assert log_comparison(settings, summary, run / "report.html", run / "figures") == []
    return settings, summary
