"""The command line: every verb reaches its stage with its settings, and its exit code can be trusted."""

import errno
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from typer.main import get_command

import specflash
from flashbench.cli import app, main
from specflash.errors import UserError

ROOT = Path(__file__).resolve().parents[2]
DEMO = str(ROOT / "jobs/configs/demo.yaml")
VERBS = ("demo", "doctor", "prepare", "dump", "plan", "verify-dump", "regenerate", "import", "train", "verify", "bench",
         "compare", "serve", "load")
JOBS = tuple(verb for verb in VERBS if verb not in ("doctor", "compare"))
STAGES = {verb: f"flashbench.{verb.replace('-', '_')}" for verb in VERBS} | {"import": "flashbench.bring_in"}


def run_of(verb: str) -> str:
    return f"run_{verb.replace('-', '_')}"


def exit_code(*argv: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    return caught.value.code


@pytest.fixture
def stage(monkeypatch):
    """Put a function in the place of a verb's stage; returns the arguments of each call."""
    def install(verb: str, result: object = True) -> list[tuple]:
        calls = []

        def run(*arguments):
            calls.append(arguments)
            if isinstance(result, BaseException):
                raise result
            return result

        module = ModuleType(STAGES[verb])
        setattr(module, run_of(verb), run)
        monkeypatch.setitem(sys.modules, STAGES[verb], module)
        return calls
    return install


def test_the_verbs_are_these_and_no_others():
    assert set(get_command(app).commands) == {*VERBS, "ab"}  # which has verbs of its own: test_ab.py


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example_and_says_what_is_written(verb, capsys):
    assert exit_code(verb, "--help") == 0
    text = capsys.readouterr().out
    assert f"Example:  specflash {verb}" in text
    assert "Writes:  " in text


@pytest.mark.parametrize("verb", VERBS)
def test_every_verbs_stage_is_where_the_command_line_looks_for_it(verb):
    module = __import__(STAGES[verb], fromlist=[run_of(verb)])
    assert callable(getattr(module, run_of(verb)))


@pytest.mark.parametrize("verb", JOBS)
def test_a_verb_calls_its_stage_once_with_the_resolved_settings(verb, stage):
    calls = stage(verb)
    assert exit_code(verb, "--config", DEMO, "run=/tmp/elsewhere", "train.epochs=3") == 0
    (settings, *_), = calls
    assert settings.run == Path("/tmp/elsewhere")
    assert settings.train.epochs == 3


def test_train_takes_several_drafts_demo_may_be_fast_and_serve_may_open_its_page(stage):
    trained, shown, served = stage("train"), stage("demo"), stage("serve")
    exit_code("train", "-c", DEMO, "--draft", "eagle", "--draft", "specflash")
    exit_code("train", "-c", DEMO)
    exit_code("train", "-c", DEMO, "--drafts", "all")
    exit_code("train", "-c", DEMO, "--drafts", "eagle, specflash")
    exit_code("demo", "-c", DEMO, "--fast")
    exit_code("demo", "-c", DEMO)
    exit_code("serve", "-c", DEMO, "--open")
    exit_code("serve", "-c", DEMO)
    assert [drafts for _, drafts in trained] == [["eagle", "specflash"], None, None, ["eagle", "specflash"]]
    assert [fast for _, fast in shown] == [True, False]
    assert [(blocking, opened) for _, blocking, opened in served] == [(True, True), (True, False)]


@pytest.mark.parametrize("verb", ["verify", "bench"])
def test_a_part_of_the_drafts_can_be_asked_for(stage, verb):
    calls = stage(verb, True)
    for drafts in ([], ["--drafts", "all"], ["--drafts", "specflash,ngram"]):
        assert exit_code(verb, "-c", DEMO, *drafts) == 0
    everything = ("vanilla", "eagle", "specflash")
    assert [settings.bench.methods for settings, *_ in calls] == [
        everything, everything, ("vanilla", "specflash", "ngram")]


def test_plan_verify_dump_and_import_take_their_options(stage):
    planned, checked, imported = stage("plan"), stage("verify-dump"), stage("import")
    exit_code("plan", "-c", DEMO, "--samples", "3", "--no-probe")
    exit_code("plan", "-c", DEMO)
    exit_code("verify-dump", "-c", DEMO, "--recompute", "0")
    exit_code("import", "-c", DEMO, "--from", "a", "--from", "b.jsonl")
    assert [rest for _, *rest in planned] == [[3, False], [8, True]]
    assert [rest for _, *rest in checked] == [[0]]
    assert [rest for _, *rest in imported] == [[[Path("a"), Path("b.jsonl")]]]


def test_compare_takes_its_results_in_order(stage):
    calls = stage("compare")
    exit_code("compare", "a", "b.parquet", "c.jsonl", "--tolerance", "0.1", "--method", "eagle", "--strict")
    exit_code("compare", "a", "b")
    assert calls == [([Path("a"), Path("b.parquet"), Path("c.jsonl")], 0.1, "eagle", True),
                     ([Path("a"), Path("b")], 0.03, None, False)]


@pytest.mark.parametrize(("verb", "verdict", "code"), [
    ("verify", True, 0), ("verify", False, 1), ("doctor", True, 0), ("doctor", False, 1),
    ("compare", True, 0), ("compare", False, 1), ("plan", True, 0), ("plan", False, 1), ("verify-dump", True, 0),
    ("verify-dump", False, 1), ("load", True, 0), ("load", False, 1)])
def test_a_bad_verdict_is_an_exit_code(stage, verb, verdict, code):
    stage(verb, verdict)
    arguments = {"doctor": [], "compare": ["runs/before", "runs/after"]}
    assert exit_code(verb, *arguments.get(verb, ["-c", DEMO])) == code


@pytest.mark.parametrize(("argv", "named"), [
    (["dump", "-c", "no/such.yaml"], "no/such.yaml"),
    (["dump", "-c", DEMO, "dump.actor=3"], "did you mean `actors`?"),
    (["train", "-c", DEMO, "train.epochs=none"], "`train.epochs`"),
    (["bench", "-c", DEMO, "bench"], "not an override"),
    (["train", "-c", DEMO, "train.lr=[1"], "`train.lr`: `[1` is not valid YAML"),
    (["bench", "-c", DEMO, "bench.methods=[specflsh]"], "did you mean `specflash`?"),
    (["serve", "-c", DEMO, "drafts.eagle.kk=3"], "did you mean `k`?"),
    (["bench", "-c", DEMO, "--drafts", "specflahs"], "did you mean `specflash`?"),
    (["bench", "-c", DEMO, "--drafts", "medusa"], "add drafts.medusa"),
])
def test_a_users_mistake_is_one_line_and_exit_code_2(argv, named, capsys):
    assert exit_code(*argv) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert named in error
    assert error.count("\n") == 1


def test_a_wrong_setting_stops_before_the_stage_is_even_imported(stage):
    calls = stage("dump")
    assert exit_code("dump", "-c", DEMO, "dump.actor=3") == 2
    assert calls == []


def test_a_mistake_found_by_a_ray_worker_is_one_line_too(stage, capsys):
    from ray.exceptions import RayTaskError
    remote = RayTaskError("f", "Traceback\n  far away", UserError("no folder at data")).as_instanceof_cause()
    stage("dump", remote)
    assert exit_code("dump", "-c", DEMO) == 2
    assert capsys.readouterr().err == "error: no folder at data\n"


@pytest.mark.parametrize(("error", "told"), [
    (NotADirectoryError(errno.ENOTDIR, "Not a directory", "runs/x"), "error: runs/x: Not a directory; correct"),
    (PermissionError(errno.EACCES, "Permission denied", "/r"), "error: /r: Permission denied; correct the path"),
    (OSError(errno.ENOSPC, "No space left on device"), "error: No space left on device: free some space")])
def test_a_file_that_cannot_be_used_is_one_line_and_exit_code_2(stage, capsys, error, told):
    stage("dump", error)
    assert exit_code("dump", "-c", DEMO) == 2
    said = capsys.readouterr().err
    assert said.startswith(told)
    assert said.count("\n") == 1


def test_another_fault_of_the_system_keeps_its_traceback(stage):
    stage("dump", OSError("something"))
    with pytest.raises(OSError, match="something"):
        main(["dump", "-c", DEMO])


def test_an_interrupt_is_one_line_and_exit_code_130(stage, capsys):
    stage("dump", KeyboardInterrupt())
    assert exit_code("dump", "-c", DEMO) == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_fault_of_ours_keeps_its_traceback(stage):
    stage("dump", ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["dump", "-c", DEMO])


def test_an_unknown_option_or_verb_is_a_mistake_of_the_user():
    assert exit_code("dump", "--confg", DEMO) == 2
    assert exit_code("dmup") == 2


def test_a_demo_that_is_not_lossless_has_failed(stage):
    stage("demo", None)
    assert exit_code("demo", "-c", DEMO) == 1


@pytest.mark.parametrize("argv", [(), ("--help",)])
def test_the_bare_command_is_its_help_with_an_example(argv, capsys):
    assert exit_code(*argv) == 0
    text = capsys.readouterr().out
    assert "Example:  specflash demo --fast" in text
    assert all(verb in text for verb in VERBS)


def test_it_says_its_version_and_does_nothing_else(stage, capsys):
    calls = stage("demo")
    assert exit_code("--version") == exit_code("--version", "demo") == 0
    assert capsys.readouterr().out == 2 * f"specflash {specflash.__version__}\n"
    assert calls == []


def test_help_loads_neither_torch_nor_ray():
    code = ("import sys\nfrom flashbench.cli import main\ntry: main(['train', '--help'])\nexcept SystemExit: pass\n"
            "sys.exit(bool({'torch', 'ray', 'transformers'} & set(sys.modules)))")
    child = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"},
                           capture_output=True, check=False)
    assert child.returncode == 0


@pytest.mark.parametrize("verb", JOBS)
def test_a_job_is_the_verb_of_its_name(verb, stage, monkeypatch):
    calls = stage(verb)
    job = f"jobs/{verb.replace('-', '_')}.py"
    monkeypatch.setattr(sys, "argv", [job, "--config", DEMO, "train.epochs=3"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(ROOT / job), run_name="__main__")
    (settings, *_), = calls
    assert settings.train.epochs == 3


def test_a_jobs_exit_code_is_the_verbs():
    child = subprocess.run([sys.executable, "jobs/dump.py", "-c", "no/such.yaml"], cwd=ROOT, text=True,
                           env={"PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}"}, capture_output=True, check=False)
    assert (child.returncode, child.stderr) == (2, "error: no settings file at no/such.yaml\n")
