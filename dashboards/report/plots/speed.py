"""Figures about how much faster: the roofline, and every prompt by itself."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dashboards.colours import colours
from dashboards.report.cost import round_costs
from dashboards.report.plots.base import Plot, around, drafting, note, sentence
from dashboards.report.records import Record, RunRecords
from dashboards.report.rounding import decimal
from dashboards.report.svg import INK, MUTED, belongs_to

MARKERS = "osD^vPX"
DECODE_PHASES = ("draft", "verify", "other")
_AT_THE_END = {"ha": "left", "va": "center", "xytext": (3, 0), "textcoords": "offset points", "annotation_clip": False}


def _speedup(figure: Figure, run: RunRecords) -> None:
    """R against A, one point per task × method with its intervals; per method its ray R = A / (1 + c)."""
    axes, colour, lines = figure.add_subplot(), colours(run.methods), _with_speedup(run)
    tasks = list(dict.fromkeys(line["label"] for line in run.lines))
    end = 1.12 * max([line["accept_length"] for line in lines], default=1.5)
    axes.plot([1, end], [1, end], "--", color=MUTED, linewidth=1)
    note(axes, "c = 0", (end, end), **_AT_THE_END)
    _rays(axes, run, end)
    for line in lines:
        length, speed = line["accept_length"], line["speedup_decode"]
        bars = axes.errorbar(length, speed, xerr=around(length, line["accept_length_interval"]),
                             yerr=around(speed, line["speedup_decode_interval"]), color=colour[line["method"]],
                             marker=MARKERS[tasks.index(line["label"]) % len(MARKERS)], markersize=7, linewidth=1.1)
        belongs_to(line["method"], *bars.get_children())
    for task in tasks:
        axes.plot([], [], MARKERS[tasks.index(task) % len(MARKERS)], color=INK, label=task, linestyle="")
    for method in drafting(run):
        axes.plot([], [], color=colour[method], label=method, linewidth=3)
    axes.legend(loc="upper left")
    axes.set(xlabel="accepted length A (tokens per pass)", ylabel="decode speed-up R (×)", xlim=(0.95, end),
             ylim=(0.8, end))  # whiskers of few prompts run out of it


def _rays(axes: Axes, run: RunRecords, end: float) -> None:
    """The roofline of each method at what its rounds cost over all tasks in domain."""
    colour = colours(run.methods)
    for line, cost in round_costs(run.overall):
        ray, = axes.plot([1, end], [1 / (1 + cost.c), end / (1 + cost.c)], ":", color=colour[line["method"]],
                         linewidth=1)
        belongs_to(line["method"], ray)
        note(axes, f"c = {decimal(cost.c)}", (end, end / (1 + cost.c)), **_AT_THE_END)


def _with_speedup(run: RunRecords) -> list[Record]:
    return [line for line in run.lines
            if line["speedup_decode"] and line["accept_length"] and line["method"] != "vanilla"]


def _speedup_in_words(run: RunRecords) -> str:
    return sentence([f"{line['label']}, {line['method']}: R {decimal(line['speedup_decode'])} at "
                     f"A {decimal(line['accept_length'])}" for line in _with_speedup(run)])


def _prompts(figure: Figure, run: RunRecords) -> None:
    """Each prompt: ms per token after the first, vanilla across, the method up. Hollow is out of domain."""
    axes, colour, points = figure.add_subplot(), colours(run.methods), prompt_points(run)
    across = [point[1] for some in points.values() for point in some]
    left, right = 0.92 * min(across, default=0), 1.06 * max(across, default=1)
    for factor, name in ((1, "as fast as vanilla"), (2, "2×"), (4, "4×")):
        axes.plot([left, right], [left / factor, right / factor], "--" if factor == 1 else ":", color=MUTED,
                  linewidth=1 if factor == 1 else 0.8)
        note(axes, name, (right, right / factor), xytext=(0, 3), textcoords="offset points")
    for method, some in points.items():
        for outside in (False, True):
            part = [point for point in some if point[0] == outside]
            dots = axes.scatter([point[1] for point in part], [point[2] for point in part], s=26,
                                facecolors="none" if outside else colour[method], edgecolors=colour[method],
                                alpha=0.85, linewidth=1.2, label=None if outside else method)
            belongs_to(method, dots)
    axes.set(xlabel="vanilla, ms per token", ylabel="method, ms per token", xlim=(left, right))
    axes.set_ylim(0, 1.12 * max(right, axes.get_ylim()[1] / 1.12))
    if points:
        axes.legend(loc="upper left", ncols=2)


def prompt_points(run: RunRecords) -> dict[str, list[tuple[bool, float, float]]]:
    """Per method: (out of domain, vanilla's ms per token, the method's) for every prompt, repeats added up.

    A method without any speed-up is left out.
    """
    sums: dict[tuple, list[float]] = {}
    for row in run.rows:
        prompt = tuple(row[key] for key in ("out_of_domain", "target", "temperature", "task", "sample"))
        total = sums.setdefault((row["method"], *prompt), [0.0, 0])
        total[0] += 1000 * sum(row["seconds"][phase] for phase in DECODE_PHASES)
        total[1] += sum(row["committed"])
    pace = {key: total[0] / total[1] for key, total in sums.items() if total[1]}
    points = {method: [(key[1], pace["vanilla", *key[1:]], value) for key, value in pace.items()
                       if key[0] == method and ("vanilla", *key[1:]) in pace] for method in drafting(run)
              if any(line["method"] == method for line in _with_speedup(run))}
    return {method: some for method, some in points.items() if some}


def _prompts_in_words(run: RunRecords) -> str:
    return sentence([f"{method} is faster than vanilla on {sum(ours < theirs for _, theirs, ours in some)} of "
                     f"{len(some)} prompts" for method, some in prompt_points(run).items()])


PLOTS = {
    "speedup": Plot(
        "Speed-up against accepted length",
        "One point per task and method with its 95 % intervals. The dashed line is drafting free of charge; each "
        "dotted ray is R = A / (1 + c) at what a round of that method costs. Right is better drafts, up is faster, "
        "and the slope is the price.", _speedup, _speedup_in_words, applies=lambda run: bool(_with_speedup(run))),
    "prompts": Plot(
        "Prompt by prompt",
        "Time per token after the first. A point below the dashed diagonal is a prompt that got faster; the dotted "
        "lines are twice and four times as fast. Hollow points are out of domain.",
        _prompts, _prompts_in_words, applies=lambda run: bool(prompt_points(run))),
}
