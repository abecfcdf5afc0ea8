"""The layout rules of this repository, as laws over a folder. It knows no module's content.

Each rule is a function of a root folder that returns the offences it finds. It is held against
this repository, and against a small tree in which it is broken on purpose.
"""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from flashbench.cli import app

ROOT = Path(__file__).resolve().parents[1]
IMPORT_ROOTS = (".", "platform", "jobs")
CODE = ("specflash", "platform/flashbench", "jobs", "dashboards", "tests")
MAX_LINES = 300

FORBIDDEN = {
    "specflash": {"ray", "mlflow", "deepspeed", "flashbench", "jobs", "dashboards"},
    "platform/flashbench": {"jobs", "tests"},
    "dashboards": {"ray", "torch", "deepspeed", "jobs", "tests"},
}
JOBS_MAY_IMPORT = {"flashbench", "specflash"} | sys.stdlib_module_names


def shadowed_modules(root: Path) -> list[str]:
    """What in an import root hides a module of the standard library.

    A folder without __init__.py hides nothing: the standard library comes first.
    """
    found = []
    for place in IMPORT_ROOTS:
        modules = (root / place).glob("*.py")
        packages = (init.parent for init in (root / place).glob("*/__init__.py"))
        found += [str(path.relative_to(root)) for path in [*modules, *packages]
                  if path.stem in sys.stdlib_module_names]
    return sorted(found)


def platform_of_a_worker(root: Path) -> str:
    """The file of `platform` in a child that starts as Ray's workers do in a submitted job."""
    child = subprocess.run([sys.executable, "-c", "import platform; print(platform.__file__)"], cwd=root,
                           env={**os.environ, "PYTHONPATH": "platform"}, capture_output=True, text=True, check=True)
    return child.stdout.strip()


def forbidden_imports(root: Path) -> list[str]:
    """Imports against the arrow jobs → flashbench → specflash, and of what a layer must not know."""
    found = []
    for layer, forbidden in FORBIDDEN.items():
        for path in (root / layer).rglob("*.py"):
            found += [f"{path.relative_to(root)} imports {name}" for name in imports(path) if name in forbidden]
    for path in (root / "jobs").rglob("*.py"):
        found += [f"{path.relative_to(root)} imports {name}" for name in imports(path) if name not in JOBS_MAY_IMPORT]
    return sorted(found)


def imports(path: Path) -> Iterator[str]:
    """Top-level names of every absolute import in a file, wherever in it they stand."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def jobs_without_their_command(root: Path) -> list[str]:
    """Job files whose docstring does not show the command line that runs them."""
    return sorted(path.name for path in (root / "jobs").glob("*.py")
                  if f"jobs/{path.name}" not in (ast.get_docstring(ast.parse(path.read_text())) or ""))


def long_files(root: Path) -> list[str]:
    lengths = {path.relative_to(root): len(path.read_text().splitlines())
               for folder in CODE for path in (root / folder).rglob("*.py")}
    return sorted(f"{path} has {lines} lines" for path, lines in lengths.items() if lines > MAX_LINES)


def dead_references(root: Path) -> list[str]:
    """Paths, links, `make` targets and `specflash` verbs in README and docs that do not exist.

    A path with NAME in it stands for a file that a reader is to write.
    """
    targets = set(re.findall(r"^([\w-]+):", (root / "Makefile").read_text(), re.MULTILINE))
    verbs = set(get_command(app).commands)
    found = []
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        text = page.read_text()
        paths = re.findall(r"(?<![\w/.:-])(?:specflash|platform|jobs|dashboards|tests|docs|\.ci)/[\w./-]*[\w/]", text)
        links = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text)
        found += [path for path in paths if "NAME" not in path and not (root / path).exists()]
        found += [link for link in links if not (page.parent / link).exists()]
        found += [f"make {name}" for name in re.findall(r"^(?:\$ )?make ([\w-]+)|`make ([\w-]+)", text, re.MULTILINE)
                  for name in name if name and name not in targets]
        found += [f"specflash {name}" for name in re.findall(r"(?:^|`|\$ )specflash ([a-z][\w-]*)", text, re.MULTILINE)
                  if name not in verbs]
    return sorted(found)


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


# --- this repository ---------------------------------------------------------------------------

def test_no_module_of_the_standard_library_is_shadowed():
    assert shadowed_modules(ROOT) == []


def test_a_worker_gets_the_standard_platform():
    assert platform_of_a_worker(ROOT).startswith(str(Path(os.__file__).parent))


def test_each_layer_imports_only_what_it_may():
    assert forbidden_imports(ROOT) == []


def test_every_job_shows_its_command_line():
    assert jobs_without_their_command(ROOT) == []


def test_no_file_is_too_long_to_read():
    assert long_files(ROOT) == []


def test_everything_the_documents_name_exists():
    assert dead_references(ROOT) == []


def test_metrics_can_be_read_without_torch():
    child = "import sys, specflash.metrics; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", child], cwd=ROOT, check=False).returncode == 0


# --- each rule, broken on purpose --------------------------------------------------------------

@pytest.mark.parametrize(("name", "offence"), [
    ("platform/__init__.py", "platform"),
    ("types.py", "types.py"),
    ("platform/json/__init__.py", "platform/json"),
    ("jobs/queue.py", "jobs/queue.py"),
])
def test_a_shadowed_module_is_found(tmp_path, name, offence):
    write(tmp_path, {name: "", "platform/flashbench/__init__.py": "", "jobs/dump.py": ""})
    assert shadowed_modules(tmp_path) == [offence]


def test_a_platform_package_reaches_the_worker(tmp_path):
    write(tmp_path, {"platform/__init__.py": ""})
    assert platform_of_a_worker(tmp_path) == str(tmp_path / "platform" / "__init__.py")


@pytest.mark.parametrize(("name", "code", "offence"), [
    ("specflash/a.py", "import ray", "ray"),
    ("specflash/a.py", "from mlflow.tracking import MlflowClient", "mlflow"),
    ("specflash/drafts/a.py", "def f():\n    import deepspeed.ops", "deepspeed"),
    ("specflash/a.py", "from flashbench.console import note", "flashbench"),
    ("platform/flashbench/a.py", "from jobs import dump", "jobs"),
    ("dashboards/report/a.py", "import torch", "torch"),
    ("dashboards/a.py", "import ray", "ray"),
    ("dashboards/a.py", "import deepspeed", "deepspeed"),
    ("jobs/a.py", "import torch", "torch"),
    ("jobs/a.py", "from helper import thing", "helper"),
])
def test_a_forbidden_import_is_found(tmp_path, name, code, offence):
    write(tmp_path, {name: f"{code}\nfrom . import sibling\nimport json\n"})
    assert forbidden_imports(tmp_path) == [f"{name} imports {offence}"]


def test_a_job_without_its_command_is_found(tmp_path):
    write(tmp_path, {"jobs/dump.py": '"""Dump."""', "jobs/train.py": '"""python jobs/train.py"""', "jobs/a.py": ""})
    assert jobs_without_their_command(tmp_path) == ["a.py", "dump.py"]


def test_a_long_file_is_found(tmp_path):
    write(tmp_path, {"specflash/a.py": "x = 1\n" * 300, "platform/flashbench/b.py": "x = 1\n" * 301})
    assert long_files(tmp_path) == ["platform/flashbench/b.py has 301 lines"]


def test_dead_references_are_found(tmp_path):
    write(tmp_path, {
        "Makefile": "demo: x\n", "jobs/dump.py": "", "docs/a.md": "[here](../README.md) [gone](b.md)",
        "README.md": "`make demo` `make dinner` jobs/dump.py jobs/dine.py jobs/NAME.py\n"
                     "`specflash dump` `specflash eat`"})
    assert dead_references(tmp_path) == ["b.md", "jobs/dine.py", "make dinner", "specflash eat"]
