"""How the page writes a number: one rule per kind, rounded once, the exact value kept beside it.

It computes nothing and knows no run.
"""

from markupsafe import Markup

MISSING = "–"
DIGITS = {"speedup": 2, "accept": 2, "vanilla": 2, "ttft": 0, "tpot": 1, "output": 1, "seconds": 2, "deviation": 3}
"""Decimals by the first word of a key of the summary; 2 for any other."""
SHARES = ("identical_share", "tie_share", "acceptance_by_position", "acceptance_given_previous",
          "speedup_decode_deviation")
"""Keys whose values are shares and shown in per cent."""


def shown(key: str, value: float | int | None) -> str:
    """The text of a value of the summary under `key`: the nearest decimal to the exact binary value."""
    if value is None:
        return MISSING
    if key in SHARES:
        return percent(value)
    return str(value) if isinstance(value, int) else decimal(value, DIGITS.get(key.partition("_")[0], 2))


def decimal(value: float | None, digits: int = 2) -> str:
    """What rounds to zero has no sign."""
    return MISSING if value is None else f"{value:z.{digits}f}"


def percent(value: float | None) -> str:
    """A share in whole per cent; nearly all is not shown as all, nor nearly none as none."""
    if value is None:
        return MISSING
    if 0.995 <= value < 1:
        return "> 99 %"
    if 0 < value < 0.005:
        return "< 1 %"
    return f"{100 * value:.0f} %"


def exact(path: str, value: float | int | None) -> Markup:
    """A number of the summary with its place there ("rows.3.speedup_decode") and its exact value."""
    key = next(part for part in reversed(path.split(".")) if not part.isdigit())
    return Markup('<data data-path="{}" value="{}">{}</data>').format(
        path, "" if value is None else repr(value), shown(key, value))


def derived(value: float | None, digits: int = 2) -> Markup:
    """A number that is computed from the records and is not in the summary, with its exact value."""
    return Markup('<data value="{}">{}</data>').format("" if value is None else repr(value), decimal(value, digits))
