"""The report's figures, one function each, from finished records. It knows no page and computes no metric."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dashboards.report.records import RunRecords
from dashboards.report.svg import INK, MUTED, PALETTE, draw

SIZE = (4.7, 3.5)
MARKERS = "osD^vPX"
PHASE_COLOURS = {"verify": "#3f7cac", "draft": "#d97a08", "other": "#a7abb3"}
CURVES = {"held_out_loss": "held-out loss", "simulated_accept_length": "simulated accept length"}
DECODE_PHASES = ("draft", "verify", "other")


def draw_figures(run: RunRecords, folder: Path) -> dict[str, str]:
    """Every figure as SVG for a page, also saved as .svg and .png in `folder`."""
    painters = {"speedup": _speedup, "acceptance": _acceptance, "round": _round, "yield": _yield, "prompts": _prompts}
    if run.training:
        painters["training"] = _training
    return {name: draw(name, SIZE, lambda figure, paint=paint: paint(figure, run), folder)
            for name, paint in painters.items()}


def colours(methods: Sequence[str]) -> dict[str, str]:
    return {method: PALETTE[place % len(PALETTE)] for place, method in enumerate(methods)}


def _speedup(figure: Figure, run: RunRecords) -> None:
    """Decode speed-up against accept length, one point per task × method, with 95 % intervals."""
    axes, colour = figure.add_subplot(), colours(run.methods)
    tasks = list(dict.fromkeys(line["task"] for line in run.summary["rows"]))
    lines = [line for line in run.summary["rows"] if line["speedup_decode"] and line["method"] != "vanilla"]
    for line in lines:
        length, speed = line["accept_length"], line["speedup_decode"]
        axes.errorbar(length, speed, xerr=_around(length, line["accept_length_interval"]),
                      yerr=_around(speed, line["speedup_decode_interval"]), color=colour[line["method"]],
                      marker=MARKERS[tasks.index(line["task"]) % len(MARKERS)], markersize=7, linewidth=1.1, capsize=0)
    end = 1.08 * max([line["accept_length"] for line in lines], default=1.0)
    axes.plot([1, end], [1, end], "--", color=MUTED, linewidth=1)
    axes.annotate("drafting free of charge", (end, end), ha="right", va="bottom", fontsize=8, color=MUTED)
    for task in tasks:
        axes.plot([], [], MARKERS[tasks.index(task) % len(MARKERS)], color=INK, label=task, linestyle="")
    _method_legend(axes, [method for method in run.methods if method != "vanilla"], colour)
    axes.set(xlabel="accept length A (tokens per pass)", ylabel="decode speed-up R (×)", xlim=(0.95, None))


def _acceptance(figure: Figure, run: RunRecords) -> None:
    """Share of the passes in which the draft at a position, and all before it, were kept."""
    axes, colour = figure.add_subplot(), colours(run.methods)
    for line in run.summary["overall"]:
        shares = line["acceptance_by_position"]
        if shares:
            axes.plot(range(1, len(shares) + 1), [100 * share for share in shares], "o-",
                      color=colour[line["method"]], label=line["method"], linewidth=1.8)
    positions = max((len(line["acceptance_by_position"]) for line in run.summary["overall"]), default=1)
    axes.set(xlabel="position in the draft", ylabel="kept up to here (%)", ylim=(0, 100),
             xticks=range(1, max(positions, 1) + 1))
    axes.legend()


def _round(figure: Figure, run: RunRecords) -> None:
    """Milliseconds of one round by phase; at the end of the bar, how many tokens it brought."""
    axes = figure.add_subplot()
    lines = [line for line in reversed(run.summary["overall"]) if line["accept_length"]]
    left = [0.0] * len(lines)
    names = [line["method"] for line in lines]
    for phase, colour in PHASE_COLOURS.items():
        widths = [1000 * line["seconds_per_round"][phase] for line in lines]
        axes.barh(names, widths, left=left, color=colour, label=phase, height=0.55)
        left = [start + width for start, width in zip(left, widths, strict=True)]
    for place, (end, line) in enumerate(zip(left, lines, strict=True)):
        axes.annotate(f"{end:.0f} ms, {line['accept_length']:.2f} tokens", (end, place), (5, 0),
                      textcoords="offset points", va="center", fontsize=9)
    axes.set(xlabel="ms per round", xlim=(0, 1.55 * max(left, default=1)))
    axes.grid(axis="y", visible=False)
    axes.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.45, 1))


def _yield(figure: Figure, run: RunRecords) -> None:
    """How often a pass brings one token, two, …: the spread behind the mean A."""
    axes, colour = figure.add_subplot(), colours(run.methods)
    drafts = [method for method in run.methods if method != "vanilla"]
    width = 0.8 / max(1, len(drafts))
    for place, method in enumerate(drafts):
        passes = [tokens for row in run.rows if row["method"] == method and not row["out_of_domain"]
                  for tokens in row["committed"]]
        counts = Counter(passes)
        offset = (place - (len(drafts) - 1) / 2) * width
        axes.bar([tokens + offset for tokens in sorted(counts)],
                 [100 * counts[tokens] / len(passes) for tokens in sorted(counts)],
                 width=0.92 * width, color=colour[method], label=method)
    axes.set(xlabel="tokens of one pass", ylabel="share of passes (%)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="x", visible=False)
    axes.legend()


def _prompts(figure: Figure, run: RunRecords) -> None:
    """Each prompt: ms per token after the first, vanilla across, the method up. Below the line is faster."""
    axes, colour = figure.add_subplot(), colours(run.methods)
    pace: dict[tuple[str, str], dict[tuple, float]] = {}
    for row in run.rows:
        if row["committed"]:
            seconds = sum(row["seconds"][phase] for phase in DECODE_PHASES)
            prompt = (row["task"], row["sample"], row["repeat"])
            pace.setdefault(row["method"], {})[prompt] = 1000 * seconds / sum(row["committed"])
    across = pace.get("vanilla", {})
    for method in run.methods:
        if method != "vanilla":
            shared = [prompt for prompt in pace.get(method, {}) if prompt in across]
            axes.scatter([across[prompt] for prompt in shared], [pace[method][prompt] for prompt in shared],
                         s=22, color=colour[method], alpha=0.75, linewidth=0, label=method)
    right = 1.06 * max(across.values(), default=1)
    axes.plot([0, right], [0, right], "--", color=MUTED, linewidth=1)
    axes.annotate("as fast as vanilla", (right, right), (0, 4), textcoords="offset points", ha="right",
                  fontsize=8, color=MUTED)
    axes.set(xlabel="vanilla, ms per token", ylabel="method, ms per token",
             xlim=(0.9 * min(across.values(), default=0), right))
    axes.set_ylim(0, 1.12 * max(right, axes.get_ylim()[1] / 1.12))
    axes.legend(loc="upper left")


def _training(figure: Figure, run: RunRecords) -> None:
    """Held-out measures of each draft, epoch by epoch."""
    colour = colours(run.methods)
    for place, (key, title) in enumerate(CURVES.items(), start=1):
        axes = figure.add_subplot(1, len(CURVES), place)
        for draft, epochs in run.training.items():
            axes.plot([epoch["epoch"] for epoch in epochs], [epoch[key] for epoch in epochs], ".-",
                      color=colour[draft], label=draft, linewidth=1.6)
        axes.set_title(title, fontsize=9.5)
        axes.set(xlabel="epoch")
    axes.legend()


def _method_legend(axes: Axes, methods: Sequence[str], colour: dict[str, str]) -> None:
    for method in methods:
        axes.plot([], [], color=colour[method], label=method, linewidth=3)
    axes.legend(loc="upper left")


def _around(value: float, interval: Sequence[float]) -> list[list[float]]:
    low, high = interval
    return [[max(0.0, value - low)], [max(0.0, high - value)]]
