"""One answer held against vanilla's, on a loaded engine: equal, a tie of rounding, or really another one.

It keeps no record and knows no settings.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from flashbench.bench.methods import Engine
from flashbench.bench.rows import VANILLA
from flashbench.verify.compare import divergence, top_two_gap
from flashbench.verify.plan import Comparison
from flashbench.verify.rehearsed import REHEARSED, AtMost
from flashbench.verify.spoken import first_other_row, first_wrong_ending, spoken
from flashbench.verify.verdict import EXACT, OWN, TREES, Cost, Outcome
from specflash.cache import HEADROOM
from specflash.decoding import generate
from specflash.drafts.base import Draft
from specflash.metrics import DECODE
from specflash.records import Generation, Prompt
from specflash.sampling import Sampling


@dataclass(frozen=True)
class Both:
    """A method's answer in passes of a constant number of rows, with the logits of its n tokens, and the ordinary one.

    rows  [n, V]
    """

    exact: Generation
    rows: Tensor
    ordinary: Generation


def answer_both(engine: Engine, draft: Draft, prompt: Prompt, limit: int, exact_first: bool) -> Both:
    """One right after the other, so that their times can be compared."""
    sampling = Sampling(max_new_tokens=limit)
    if exact_first:
        exact, rows = spoken(engine.target, draft, prompt, sampling, HEADROOM)
    ordinary = generate(engine.target, draft, prompt, sampling)
    if not exact_first:
        exact, rows = spoken(engine.target, draft, prompt, sampling, HEADROOM)
    return Both(exact, rows, ordinary)


def drafting(engine: Engine, one: Comparison, text: list[int]) -> Draft | None:
    """The comparison's draft at its number of tokens; None where the draft has not learnt so many.

    text  vanilla's answer
    """
    if one.method in REHEARSED:
        return REHEARSED[one.method](one.k, text, engine.target.vocabulary)
    draft = engine.drafts[one.method]
    if one.k is None:
        return draft
    return AtMost(draft, one.k) if one.k <= draft.config.k else None


def judge_float(engine: Engine, one: Comparison, prompt: Prompt, text: list[int]) -> list[Outcome]:
    """Equality is demanded, wherever the answer ends; `text` is vanilla's answer."""
    draft = drafting(engine, one, text)
    if draft is None:
        return []
    ids = generate(engine.target, draft, prompt, Sampling(max_new_tokens=one.limit)).ids
    outcome = judge_ids(engine, one, prompt, ids, text)
    if not outcome.equal:
        return [outcome]
    place = first_wrong_ending(engine.target, draft, prompt, text, one.cuts)
    return [outcome if place is None else _at(engine, one, one.check, prompt, text, place, "end")]


def judge_ids(engine: Engine, one: Comparison, prompt: Prompt, ids: Sequence[int], text: Sequence[int],
              check: str | None = None) -> Outcome:
    parted = divergence(engine.target, prompt, ids, text)
    found = {} if parted is None else vars(parted)
    return _outcome(one, check or one.check, ids, **found)


def judge_own(engine: Engine, one: Comparison, prompt: Prompt, reference: Both) -> tuple[list[Outcome], Cost]:
    """Bits at a constant number of rows, tokens up to ties without; what the former costs.

    For vanilla itself, the control: its answer at that number of rows against its ordinary one.
    """
    if one.method == VANILLA:
        outcomes = [judge_ids(engine, one, prompt, reference.exact.ids, reference.ordinary.ids, OWN)]
        return outcomes, _cost(one, reference)
    draft = engine.drafts[one.method]
    ours = answer_both(engine, draft, prompt, one.limit, sum(one.key.encode()) % 2 == 0)
    check = EXACT if draft.config.chains else TREES
    exact = judge_ids(engine, one, prompt, ours.exact.ids, reference.exact.ids, check)
    row = first_other_row(ours.rows, reference.rows)
    if exact.equal and row is not None:
        exact = _at(engine, one, check, prompt, ours.exact.ids, row, "bits")
    return [exact, judge_ids(engine, one, prompt, ours.ordinary.ids, reference.ordinary.ids, OWN)], _cost(one, ours)


def _at(engine: Engine, one: Comparison, check: str, prompt: Prompt, ids: Sequence[int], position: int,
        kind: str) -> Outcome:
    """The whole answer has vanilla's tokens, and yet something is wrong at `position`."""
    gap = top_two_gap(engine.target, prompt, ids[:position])
    return _outcome(one, check, ids, position=position, kind=kind, gap=gap)


def _outcome(one: Comparison, check: str, ids: Sequence[int], **found) -> Outcome:
    return Outcome(check, one.prompt.task, one.prompt.sample, one.method, len(ids), k=one.k, **found)


def _cost(one: Comparison, both: Both) -> Cost:
    return Cost(one.method, len(both.exact.ids) - 1, _seconds(both.exact),
                len(both.ordinary.ids) - 1, _seconds(both.ordinary))


def _seconds(done: Generation) -> float:
    return sum(done.seconds[phase] for phase in DECODE.phases)
