"""Figures about where the time goes: in one round, and in one whole answer."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.colours import PHASES
from dashboards.report.lines import Record, title
from dashboards.report.plots.base import Plot, sentence
from dashboards.report.records import RunRecords
from dashboards.report.rounding import decimal
from dashboards.report.svg import PAPER, belongs_to

ROUND = ("draft", "verify", "other")


def _round(figure: Figure, run: RunRecords) -> None:
    """Milliseconds of one round by phase; at the end of the bar, how many tokens it brought."""
    axes, lines = figure.add_subplot(), _rounds(run)
    ends = _bars(axes, lines, ROUND, lambda line, phase: 1000 * line["seconds_per_round"][phase])
    for place, (end, line) in enumerate(zip(ends, lines, strict=True)):
        axes.annotate(f"{end:.0f} ms\n{line['accept_length']:.2f} tokens", (end, place), (6, 0),
                      textcoords="offset points", va="center", fontsize=9, linespacing=1.35)
    axes.set(xlabel="ms per round", xlim=(0, 1.3 * max(ends)))


def _answer(figure: Figure, run: RunRecords) -> None:
    """Seconds of a mean answer by phase, the picture and the prompt included."""
    axes, lines = figure.add_subplot(), _answers(run)
    ends = _bars(axes, lines, tuple(PHASES), lambda line, phase: line["seconds"][phase] / line["answers"])
    for place, end in enumerate(ends):
        axes.annotate(f"{end:.2f} s", (end, place), (6, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set(xlabel="s per answer", xlim=(0, 1.18 * max(ends)))


def _bars(axes: Axes, lines: Sequence[Record], phases: Sequence[str],
          width: Callable[[Record, str], float]) -> list[float]:
    """One stacked bar per line, the first one on top; returns where they end."""
    left = [0.0] * len(lines)
    for phase in phases:
        widths = [width(line, phase) for line in lines]
        bars = axes.barh(range(len(lines)), widths, left=left, color=PHASES[phase], edgecolor=PAPER, linewidth=0.8,
                         label=phase.replace("_", " "), height=0.58)
        for bar, line in zip(bars, lines, strict=True):
            belongs_to(line["method"], bar)
        left = [start + more for start, more in zip(left, widths, strict=True)]
    axes.set_yticks(range(len(lines)), [title(line) for line in lines])
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.42, 1))
    return left


def _rounds(run: RunRecords) -> list[Record]:
    return [line for line in run.overall if line["accept_length"]]


def _answers(run: RunRecords) -> list[Record]:
    return [line for line in run.overall if line["answers"]]


def _round_in_words(run: RunRecords) -> str:
    return sentence([f"{title(line)}: " + ", ".join(
        f"{phase} {decimal(1000 * line['seconds_per_round'][phase], 1)} ms" for phase in ROUND)
        + f", for {decimal(line['accept_length'])} tokens" for line in _rounds(run)])


def _answer_in_words(run: RunRecords) -> str:
    return sentence([f"{title(line)}: " + ", ".join(
        f"{phase.replace('_', ' ')} {decimal(line['seconds'][phase] / line['answers'])} s" for phase in PHASES)
        for line in _answers(run)])


PLOTS = {
    "round": Plot(
        "One round",
        "Draft: proposing tokens. Verify: the target's pass over all of them. Other: bookkeeping. A round is worth its "
        "tokens: divide the two.", _round, _round_in_words, applies=lambda run: bool(_rounds(run))),
    "answer": Plot(
        "One answer",
        "A mean answer from request to end. Vision: the picture's encoder. Prefill: the target reads the prompt. Draft "
        "prefill: so does the draft. No draft can shorten the first two, which is why R end to end is smaller.",
        _answer, _answer_in_words, applies=lambda run: bool(_answers(run))),
}
