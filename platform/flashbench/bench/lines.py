"""The numbers of one line of the summary, from the rows of one method and vanilla's. It judges nothing.

Every convention comes from `specflash.metrics`; nothing is rounded here, so the page, MLflow and
the Parquet rows agree to the last digit. What nothing was measured for is null.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from flashbench.bench.rows import PHASES, Row, asked
from specflash import metrics
from specflash.conventions import accept_length_conventions
from specflash.intervals import Interval
from specflash.metrics import DECODE, E2E, Window

Line = dict[str, Any]
WINDOWS = {"decode": DECODE, "e2e": E2E}


def accounts(rows: Sequence[Row]) -> list[metrics.Row]:
    """Rows as the metrics read them; repeats share their prompt and are added up there."""
    return [metrics.Row(asked(row), row["kept"], row["drafted"], row["committed"], row["seconds"]) for row in rows]


def counts(rows: Sequence[Row]) -> Line:
    return {"prompts": len({asked(row) for row in rows}), "answers": len(rows),
            "tokens": sum(row["tokens"] for row in rows), "rounds": sum(len(row["committed"]) for row in rows),
            "retried": sum(row["attempt"] > 0 for row in rows)}


def agreement(rows: Sequence[Row]) -> Line:
    """How many answers are vanilla's, and how many of the others are ties."""
    known = [row for row in rows if row["identical"] is not None]
    return {"identical_share": ratio(sum(row["identical"] for row in known), len(known)),
            "tie_share": ratio(sum(bool(row["tie"]) for row in known), len(known))}


def acceptance(rows: Sequence[Row]) -> Line:
    """A in every convention, and how far drafts are right."""
    mine = accounts(rows)
    length = metrics.accept_length(mine)
    return {"accept_length": finite(length.pooled),
            "accept_length_interval": around(length.pooled, lambda: metrics.accept_length_interval(mine)),
            "accept_length_mean": finite(length.mean_per_sample),
            "accept_length_flashsd_steps": finite(length.flashsd_steps),
            "accept_length_flashsd_idx": finite(length.flashsd_idx),
            "accept_length_conventions": {
                name: finite(value) for name, value in accept_length_conventions(mine).items()},
            "acceptance_by_position": list(length.joint),
            "acceptance_given_previous": [finite(share) for share in length.conditional]}


def speedup(window: str, rows: Sequence[Row], baseline: Sequence[Row]) -> Line:
    """R of one window in every convention, with its interval and how it differs between repeats."""
    mine, theirs, phases = accounts(rows), accounts(baseline), WINDOWS[window]
    value = metrics.speedup(mine, theirs, phases)
    repeats = [finite(_of_repeat(repeat, rows, baseline, phases)) for repeat in sorted({row["repeat"] for row in rows})]
    known = [each for each in repeats if each is not None]
    name = f"speedup_{window}"
    return {name: finite(value.pooled),
            f"{name}_interval": around(value.pooled, lambda: metrics.speedup_interval(mine, theirs, phases)),
            f"{name}_mean_of_ratios": finite(value.mean_of_ratios),
            f"{name}_ratio_of_means": finite(value.ratio_of_means),
            f"{name}_prompt_geomean": finite(value.geometric_mean),
            f"{name}_by_repeat": repeats, f"{name}_spread": [min(known), max(known)] if known else [None, None]}


def no_speedup(window: str) -> Line:
    """The same line where nothing may be said."""
    name = f"speedup_{window}"
    return {name: None, f"{name}_interval": [None, None], f"{name}_mean_of_ratios": None,
            f"{name}_ratio_of_means": None, f"{name}_prompt_geomean": None,
            f"{name}_by_repeat": [], f"{name}_spread": [None, None]}


def decode_identity(rows: list[metrics.Row], baseline: list[metrics.Row]) -> tuple[float | None, float]:
    """A · t_AR / (t_draft + t_verify + t_other), and the R_decode that it equals (ALGORITHMS §5).

    t_AR is vanilla's time per token after the first, the others are the method's per round.
    """
    measured = metrics.speedup(rows, baseline, DECODE).pooled
    seconds, tokens = _sums(baseline)
    per_round = [ratio(sum(row.seconds[phase] for row in rows), sum(row.passes for row in rows))
                 for phase in DECODE.phases]
    if not tokens or None in per_round:
        return None, measured
    return metrics.accept_length(rows).pooled * (seconds / tokens) / sum(per_round), measured


def durations(rows: Sequence[Row]) -> Line:
    """Latency as serving people name it, and where the time went."""
    seconds = {phase: sum(row["seconds"][phase] for row in rows) for phase in PHASES}
    mine = accounts(rows)
    rounds = sum(row.passes for row in mine)
    decode_tokens, tokens = (sum(getattr(row, name) for row in mine) for name in ("decode_tokens", "tokens"))
    first, total = seconds["vision"] + seconds["prefill"], sum(seconds.values())
    return {"seconds": seconds,
            "seconds_per_round": {phase: ratio(seconds[phase], rounds) for phase in DECODE.phases},
            "ttft_ms": ratio(1000 * first, len(rows)), "tpot_ms": ratio(1000 * (total - first), decode_tokens),
            "output_tps": ratio(tokens, total)}


def around(value: float, interval: Callable[[], Interval]) -> list[float | None]:
    """[low, high]; nothing encloses a value that does not exist, and one prompt tells no interval."""
    if not math.isfinite(value):
        return [None, None]
    found = interval()
    return [finite(found.low), finite(found.high)]


def finite(value: float) -> float | None:
    """JSON has no nan."""
    return value if math.isfinite(value) else None


def ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None


def _of_repeat(repeat: int, rows: Sequence[Row], baseline: Sequence[Row], window: Window) -> float:
    mine, theirs = (accounts([row for row in some if row["repeat"] == repeat]) for some in (rows, baseline))
    return metrics.speedup(mine, theirs, window).pooled


def _sums(rows: list[metrics.Row]) -> tuple[float, int]:
    return sum(row.within(DECODE)[0] for row in rows), sum(row.decode_tokens for row in rows)
