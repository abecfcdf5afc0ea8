"""What is to be compared: checks × prompts × methods, each under a fingerprint of its conditions.

It knows no model and decodes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flashbench.bench.methods import conditions_fingerprint, draft_fingerprints
from flashbench.bench.prompts import BenchPrompt, bench_prompts
from flashbench.bench.rows import HF_GENERATE, VANILLA
from flashbench.fingerprint import digest
from flashbench.settings import Settings
from flashbench.verify.rehearsed import REHEARSED
from flashbench.verify.verdict import FLOAT, OUTSIDE, OWN

FORMAT = 3
"""Of the records in the journal, and of what the checks do; another one makes earlier records worthless."""
OUTSIDE_PROMPTS = 3


@dataclass(frozen=True)
class Comparison:
    """One method's answer to one prompt that is to be held against vanilla's.

    k            drafted tokens a round; None: the draft's own number
    cuts         at how many places the answer also has to end
    fingerprint  what the answer depends on; an answer with the same one is not decoded again
    """

    check: str
    method: str
    prompt: BenchPrompt
    limit: int
    k: int | None
    cuts: int
    fingerprint: str

    @property
    def key(self) -> str:
        return f"{self.check}/{self.prompt.key}/{self.method}" + (f"/{self.k}" if self.k else "")


@dataclass(frozen=True)
class Plan:
    """in_float: in float32; in_own: in the target's own number format; drafts: hash of each draft."""

    in_float: list[Comparison]
    in_own: list[Comparison]
    drafts: dict[str, str]


def make_plan(settings: Settings) -> Plan:
    verify, drafts = settings.verify, draft_fingerprints(settings)
    prompts = spread(bench_prompts(settings), verify.prompts)
    in_float = _comparisons(settings, FLOAT, drafts, prompts)
    for k in verify.lengths:
        in_float += _comparisons(settings, FLOAT, {**drafts, **dict.fromkeys(REHEARSED, "")}, prompts, k)
    in_float += _comparisons(settings, OUTSIDE, {HF_GENERATE: ""}, spread(prompts, OUTSIDE_PROMPTS))
    in_own = _comparisons(settings, OWN, {VANILLA: "", **drafts}, spread(prompts, verify.exact_prompts))
    return Plan(in_float, in_own, drafts)


def spread(prompts: Sequence[BenchPrompt], count: int | None) -> list[BenchPrompt]:
    """`count` prompts at even distances, so that every task has its share (None: all)."""
    if count is None or count >= len(prompts):
        return list(prompts)
    return [prompts[i * len(prompts) // count] for i in range(count)]


def _comparisons(settings: Settings, check: str, methods: Mapping[str, str], prompts: Sequence[BenchPrompt],
                 k: int | None = None) -> list[Comparison]:
    """methods  name -> hash of its weights"""
    conditions = conditions_fingerprint(settings, settings.target.dtype if check == OWN else "float32")
    cuts = settings.verify.cuts if check == FLOAT else 0
    comparisons = []
    for prompt in prompts:
        limit = min(prompt.max_new_tokens, settings.verify.max_new_tokens)
        comparisons += [Comparison(check, method, prompt, limit, k, cuts,
                                   digest([FORMAT, conditions, weights, limit, cuts]))
                        for method, weights in methods.items()]
    return comparisons
