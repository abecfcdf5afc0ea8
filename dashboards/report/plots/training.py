"""Figures about how the drafts learned, from the records that training leaves."""

from collections.abc import Callable

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dashboards.colours import colours
from dashboards.report.plots.base import Plot, per_cent, sentence
from dashboards.report.records import Record, RunRecords
from dashboards.report.rounding import decimal, percent
from dashboards.report.svg import belongs_to

SIZE = (4.7, 2.9)


def _loss(figure: Figure, run: RunRecords) -> None:
    axes = _curves(figure, run, "held_out_loss", "o-")
    _draw(axes, run, "loss", ":")
    axes.plot([], [], ":", color="#84888f", label="in training")
    _finish(axes, "loss")


def _length(figure: Figure, run: RunRecords) -> None:
    _finish(_curves(figure, run, "simulated_accept_length", "o-"), "simulated accepted length")


def _accuracy(figure: Figure, run: RunRecords) -> None:
    """One curve per slot: the first is the strongest line, later ones are fainter."""
    axes, colour = figure.add_subplot(), colours(run.methods)
    for draft, epochs in run.training.items():
        slots = len(epochs[0]["slot_accuracy"])
        for slot in range(slots):
            curve, = axes.plot([epoch["epoch"] for epoch in epochs],
                               per_cent([epoch["slot_accuracy"][slot] for epoch in epochs]), ".-",
                               color=colour[draft], alpha=1 - 0.7 * slot / max(1, slots - 1), linewidth=1.6,
                               label=draft if slot == 0 else None)
            belongs_to(draft, curve)
    _finish(axes, "held-out slot accuracy (%)")


def _curves(figure: Figure, run: RunRecords, key: str, style: str) -> Axes:
    axes = figure.add_subplot()
    _draw(axes, run, key, style, labelled=True)
    return axes


def _draw(axes: Axes, run: RunRecords, key: str, style: str, labelled: bool = False) -> None:
    colour = colours(run.methods)
    for draft, epochs in run.training.items():
        curve, = axes.plot([epoch["epoch"] for epoch in epochs], [epoch[key] for epoch in epochs], style,
                           color=colour[draft], label=draft if labelled else None, linewidth=1.6, markersize=4)
        belongs_to(draft, curve)


def _finish(axes: Axes, what: str) -> None:
    axes.set(xlabel="epoch", ylabel=what)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()


def _from_first_to_last(run: RunRecords, text: Callable[[Record], str]) -> str:
    return sentence([f"{draft}: {text(epochs[0])} after epoch {epochs[0]['epoch']}, {text(epochs[-1])} after epoch "
                     f"{epochs[-1]['epoch']}" for draft, epochs in run.training.items()])


def _trained(run: RunRecords) -> bool:
    return bool(run.training)


PLOTS = {
    "training_accuracy": Plot(
        "Slot accuracy", "How often the draft's most likely token at a position is the target's, on held-out samples. "
        "One line per position of the draft; later positions are fainter.", _accuracy,
        lambda run: _from_first_to_last(run, lambda epoch: ", ".join(
            percent(share) for share in epoch["slot_accuracy"])), _trained, SIZE),
    "training_length": Plot(
        "Simulated accepted length", "What A would be if positions were right independently of each other. It ranks "
        "epochs; decoding measures A.", _length,
        lambda run: _from_first_to_last(run, lambda epoch: decimal(epoch["simulated_accept_length"])), _trained, SIZE),
    "training_loss": Plot(
        "Loss", "Solid: held-out samples. Dotted: the training samples of the same epoch. Losses of different drafts "
        "are not made of the same terms.", _loss,
        lambda run: _from_first_to_last(run, lambda epoch: decimal(epoch["held_out_loss"], 3)), _trained, SIZE),
}
