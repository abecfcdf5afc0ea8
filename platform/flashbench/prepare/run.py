"""Drawing what the settings want, then checking every source they name. It knows no file format."""

from collections.abc import Sequence

from flashbench.console import note, progress
from flashbench.prepare.check import Checked, Use, check_lengths, check_source
from flashbench.prepare.report import show_report, write_report
from flashbench.prepare.scan import count_known
from flashbench.settings import Settings
from specflash.data.drawn import write_scenes
from specflash.data.drawn_clips import write_clips
from specflash.errors import UserError


def run_prepare(settings: Settings) -> list[Checked]:
    """Write the drawn scenes and clips where a source wants them, then check every source.

    Running it again only adds what is missing. Leaves RUN/data/report.json. Raises UserError for a source that does
    not open, has nothing usable, or has a larger share of bad samples than dump.error_budget.
    """
    uses = uses_of(settings)
    wanted = {use.source.path.resolve() for use in uses if use.source.path}
    if settings.data_folder.resolve() in wanted:
        _draw(settings)
    checks = [check_source(use, settings.check) for use in uses]
    learnt = len(settings.dump.source.parts())
    shown = [sample for check in checks[:learnt] for sample in check.sound]
    for check in checks[learnt:]:
        check.trained_on = count_known(check.sound, shown)
    if settings.check.prompts:
        _check_lengths(settings, checks, uses)
    path = write_report(settings.data_folder, checks)
    show_report(checks)
    note(f"The report is {path}")
    _refuse(checks, uses, settings.dump.error_budget)
    return checks


def uses_of(settings: Settings) -> list[Use]:
    """Every source the settings name, the dump's first."""
    dumps = [Use("dump" if number == 1 else f"dump {number}", part, learnt=settings.dump.answers == "dataset")
             for number, part in enumerate(settings.dump.source.parts(), start=1)]
    return [*dumps, *(Use(f"bench {name}", task.source, task.skip) for name, task in settings.bench.tasks.items())]


def _draw(settings: Settings) -> None:
    scenes, folder = settings.scenes, settings.data_folder
    with progress("draw scenes", scenes.train + scenes.test) as advance:
        write_scenes(folder, scenes.train, scenes.test, scenes.seed, on_step=lambda done, total: advance())
    if clips := scenes.train_clips + scenes.test_clips:
        with progress("draw clips", clips) as advance:
            write_clips(folder, scenes.train_clips, scenes.test_clips, scenes.seed, on_step=advance)


def _check_lengths(settings: Settings, checks: Sequence[Checked], uses: Sequence[Use]) -> None:
    from specflash.targets import load_encoder  # here, because transformers takes seconds and few ask for it

    target = load_encoder(settings.target.name, settings.target.weights)
    for check, use in zip(checks, uses, strict=True):
        check_lengths(check, use, target.encode, settings.check.prompts, settings.dump.max_length)


def _refuse(checks: Sequence[Checked], uses: Sequence[Use], budget: float) -> None:
    for check, use in zip(checks, uses, strict=True):
        if not check.samples and use.skip:
            raise UserError(f"{check.use}: no sample of {check.dataset}:{check.split} is left: `skip` leaves the first "
                            f"{use.skip} out; skip fewer, or take more samples")
        if not check.usable:
            raise UserError(f"{check.use}: {check.dataset}:{check.split} has nothing usable among its {check.samples} "
                            f"samples; correct its `path` and `split`, or repair the data")
        if check.bad_share > budget:
            raise UserError(f"{check.use}: {check.bad_share:.1%} of {check.dataset}:{check.split} are bad, more than "
                            f"dump.error_budget={budget:g} allows: repair the data or raise the budget, and run again")
