"""From rows to one line per target × task × method. It measures nothing and knows no model.

Every convention comes from `specflash.metrics`; nothing is rounded here, so the page, MLflow and
the Parquet rows agree to the last digit.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from flashbench.bench.rows import HF_GENERATE, PHASES, VANILLA, Row
from specflash import metrics
from specflash.conventions import accept_length_conventions
from specflash.intervals import Interval
from specflash.metrics import DECODE, E2E, Window

Line = dict[str, Any]


def summarise(rows: Sequence[Row]) -> list[Line]:
    """One line per target × task × method, in the order of the rows' first appearance.

    The outside control is no method of ours and gets no line: see `control`.
    """
    lines = []
    for target, task in dict.fromkeys((row["target"], row["task"]) for row in rows):
        of_task = [row for row in rows if (row["target"], row["task"]) == (target, task)]
        lines += [_line(task, _of(of_task, method), _of(of_task, VANILLA)) for method in ordered_methods(of_task)]
    return lines


def overall(rows: Sequence[Row]) -> list[Line]:
    """The same per method over all tasks that belong to the drafts' domain, pooled.

    `speedup_*_geomean` is the geometric mean over those tasks.
    """
    inside = [row for row in rows if not row["out_of_domain"]] or list(rows)
    tasks = summarise(inside)
    lines = []
    for method in ordered_methods(inside):
        line = _line("all in domain", _of(inside, method), _of(inside, VANILLA))
        for window in ("decode", "e2e"):
            values = [task[f"speedup_{window}"] for task in tasks if task["method"] == method]
            known = [value for value in values if value is not None]
            line[f"speedup_{window}_geomean"] = metrics.geometric_mean(known) if known else None
        lines.append(line)
    return lines


def control(rows: Sequence[Row]) -> list[Line]:
    """Per task: our vanilla against the library's own `generate`; above 1, ours is the faster one."""
    lines = []
    for task in dict.fromkeys(row["task"] for row in rows if row["method"] == HF_GENERATE):
        theirs, ours = (_of([row for row in rows if row["task"] == task], name) for name in (HF_GENERATE, VANILLA))
        ratio = metrics.speedup(_accounts(ours), _accounts(theirs), E2E)
        interval = metrics.speedup_interval(_accounts(ours), _accounts(theirs), E2E)
        lines.append({"task": task, "vanilla_over_hf": ratio.pooled,
                      "vanilla_over_hf_interval": [interval.low, interval.high],
                      "identical_share": _identical_share(theirs), "answers": len(theirs)})
    return lines


def ordered_methods(rows: Sequence[Row]) -> list[str]:
    """Vanilla first, then by name of appearance in a stable order; the control is left out."""
    names = sorted({row["method"] for row in rows} - {VANILLA, HF_GENERATE})
    return [VANILLA, *names]


def _line(task: str, rows: Sequence[Row], baseline: Sequence[Row]) -> Line:
    accounts, reference = _accounts(rows), _accounts(baseline)
    length = metrics.accept_length(accounts)
    line = {
        "target": rows[0]["target"], "task": task, "out_of_domain": rows[0]["out_of_domain"],
        "method": rows[0]["method"], "prompts": len({account.prompt for account in accounts}), "answers": len(rows),
        "tokens": sum(row["tokens"] for row in rows), "rounds": sum(account.passes for account in accounts),
        "accept_length": _finite(length.pooled),
        "accept_length_interval": _around(length.pooled, lambda: metrics.accept_length_interval(accounts)),
        "accept_length_mean": _finite(length.mean_per_sample),
        "accept_length_flashsd_steps": _finite(length.flashsd_steps),
        "accept_length_flashsd_idx": _finite(length.flashsd_idx),
        "accept_length_conventions": {
            name: _finite(value) for name, value in accept_length_conventions(accounts).items()},
        "acceptance_by_position": list(length.joint),
        "acceptance_given_previous": [_finite(share) for share in length.conditional],
        **_speedup("decode", accounts, reference, DECODE), **_speedup("e2e", accounts, reference, E2E),
        "identical_share": _identical_share(rows), **_seconds(accounts)}
    return {**line, **_identity(line, metrics.speedup(accounts, reference, DECODE).pooled, reference)}


def _speedup(name: str, rows: list[metrics.Row], baseline: list[metrics.Row], window: Window) -> Line:
    value = metrics.speedup(rows, baseline, window)
    return {f"speedup_{name}": _finite(value.pooled),
            f"speedup_{name}_interval": _around(value.pooled,
                                                lambda: metrics.speedup_interval(rows, baseline, window)),
            f"speedup_{name}_mean_of_ratios": _finite(value.mean_of_ratios),
            f"speedup_{name}_ratio_of_means": _finite(value.ratio_of_means),
            f"speedup_{name}_prompt_geomean": _finite(value.geometric_mean)}


def _seconds(rows: list[metrics.Row]) -> Line:
    """Latency as serving people name it, and where the time went."""
    seconds = {phase: sum(row.seconds[phase] for row in rows) for phase in PHASES}
    rounds = sum(row.passes for row in rows)
    decode_tokens, tokens = (sum(getattr(row, name) for row in rows) for name in ("decode_tokens", "tokens"))
    first = seconds["vision"] + seconds["prefill"]
    total = sum(seconds.values())
    return {"seconds": seconds,
            "seconds_per_round": {phase: _ratio(seconds[phase], rounds) for phase in DECODE.phases},
            "ttft_ms": 1000 * first / len(rows),
            "tpot_ms": _scaled(1000, _ratio(total - first, decode_tokens)),
            "output_tps": tokens / total}


def _identity(line: Line, speedup: float, baseline: list[metrics.Row]) -> Line:
    """R_decode against A · t_AR / (t_verify + t_draft), ALGORITHMS §5: the rest of a round is the deviation."""
    seconds, tokens = (sum(values) for values in zip(*(row.within(DECODE) for row in baseline), strict=True))
    per_round = line["seconds_per_round"]
    if line["accept_length"] is None or not tokens:
        return {"speedup_decode_predicted": None, "speedup_decode_deviation": None}
    predicted = line["accept_length"] * (seconds / tokens) / (per_round["verify"] + per_round["draft"])
    return {"speedup_decode_predicted": predicted, "speedup_decode_deviation": predicted / speedup - 1}


def _identical_share(rows: Sequence[Row]) -> float | None:
    known = [row["identical"] for row in rows if row["identical"] is not None]
    return sum(known) / len(known) if known else None


def _accounts(rows: Sequence[Row]) -> list[metrics.Row]:
    """Rows as the metrics read them; repeats share their prompt and are added up there."""
    return [metrics.Row(f"{row['task']}/{row['sample']}", row["kept"], row["drafted"], row["committed"],
                        row["seconds"]) for row in rows]


def _of(rows: Sequence[Row], method: str) -> list[Row]:
    return [row for row in rows if row["method"] == method]


def _around(value: float, interval: Callable[[], Interval]) -> list[float | None]:
    """[low, high]; nothing encloses a value that does not exist."""
    if not math.isfinite(value):
        return [None, None]
    found = interval()
    return [found.low, found.high]


def _finite(value: float) -> float | None:
    """JSON has no nan: what nothing was measured for is null."""
    return value if math.isfinite(value) else None


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _scaled(factor: float, value: float | None) -> float | None:
    return None if value is None else factor * value
