"""Makes docs/pictures/mlflow.png, the view of a real run's comparison in MLflow's UI:

    PYTHONPATH=.:platform python -m tests.flashbench.track.picture runs/demo docs/pictures/mlflow.png

The run is only read: its records are logged anew into a place that is thrown away.
"""

import json
import sys
import tempfile
from pathlib import Path

from mlflow import MlflowClient
from PIL import Image

from flashbench.settings import Settings
from flashbench.track import log_comparison, log_training
from flashbench.track.view import view_link
from flashbench.tree import read_tree
from tests.browser import launched
from tests.flashbench.track.server import serving

RECORDS = ("drafts", "bench", "summary.json", "report.html", "figures")
SIZE = (1500, 700)
COLOURS = 128
SECONDS_TO_SETTLE = 3.0


def main(run: Path, picture: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        uri = _logged_anew(run.resolve(), Path(folder))
        with serving(uri, Path(folder)) as address:
            _photograph(f"{address}/{_view(uri)}", picture)
    Image.open(picture).convert("RGB").quantize(COLOURS).save(picture, optimize=True)
    print(f"{picture}: {picture.stat().st_size / 1000:.0f} kB")


def _logged_anew(run: Path, folder: Path) -> str:
    copy = folder / "run"
    copy.mkdir()
    for name in RECORDS:
        (copy / name).symlink_to(run / name)
    settings = Settings.model_validate(
        read_tree(run / "settings.yaml") | {"run": copy, "track": {"uri": f"sqlite:///{folder}/mlflow.db"}})
    lost = []
    for record in sorted(copy.glob("drafts/*/training.json")):
        lost += log_training(settings, record.parent.name, json.loads(record.read_text())["curves"])
    summary = json.loads((copy / "summary.json").read_text())
    lost += log_comparison(settings, summary, copy / "report.html", copy / "figures")
    if lost:
        raise SystemExit("\n".join(lost))
    return settings.track.uri


def _view(uri: str) -> str:
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("specflash").experiment_id
    child = client.search_runs([experiment], "tags.kind = 'method'", max_results=1)[0]
    return view_link(experiment, child.data.tags["comparison"])


def _photograph(url: str, picture: Path) -> None:
    with launched() as browser:
        page = browser.new_page(viewport=dict(zip(("width", "height"), SIZE, strict=True)))
        page.goto(url)
        page.get_by_role("columnheader", name="accept_length").first.wait_for()
        page.get_by_role("button", name="Close").first.click()  # the assistant's pane
        page.wait_for_timeout(1000 * SECONDS_TO_SETTLE)
        picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
