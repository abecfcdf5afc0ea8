"""The command line: one verb per stage, each a call of one library function. It knows no stage's insides.

`specflash VERB --config FILE key=value …`; `jobs/VERB.py` calls the same `main` for
`ray job submit`. Exit codes: 0 done, 1 failed (not lossless, slower, or no valid comparison), 2 the user has to change
something, 130 interrupted.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from flashbench.console import note, say
from flashbench.settings import Settings, load_settings
from specflash import __version__
from specflash.errors import UserError
from specflash.files import NO_SPACE

DEMO = Path("jobs/configs/demo.yaml")

Config = Annotated[Path, typer.Option("--config", "-c", metavar="FILE", help="Settings of the experiment (YAML).")]
Overrides = Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", show_default=False,
                                                       help="Dotted settings that replace the file's.")]

Drafts = Annotated[str | None, typer.Option(
    metavar="NAME,NAME", show_default=False,
    help="Only these of the settings' drafts; `all`, the default: all of them.")]

Url = Annotated[str | None, typer.Option(metavar="URL", show_default=False,
                                         help="The running server; the settings' own host and port otherwise.")]

app = typer.Typer(name="specflash", add_completion=False, pretty_exceptions_enable=False)
campaigns = typer.Typer(no_args_is_help=True)
app.add_typer(campaigns, name="ab", help="Begin, watch and end a comparison of two methods on live requests.",
              epilog="Example:  specflash ab start first --methods vanilla,specflash --width 0.1\n\n"
                     "Writes:  RUN/ab/NAME of the server, and a run in MLflow")


@app.callback(invoke_without_command=True,
              epilog="Example:  specflash demo --fast\n\nOf one verb:  specflash train --help")
def start(context: typer.Context,
          version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False) -> None:
    """Lossless speculative decoding for large multimodal models: dump, train, verify, benchmark and serve
    drafts on Ray.
    """
    if version:
        say(f"specflash {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        say(context.get_help())


def _verb(example: str, writes: str) -> Callable[[Callable], Callable]:
    """Register a verb whose --help ends with an example and with what it leaves behind.

    A verb imports its stage when it runs, and after the settings were read: --help and a
    wrong setting answer at once, without waiting for torch and Ray.
    """
    return app.command(epilog=f"Example:  specflash {example}\n\nWrites:  {writes}")


@_verb("demo --fast", "the whole run folder: data, features, drafts, verdicts, summary.json, report.html;\n"
       "exits with 1 when a draft is not lossless or a comparison with vanilla is not valid")
def demo(config: Config = DEMO, overrides: Overrides = None,
         fast: Annotated[bool, typer.Option(help="Less data; its numbers are not for quoting.")] = False) -> None:
    """The main job from end to end: prepare, dump, train, verify, bench, report."""
    settings = load_settings(config, overrides or ())
    from flashbench.demo import run_demo
    _exit_unless(run_demo(settings, fast))


@_verb("doctor", "nothing; exits with 1 when something that is needed is missing")
def doctor() -> None:
    """Check this machine: Python, packages, compiler, memory, weights, Ray."""
    from flashbench.doctor import run_doctor
    _exit_unless(run_doctor())


@_verb("prepare scenes.train=500", "the drawn scenes, in COCO and LLaVA-Instruct format, under RUN/data")
def prepare(config: Config = DEMO, overrides: Overrides = None) -> None:
    """Write the drawn scenes to disk and check that every data set opens."""
    settings = load_settings(config, overrides or ())
    from flashbench.prepare import run_prepare
    run_prepare(settings)


@_verb("dump dump.actors=4 dump.gpus_per_actor=1", "feature shards, their index and a quarantine under RUN/features")
def dump(config: Config = DEMO, overrides: Overrides = None) -> None:
    """Extract the frozen target's features with Ray Data; finished samples are skipped."""
    settings = load_settings(config, overrides or ())
    from flashbench.dump import run_dump
    run_dump(settings)


@_verb("train --draft specflash train.lr=3e-4", "checkpoints; config.json and model.safetensors under RUN/drafts")
def train(config: Config = DEMO, overrides: Overrides = None,
          draft: Annotated[list[str] | None, typer.Option(
              metavar="NAME", help="Train this draft only (repeatable).")] = None,
          drafts: Drafts = None) -> None:
    """Train drafts on the dumped features with Ray Train and DeepSpeed; resumes from checkpoints."""
    settings = load_settings(config, overrides or ())
    from flashbench.train import run_train
    run_train(settings, [*(draft or ()), *(_names(drafts) or ())] or None)


@_verb("verify verify.prompts=10", "RUN/verify/; exits with 1 when any output differs from ordinary decoding")
def verify(config: Config = DEMO, overrides: Overrides = None, drafts: Drafts = None) -> None:
    """Check losslessness: every draft must give the target's own tokens."""
    settings = _with_methods(config, overrides, drafts)
    from flashbench.verify import run_verify
    _exit_unless(run_verify(settings))


@_verb("bench bench.repeats=3\n\nExample:  specflash bench --config jobs/configs/all-drafts.yaml --drafts all",
       "rows, summary.json and report.html under RUN, and a run in MLflow;\n"
       "exits with 1 when a comparison with vanilla is not valid, and says why")
def bench(config: Config = DEMO, overrides: Overrides = None, drafts: Drafts = None) -> None:
    """Time vanilla and the drafts, interleaved, on held-out samples."""
    settings = _with_methods(config, overrides, drafts)
    from flashbench.bench import run_bench
    _exit_unless(run_bench(settings))


@_verb("compare runs/before runs/after --tolerance 0.03\n\n"
       "Example:  specflash compare runs/demo eagle-answers.jsonl --method eagle",
       "nothing; exits with 1 when a later result is slower than the first")
def compare(results: Annotated[list[Path], typer.Argument(
                metavar="RESULT...", show_default=False,
                help="Two or more: run folders, Parquet files of rows, EAGLE or FlashSD answer files (.jsonl), "
                     "runs in MLflow (mlflow:RUN_ID).")],
            tolerance: Annotated[float, typer.Option(help="The slow-down that matters, as a share.")] = 0.03,
            method: Annotated[str | None, typer.Option(
                metavar="NAME", help="Compare this method only; a file of a single method is taken as it.")] = None,
            strict: Annotated[bool, typer.Option(
                "--strict", help="Exit with 1 as well when the prompts are too few to tell.")] = False) -> None:
    """Compare results prompt by prompt: is a method slower than it was, and is that certain?"""
    from flashbench.compare import run_compare
    _exit_unless(run_compare(results, tolerance, method, strict))


@_verb("serve serve.port=8000", "nothing; answers on http://127.0.0.1:8000/v1 until interrupted")
def serve(config: Config = DEMO, overrides: Overrides = None) -> None:
    """Serve the methods side by side behind one OpenAI-compatible endpoint."""
    settings = load_settings(config, overrides or ())
    from flashbench.serve import run_serve
    run_serve(settings)


@campaigns.command("start", epilog="Example:  specflash ab start first --methods vanilla,specflash --width 0.1\n\n"
                                    "Writes:  RUN/ab/NAME/pairs.jsonl and campaign.json, and a run in MLflow")
def start_campaign(name: Annotated[str, typer.Argument(metavar="NAME", show_default=False)],
                   overrides: Overrides = None, config: Config = DEMO, url: Url = None,
                   methods: Annotated[str, typer.Option(metavar="NAME,NAME", help="The two.")] = "vanilla,specflash",
                   width: Annotated[float, typer.Option(
                       help="Wanted width of the interval of R_decode, as a share of it: 0.1 is about ± 5 %.")] = 0.1,
                   max_pairs: Annotated[int, typer.Option(help="End after so many pairs at the latest.")] = 2000,
                   max_minutes: Annotated[float, typer.Option(help="End after so long at the latest.")] = 1440) -> None:
    """Let a running server compare two methods until the interval of their speed-up is as narrow as wanted."""
    settings = load_settings(config, overrides or ())
    from flashbench import ab
    wanted = {"width": width, "max_pairs": max_pairs, "max_seconds": 60 * max_minutes}
    ab.start_campaign(ab.Server(settings, url), name, _names(methods) or (), wanted)


@campaigns.command("status", epilog="Example:  specflash ab status\n\nWrites:  nothing")
def show_status(overrides: Overrides = None, config: Config = DEMO, url: Url = None) -> None:
    """Show how far the campaign is, and what every two methods' live pairs say."""
    settings = load_settings(config, overrides or ())
    from flashbench import ab
    ab.show_status(ab.Server(settings, url))


@campaigns.command("stop", epilog="Example:  specflash ab stop\n\n"
                                  "Writes:  the end of RUN/ab/NAME/campaign.json, and of the run in MLflow")
def stop_campaign(overrides: Overrides = None, config: Config = DEMO, url: Url = None) -> None:
    """End the campaign and show what it found."""
    settings = load_settings(config, overrides or ())
    from flashbench import ab
    ab.stop_campaign(ab.Server(settings, url))


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command line (default: the process's own) and exit with its code."""
    try:
        app(args=None if argv is None else list(argv), prog_name="specflash")
    except UserError as error:
        # One raised in a Ray worker arrives wrapped, its text a whole remote traceback.
        note(f"error: {getattr(error, 'cause', error)}")
        sys.exit(2)
    except OSError as error:
        told = getattr(error, "cause", error)
        if told.filename is None and told.errno not in NO_SPACE:
            raise
        note(f"error: {_about_file(told)}")
        sys.exit(2)
    except SystemExit as end:
        if end.code == 130:
            note("interrupted")
        raise


def _names(drafts: str | None) -> list[str] | None:
    """What `--drafts` names; None: all there are."""
    return None if drafts in (None, "all") else [name.strip() for name in drafts.split(",") if name.strip()]


def _with_methods(config: Path, overrides: list[str] | None, drafts: str | None) -> Settings:
    settings, names = load_settings(config, overrides or ()), _names(drafts)
    if names is None:
        return settings
    from flashbench.draft_settings import with_methods
    return with_methods(settings, names, config)


def _about_file(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename is None:
        return f"{reason}: free some space and run the same command again"
    return f"{error.filename}: {reason}; correct the path or its permissions and run the same command again"


def _exit_unless(ok: bool) -> None:
    if not ok:
        raise typer.Exit(1)


if __name__ == "__main__":
    main()
