"""A live campaign as an entry: one run that grows by a point per look until the campaign is over.

Every entry of a campaign holds all of its points. So whatever MLflow did not take, the next one brings again.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from flashbench.fingerprint import digest
from flashbench.settings import Settings
from flashbench.shown import number, share
from flashbench.track.entry import Entry, as_params, as_tags
from flashbench.track.send import send

Told = Mapping[str, Any]

FIGURES = ("speedup_decode", "speedup_e2e", "identical_share")
MEANING = """**R** (`speedup_decode`, `speedup_e2e`): seconds per token of the baseline ÷ those of the method, on the \
same live requests; **A** (`accept_length`): tokens per verification pass. Intervals are 95 %, over prompts, paired. \
*Same text* (`identical_share`): prompts at temperature 0 that both answered token for token alike."""


def log_campaign(settings: Settings, told: Told) -> list[str]:
    """What `GET /ab/campaign` says; returns the line that says what MLflow did not take (none: it took all)."""
    return send(settings, [campaign_entry(settings, told)])


def campaign_entry(settings: Settings, told: Told) -> Entry:
    """The run is left open as long as the campaign goes on; a step of its curves is a number of pairs."""
    last = told["ended_at"] or told["started_at"]
    return Entry(
        key=digest([settings.name, told["name"], told["started_at"]]), name=f"live · {told['name']}",
        at=round(1000 * told["started_at"]), seconds=last - told["started_at"],
        tags=as_tags({"kind": "campaign", "experiment": settings.name, "baseline": told["baseline"],
                      "method": told["method"], "ended": told["ended"] or "no"}),
        params=as_params({"campaign": told["name"], "method": told["method"], "baseline": told["baseline"],
                          **{f"wanted.{key}": value for key, value in told["wanted"].items()},
                          "target": settings.target.name, "dtype": settings.serve.dtype,
                          "threads": settings.serve.threads, "replicas": settings.serve.replicas}),
        points=[point for look in _looks(told) for point in _points(told, look)],
        note=_note(told), open=told["ended"] is None)


def _looks(told: Told) -> list[Told]:
    """The result at the end is a look too, where it was not one already."""
    result, looks = told["result"], told["looks"]
    over = told["ended"] is not None and result is not None
    return [*looks, result] if over and (not looks or looks[-1]["pairs"] < result["pairs"]) else list(looks)


def _points(told: Told, look: Told) -> Iterator[tuple[str, float, int]]:
    step = look["pairs"]
    figures = {name: look[name] for name in FIGURES}
    figures |= {"accept_length": look["accept_length"][told["method"]]}
    figures |= {f"verification/acceptance_rate_pos{place}": each
                for place, each in enumerate(look["acceptance_by_position"][told["method"]])}
    for name, figure in figures.items():
        if figure["value"] is not None:
            yield name, figure["value"], step
            yield from ((f"uncertainty/{name.rpartition('/')[2]}_{end}", value, step)
                        for end, value in zip(("low", "high"), figure["interval"], strict=True))
    yield "differences/real", look["differences"].get("real", 0), step
    yield "differences/tie", look["differences"].get("tie", 0), step


def _note(told: Told) -> str:
    state = f"over: {told['ended']}" if told["ended"] else "going on"
    lines = [f"**{told['method']}** against **{told['baseline']}** on live requests · {told['pairs']} pairs · {state}"]
    if told["result"] is not None:
        result = told["result"]
        lines.append(f"R decode {_with_ends(result['speedup_decode'])}, R e2e {_with_ends(result['speedup_e2e'])}, "
                     f"same text {share(result['identical_share']['value'])}")
    return "\n\n".join([*lines, MEANING])


def _with_ends(figure: Told) -> str:
    if figure["value"] is None:
        return number(None)
    low, high = figure["interval"]
    return f"{number(figure['value'])} [{number(low)}, {number(high)}]"
