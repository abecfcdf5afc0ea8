"""May a method's speed be held against vanilla's? Every reason why not, one line each.

It follows from the rows and the plan alone. It measures nothing and knows no model.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from flashbench.bench.lines import accounts, decode_identity
from flashbench.bench.plan import Piece
from flashbench.bench.results import Results, answers, piece_of
from flashbench.bench.rows import VANILLA, Row, prompt_of

IDENTITY_TOLERANCE = 1e-9
"""R_decode and A · t_AR / (t_draft + t_verify + t_other) are one and the same ratio of sums, up to rounding."""
KERNELS = ("dtype", "attention", "device", "threads")
SAMPLING = ("temperature", "top_p", "seed", "max_new_tokens")


def reasons(method: str, results: Results, noise: Mapping[str, Any]) -> list[str]:
    """Why the method may not be compared with vanilla; empty: it may.

    results  of one target at one temperature
    noise    vanilla against vanilla on that target (see summary.noise)
    """
    part = results.asked_of(method)
    found = [reason for name in dict.fromkeys((method, VANILLA))
             for reason in (*_unlike_the_plan(name, part), *_other_settings(name, part))]
    if method == VANILLA:
        return found
    found += [*_unlike_vanilla(method, part), *_other_answers(method, part), *_noisy(noise)]
    return found or list(_broken_identity(method, part))


def _unlike_the_plan(method: str, part: Results) -> Iterator[str]:
    """Fewer prompts or repeats than the plan, or an answer that it does not ask for."""
    planned = {(piece.key, repeat) for piece in part.pieces for repeat in range(piece.repeats)}
    given = Counter((piece_of(row), row["repeat"]) for row in part.of(method))
    missing = len(planned - given.keys())
    if missing:
        why = sorted({failure["reason"] for failure in part.failures if failure["method"] == method})
        yield f"{method} gave {len(planned) - missing} of {len(planned)} planned answers{': ' if why else ''}" \
              f"{'; '.join(why)}"
    odd = sum(count > 1 or place not in planned for place, count in given.items())
    if odd:
        yield f"{method} has {odd} answers that the plan does not ask for"


def _other_settings(method: str, part: Results) -> Iterator[str]:
    """Another number format, token limit or law than planned."""
    pieces = {piece.key: piece for piece in part.pieces}
    wrong = Counter((name, row[name], planned) for row in part.of(method)
                    for name, planned in _planned(pieces[piece_of(row)], row["repeat"]).items() if row[name] != planned)
    for (name, used, planned), count in wrong.items():
        yield f"{method} used {name} {used} in {count} answers where the plan says {planned}"


def _planned(piece: Piece, repeat: int) -> dict[str, Any]:
    sampling = piece.sampling(repeat)
    return {"dtype": piece.dtype, "threads": piece.threads} | {name: getattr(sampling, name) for name in SAMPLING}


def _unlike_vanilla(method: str, part: Results) -> Iterator[str]:
    """Other kernels, or another law, than vanilla used on the same prompt."""
    baseline = answers(part.of(VANILLA))
    wrong = Counter((name, row[name], baseline[place][name]) for place, row in answers(part.of(method)).items()
                    if place in baseline for name in KERNELS + SAMPLING if row[name] != baseline[place][name])
    for (name, used, reference), count in wrong.items():
        yield f"{method} used {name} {used} in {count} answers where vanilla used {reference}"


def _other_answers(method: str, part: Results) -> Iterator[str]:
    rows = part.of(method)
    wrong = [row for row in rows if row["identical"] is False and not row["tie"]]
    if wrong:
        yield f"{len(wrong)} of {len(rows)} answers of {method} differ from vanilla's and no rounding explains it " \
              f"(first: {_place(wrong[0])})"


def _place(row: Row) -> str:
    apart = "" if row["gap"] is None else f", where logits are {row['gap']:.3g} apart"
    return f"token {row['first_difference']} of {prompt_of(row)}{apart}"


def _noisy(noise: Mapping[str, Any]) -> Iterator[str]:
    if noise["verdict"] == "noisy":
        yield f"the machine is too noisy: a second run of vanilla took {noise['ratio']:.3f} times as long as the " \
              f"first, and {noise['band']:g} is the share allowed (bench.noise_band)"


def _broken_identity(method: str, part: Results) -> Iterator[str]:
    """A fault of the accounts themselves: the rows do not add up."""
    rows, baseline = accounts(part.of(method)), accounts(part.of(VANILLA))
    predicted, measured = decode_identity(rows, baseline)
    if predicted is not None and abs(predicted / measured - 1) > IDENTITY_TOLERANCE:
        yield f"the accounts of {method} do not add up: R_decode is {measured:.6g}, and A · t_AR / (t_draft + " \
              f"t_verify + t_other) is {predicted:.6g}"
