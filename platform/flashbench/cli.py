"""The command line: one verb per stage, each a call of one library function. It knows no stage's insides.

`specflash VERB --config FILE key=value …`; `jobs/VERB.py` calls the same `main` for
`ray job submit`. Exit codes: 0 done, 1 failed (not lossless, slower, or no valid comparison), 2 the user has to change
something, 130 or 143 interrupted.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from flashbench.console import say, told_plainly
from flashbench.settings import Settings, load_settings, read_settings
from specflash import __version__

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
    """Register the verb that the example begins with; its --help ends with that and with what it leaves behind.

    A verb imports its stage when it runs, and after the settings were read: --help and a
    wrong setting answer at once, without waiting for torch and Ray.
    """
    return app.command(example.partition(" ")[0], epilog=f"Example:  specflash {example}\n\nWrites:  {writes}")


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


@_verb("prepare scenes.train=500", "the drawn scenes, in COCO, LLaVA-Instruct and Kinetics-400 format, and report.json "
       "under RUN/data;\nexits with 2 where a data set has nothing usable or too much that is bad")
def prepare(config: Config = DEMO, overrides: Overrides = None) -> None:
    """Write the drawn scenes to disk and check every data set: files, repeats, answers, lengths."""
    settings = load_settings(config, overrides or ())
    from flashbench.prepare import run_prepare
    run_prepare(settings)


@_verb("dump dump.actors=4 dump.gpus_per_actor=1", "feature shards, their index and a quarantine under RUN/features")
def dump(config: Config = DEMO, overrides: Overrides = None) -> None:
    """Extract the frozen target's features with Ray Data; finished samples are skipped."""
    settings = load_settings(config, overrides or ())
    from flashbench.dump import run_dump
    run_dump(settings)


@_verb("plan dump.source.limit=1000", "RUN/plan.json; exits with 1 when the disk has no room for the dump")
def plan(config: Config = DEMO, overrides: Overrides = None,
         samples: Annotated[int, typer.Option(min=1, help="How many samples of the source are looked at.")] = 8,
         probe: Annotated[bool, typer.Option(
             "--probe/--no-probe", help="Run them through the target for the time; else only its processor is "
                                        "loaded.")] = True) -> None:
    """Say what a dump will take, before it runs: bytes, shards, time, memory, and whether the disk has room."""
    settings = load_settings(config, overrides or ())
    from flashbench.plan import run_plan
    _exit_unless(run_plan(settings, samples, probe))


@_verb("verify-dump --recompute 4", "nothing; exits with 1 when stored features are damaged or not the target's")
def verify_dump(config: Config = DEMO, overrides: Overrides = None,
                recompute: Annotated[int, typer.Option(
                    min=0, help="So many samples run through the target again; 0 checks the bytes only.")] = 1) -> None:
    """Check a dump: every sample against its checksum, and a few against the target itself."""
    settings = load_settings(config, overrides or ())
    from flashbench.verify_dump import run_verify_dump
    _exit_unless(run_verify_dump(settings, recompute))


@_verb("regenerate regenerate.sampled=0.25",
       "RUN/regenerated/llava_instruct_SPLIT.json and SPLIT.jsonl, a journal and a quarantine beside them")
def regenerate(config: Config = DEMO, overrides: Overrides = None) -> None:
    """Have the target answer the questions of `dump.source`, greedily or in part sampled, into a data set."""
    settings = load_settings(config, overrides or ())
    from flashbench.regenerate import run_regenerate
    run_regenerate(settings)


@_verb("import --from dumps/eagle\n\nExample:  specflash import --from flashsd-answers.jsonl run=runs/flashsd",
       "features (.ckpt, .pt) into the store RUN/features; answers (.jsonl) into RUN/imported, for `specflash compare`")
def import_(config: Config = DEMO, overrides: Overrides = None,
            sources: Annotated[list[Path] | None, typer.Option(
                "--from", metavar="PATH", show_default=False,
                help="A file, or a folder with all that is below it (repeatable).")] = None) -> None:
    """Take over feature dumps of FlashSD and EAGLE, and answer files of EAGLE, Spec-Bench and FlashSD."""
    settings = load_settings(config, overrides or ())
    from flashbench.bring_in import run_import
    run_import(settings, sources or [])


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


@_verb("serve serve.port=8000", "RUN/prometheus_targets.json, as long as it runs;\n"
       "answers on http://127.0.0.1:8000/v1, with a page to watch at /arena, until interrupted")
def serve(config: Config = DEMO, overrides: Overrides = None,
          open_page: Annotated[bool, typer.Option("--open", help="Show the arena in the browser.")] = False) -> None:
    """Serve the methods side by side behind one OpenAI-compatible endpoint."""
    settings = load_settings(config, overrides or ())
    from flashbench.serve import run_serve
    run_serve(settings, True, open_page)


@_verb("load --url http://127.0.0.1:8000 load.requests=100", "RUN/load.json; exits with 1 when a law is broken")
def load(config: Config = DEMO, overrides: Overrides = None,
         url: Annotated[str | None, typer.Option(
             metavar="URL", show_default=False,
             help="A running server with the same settings; without it one is started.")] = None) -> None:
    """Send mixed requests, good and bad, to a server: none lost, none hung, memory flat, every text vanilla's."""
    settings = load_settings(config, overrides or ())
    from flashbench.load import run_load
    _exit_unless(run_load(settings, url))


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
    settings = read_settings(config, overrides or ())
    from flashbench import ab
    wanted = {"width": width, "max_pairs": max_pairs, "max_seconds": 60 * max_minutes}
    ab.start_campaign(ab.Server(settings, url), name, _names(methods) or (), wanted)


@campaigns.command("status", epilog="Example:  specflash ab status\n\nWrites:  nothing")
def show_status(overrides: Overrides = None, config: Config = DEMO, url: Url = None) -> None:
    """Show how far the campaign is, and what every two methods' live pairs say."""
    settings = read_settings(config, overrides or ())
    from flashbench import ab
    ab.show_status(ab.Server(settings, url))


@campaigns.command("stop", epilog="Example:  specflash ab stop\n\n"
                                  "Writes:  the end of RUN/ab/NAME/campaign.json, and of the run in MLflow")
def stop_campaign(overrides: Overrides = None, config: Config = DEMO, url: Url = None) -> None:
    """End the campaign and show what it found."""
    settings = read_settings(config, overrides or ())
    from flashbench import ab
    ab.stop_campaign(ab.Server(settings, url))


def main(argv: Sequence[str] | None = None) -> None:
    """Run one command line (default: the process's own) and exit with its code."""
    with told_plainly():
        app(args=None if argv is None else list(argv), prog_name="specflash")


def _names(drafts: str | None) -> list[str] | None:
    """What `--drafts` names; None: all there are."""
    return None if drafts in (None, "all") else [name.strip() for name in drafts.split(",") if name.strip()]


def _with_methods(config: Path, overrides: list[str] | None, drafts: str | None) -> Settings:
    settings, names = load_settings(config, overrides or ()), _names(drafts)
    if names is None:
        return settings
    from flashbench.draft_settings import with_methods
    return with_methods(settings, names, config)


def _exit_unless(ok: bool) -> None:
    if not ok:
        raise typer.Exit(1)


if __name__ == "__main__":
    main()
