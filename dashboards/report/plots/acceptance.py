"""Figures about which drafted tokens the target keeps."""

from collections import Counter

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dashboards.colours import colours
from dashboards.report.lines import Record, title
from dashboards.report.plots.base import Plot, cell_style, cells, drafting, per_cent, sentence
from dashboards.report.records import RunRecords
from dashboards.report.rounding import percent
from dashboards.report.svg import belongs_to

JOINT, GIVEN_PREVIOUS = "acceptance_by_position", "acceptance_given_previous"


def _by_position(figure: Figure, run: RunRecords, key: str, what: str) -> None:
    axes, colour = figure.add_subplot(), colours(run.methods)
    lines = _drafting_lines(run)
    for line in lines:
        curve, = axes.plot(range(1, len(line[key]) + 1), per_cent(line[key]), "o" + cell_style(run, line),
                           color=colour[line["method"]], label=title(line), linewidth=1.8)
        belongs_to(line["method"], curve)
    axes.set(xlabel="position in the draft", ylabel=what, ylim=(0, 103),
             xticks=range(1, max(len(line[key]) for line in lines) + 1))
    axes.legend(loc="best")


def _drafting_lines(run: RunRecords) -> list[Record]:
    return [line for line in run.overall if line[JOINT]]


def _in_words(run: RunRecords, key: str) -> str:
    return sentence([f"{title(line)}: {', '.join(percent(share) for share in line[key])}"
                     for line in _drafting_lines(run)])


def _yield(figure: Figure, run: RunRecords) -> None:
    """How often a pass brings one token, two, …: the spread behind the mean A."""
    axes, colour, spread = figure.add_subplot(), colours(run.methods), _tokens_of_a_pass(run)
    width = 0.8 / len(spread)
    for place, ((method, cell), counts) in enumerate(spread.items()):
        offset, passes = (place - (len(spread) - 1) / 2) * width, counts.total()
        bars = axes.bar([tokens + offset for tokens in sorted(counts)],
                        [100 * counts[tokens] / passes for tokens in sorted(counts)],
                        width=0.92 * width, color=colour[method], label=title({"method": method, "cell": cell}))
        belongs_to(method, *bars)
    axes.set(xlabel="tokens of one pass", ylabel="share of passes (%)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="x", visible=False)
    axes.margins(y=0.2)  # room for the legend
    axes.legend(loc="upper left", ncols=2)


def _tokens_of_a_pass(run: RunRecords) -> dict[tuple[str, str], Counter]:
    """Per method and cell how many passes brought how many tokens, over the rows of the summary's overall lines."""
    inside = [row for row in run.rows if not row["out_of_domain"]] or run.rows
    counts = {(method, cell): Counter(
        tokens for row in inside if (row["method"], row["target"], row["temperature"]) == (method, *place)
        for tokens in row["committed"]) for method in drafting(run) for place, cell in cells(run).items()}
    return {name: some for name, some in counts.items() if some}


def _yield_in_words(run: RunRecords) -> str:
    return sentence([f"{title({'method': method, 'cell': cell})}: " + ", ".join(
        f"{tokens} in {percent(some[tokens] / some.total())}" for tokens in sorted(some))
        for (method, cell), some in _tokens_of_a_pass(run).items()])


def _position_plot(title: str, caption: str, key: str, what: str) -> Plot:
    """key  the shares in the summary's lines; what: the axis's label"""
    return Plot(title, caption, lambda figure, run: _by_position(figure, run, key, what),
                lambda run: _in_words(run, key), applies=lambda run: bool(_drafting_lines(run)))


PLOTS = {
    "acceptance": _position_plot(
        "How far a draft is right",
        "Joint: the share of passes in which the token at this position, and every one before it, was kept. A minus "
        "one is about the sum of these.", JOINT, "kept up to here (%)"),
    "given_previous": _position_plot(
        "How right it is, once there",
        "Given previous: the same among passes that kept everything before. A flat line is a draft that is as good at "
        "its last position as at its first.", GIVEN_PREVIOUS, "kept, given those before (%)"),
    "yield": Plot(
        "What a pass brings",
        "How often the target commits one token, two, or more at once. A is the mean of this.",
        _yield, _yield_in_words, applies=lambda run: bool(_tokens_of_a_pass(run))),
}
