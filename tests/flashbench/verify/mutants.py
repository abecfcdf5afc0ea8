"""Wrong rules, each of which some project had or could have. Every one replaces code that really runs.

A mutant is a function of a monkeypatch; what it is called says what is wrong.
"""

from collections.abc import Callable

import pytest
import torch

import specflash.acceptance
import specflash.decoding
from specflash.acceptance import accept, acceptance_probability, offered_law, residual
from specflash.decoding import Decoding, Passes
from specflash.drafts.base import Draft
from specflash.drafts.dream import DreamSession
from specflash.drafts.eagle import EagleSession
from specflash.drafts.keys import KeyBuffer
from specflash.drafts.medusa import MedusaSession
from specflash.drafts.specflash import SpecFlash, SpecFlashSession
from specflash.drafts.text_only import TextOnlySession
from specflash.records import Output, Proposal
from specflash.sampling import Sampling, distribution
from specflash.targets.llava import Llava

Mutant = Callable[[pytest.MonkeyPatch], None]


def replacing(owner: object, name: str, wrong: object) -> Mutant:
    return lambda patch: patch.setattr(owner, name, wrong)


# -- how a draft's tokens are drawn, and which law is stated (X1 X2 X3 X6 X7 of ALGORITHMS §2.5) --------------


def _chain_stating_the_law_given_the_likeliest(self, rows, sampling, chance):
    proposal = _chain(self, rows, sampling, chance)
    if len(rows) < 2:
        return proposal
    draft = self._draft
    likeliest = draft.draft_logits(rows[:1]).argmax(-1)
    told = draft.refiner(rows[1:2], 1, draft.heard(likeliest[None]))
    return Proposal(proposal.tokens, torch.cat([proposal.q[:1], distribution(draft.draft_logits(told), sampling)]))


_chain = SpecFlashSession._chain


def _choose_the_likeliest_stating_a_dense_law(self, features, sampling, chance):
    logits = self.draft_logits(features)
    return Proposal(logits.argmax(-1), distribution(logits, sampling))


def _choose_stating_the_raw_law(self, features, sampling, chance):
    logits = self.draft_logits(features)
    return Proposal(chance.draw(distribution(logits, sampling)), logits.softmax(-1))


def without_replacement(renormalised: bool):
    """Slot 1 may not repeat slot 0's token; q with or without what that takes away."""
    def choose(self, features, sampling, chance):
        law = distribution(self.draft_logits(features), sampling)
        if len(law) < 2:
            return Proposal(chance.draw(law), law)
        first = chance.draw(law[:1])
        law[1, first] = 0
        second = chance.draw(law[1:] / law[1:].sum())
        if renormalised:
            law = law / law.sum(-1, keepdim=True)
        return Proposal(torch.cat([first, second]), law)
    return choose


def _choose_dropping_what_it_is_not_sure_of(self, features, sampling, chance):
    law = distribution(self.draft_logits(features), sampling)
    tokens = chance.draw(law)
    sure = law.gather(-1, tokens[:, None])[:, 0] > 0.3
    count = int(sure.long().cumprod(0).sum())
    return Proposal(tokens[:count], law[:count])


# -- which law the target's rule is given (X4 X5 X8), and relatives ----------------------------------------


def _bonus_from_the_raw_law(self, proposal, logits):
    p = distribution(logits, self._sampling)
    p[-1] = logits[-1].softmax(-1)
    return accept(proposal.tokens, proposal.q, p, self._chance)


def _residual_from_the_raw_law(self, proposal, logits):
    p, raw = distribution(logits, self._sampling), logits.softmax(-1)
    offered = offered_law(proposal.tokens, proposal.q, p.shape[-1])
    kept = self._chance.streak(acceptance_probability(p[:-1], offered, proposal.tokens))
    law = p[-1:] if kept == len(offered) else residual(raw[kept][None], offered[kept][None])
    return kept, self._chance.draw(law)[0]


def _typical(p, q, drafted):
    entropy = torch.special.entr(p).sum(-1)
    return (p.gather(-1, drafted[:, None])[:, 0] >= torch.minimum(torch.tensor(0.09), 0.3 * (-entropy).exp())).float()


def _upside_down(p, q, drafted):
    return acceptance_probability(q, p, drafted)


def _judged_at_temperature_1(self, proposal, logits):
    return accept(proposal.tokens, proposal.q, distribution(logits, Sampling(1.0)), self._chance)


def _rows_one_late(drafted, q, p, chance):
    return accept(drafted, q, torch.cat([p[1:], p[-1:]]), chance)


def _first_token_from_the_raw_law(self, passes):
    output = passes.prefill(self._target.embed_prompt(self._prompt))
    return output, int(self._chance.draw(output.logits[0].softmax(-1)))


LAW: dict[str, tuple[str, str, Mutant]] = {
    "X1 drawn given the drawn token, q given the likeliest": (
        "specflash", "drawn", replacing(SpecFlashSession, "_chain", _chain_stating_the_law_given_the_likeliest)),
    "X2 the likeliest token, q its softmax": (
        "specflash", "drawn", replacing(Draft, "choose", _choose_the_likeliest_stating_a_dense_law)),
    "X3 drawn from the warped law, q the raw softmax": (
        "eagle", "drawn", replacing(Draft, "choose", _choose_stating_the_raw_law)),
    "X4 bonus from the un-warped target": (
        "medusa", "likeliest", replacing(Decoding, "_accepted", _bonus_from_the_raw_law)),
    "X5 residual from the un-warped target": (
        "text-only", "drawn", replacing(Decoding, "_accepted", _residual_from_the_raw_law)),
    "X6 without replacement, q not renormalised": (
        "medusa", "drawn", replacing(Draft, "choose", without_replacement(renormalised=False))),
    "X7 drawn, then dropped where not sure": (
        "medusa", "drawn", replacing(Draft, "choose", _choose_dropping_what_it_is_not_sure_of)),
    "X8 typical acceptance": (
        "eagle", "likeliest", replacing(specflash.acceptance, "acceptance_probability", _typical)),
    "the ratio upside down": (
        "eagle", "drawn", replacing(specflash.acceptance, "acceptance_probability", _upside_down)),
    "correction from the whole of p": (
        "ngram", "likeliest", replacing(specflash.acceptance, "residual", lambda p, q: p)),
    "judged at another temperature": (
        "medusa", "drawn", replacing(Decoding, "_accepted", _judged_at_temperature_1)),
    "the released loop's rows, one late, when sampling": (
        "ngram", "likeliest", replacing(specflash.decoding, "accept", _rows_one_late)),
    "first token from the un-warped law": (
        "vanilla", "likeliest", replacing(Decoding, "_prefill", _first_token_from_the_raw_law)),
}
"""Caught by the enumerated law of this draft in this mode."""


# -- greedy decoding ---------------------------------------------------------------------------------------


def _released_greedy(drafted, best):
    """d_i against row i+1, and the correction from the row behind the rejection."""
    kept = (drafted == best[1:]).long().cumprod(0).sum()
    return kept, best[(kept + 1).clamp(max=len(drafted))]


def _correction_one_late(drafted, best):
    kept = (drafted == best[:-1]).long().cumprod(0).sum()
    return kept, best[(kept + 1).clamp(max=len(drafted))]


def rewinding(change: Callable[[int], int]) -> Mutant:
    return replacing(Passes, "keep", lambda self, rows, last: self._cache.rewind(change(last - len(rows))))


def _mask(diagonal: int) -> Mutant:
    return replacing(specflash.decoding, "causal_mask", lambda length, device="cpu": torch.ones(
        length, length, dtype=torch.bool).tril(diagonal))


def _blind_to_itself(patch: pytest.MonkeyPatch) -> None:
    """Single rows too, which need no mask as they see all that is read."""
    _mask(-1)(patch)
    patch.setattr(Passes, "_seen", lambda self, start, rows: self._mask[
        start : start + rows, : None if self._cache.reads_all else start + rows][None, None])


def _commit_behind_the_end(self, tokens):
    done = self.generation
    tokens = tokens[: self._sampling.max_new_tokens - len(done.ids)]
    done.ids += tokens
    self._finished = tokens[-1] in self._target.end_ids or len(done.ids) == self._sampling.max_new_tokens
    return tokens


def _commit_one_too_many(self, tokens):
    done = self.generation
    done.ids += tokens
    self._finished = any(token in self._target.end_ids for token in tokens) \
        or len(done.ids) > self._sampling.max_new_tokens
    return tokens


GREEDY: dict[str, Mutant] = {
    "the released loop's off-by-one": replacing(specflash.decoding, "accept_greedy", _released_greedy),
    "every draft is kept": replacing(
        specflash.decoding, "accept_greedy", lambda drafted, best: (torch.tensor(len(drafted)), best[-1])),
    "correction from the row behind the rejection": replacing(
        specflash.decoding, "accept_greedy", _correction_one_late),
    "the cache cropped by one too many": rewinding(lambda rows: rows + 1 if rows else 0),
    "the cache cropped by one too few": rewinding(lambda rows: max(rows - 1, 0)),
    "the cache not cropped": rewinding(lambda rows: 0),
    "a mask that shows one rejected entry": _mask(1),
    "a mask that hides nothing": _mask(10**6),
    "tokens behind an end token": replacing(Decoding, "_commit", _commit_behind_the_end),
    "one token beyond the limit": replacing(Decoding, "_commit", _commit_one_too_many),
}
"""Caught by greedy decoding in float32: another text than vanilla's, or one that ends elsewhere."""

OUTSIDE: dict[str, Mutant] = {
    "positions off by one behind the prompt": replacing(
        Llava, "positions", lambda self, prompt, start, rows: torch.arange(rows)[None] + start + (start > 0)),
    "a row that does not see itself": _blind_to_itself,
}
"""Vanilla errs as the drafts do; caught by transformers' own `generate`."""


# -- bits ----------------------------------------------------------------------------------------------------


def _as_many_rows_as_there_are(patch: pytest.MonkeyPatch) -> None:
    begin = Passes.__init__
    patch.setattr(Passes, "__init__", lambda self, target, prompt, tokens, width, inner: begin(
        self, target, prompt, tokens, None, inner))


def _later_rows_an_ulp_off(self, embeds, cache, positions, mask, keep, inner=None):
    output = _forward(self, embeds, cache, positions, mask, keep, inner)
    logits = output.logits.clone()
    logits[:, 1:] *= 1 + 2**-7
    return Output(output.features, logits)


_forward = Llava.forward

BITS: dict[str, Mutant] = {
    "as many rows as there are tokens": _as_many_rows_as_there_are,
    "logits of later rows an ulp off": replacing(Llava, "forward", _later_rows_an_ulp_off),
}
"""The text stays vanilla's or differs by ties; caught by the bits of the logits at a constant number of rows."""


# -- wrong drafts: they cost acceptance, and break nothing ----------------------------------------------------


def _only_the_last_base(self, ids, features):
    x = self._draft.fuse(ids[-1:], features[-1:].to(self._draft.dtype))
    self._predicted = self._draft.step(x[None], self._buffer)


def _ungated(self, x, last):
    at = torch.full((1, 1), x.shape[1] - 1)
    self._drafted = self._draft.head(x, at, buffers=self._buffers)[0, 0]


def _first_feature(self, ids, features):
    self._feature = features[:1]


def _taught_one_early(self, rows, ids, anchors):
    """w_j is x_{t+j} in training, and x_{t+1+j} in decoding."""
    return _refined(self, rows, ids.roll(1, 1), anchors)


_refined = SpecFlash._refined


def _blind_to_the_inside(self, ids, rows):
    features, inner = rows.chunk(2, -1)
    _advance_dream(self, ids, torch.cat([features, torch.zeros_like(inner)], -1))


_advance_dream = DreamSession.advance

DRAFTS: dict[str, tuple[str, Mutant]] = {
    "a stale draft cache: accepted bases left out": ("eagle", replacing(EagleSession, "advance", _only_the_last_base)),
    "drafted rows left in the draft cache": ("eagle", replacing(KeyBuffer, "cut", lambda self, length: None)),
    "accepted tokens left out of the text": ("text-only", replacing(
        TextOnlySession, "advance", lambda self, ids, features: setattr(self, "_last", self._read(ids[-1:])))),
    "no residual gate in decoding": ("specflash", replacing(SpecFlashSession, "_commit", _ungated)),
    "Hydra's teacher token off by one": ("specflash", replacing(SpecFlash, "_refined", _taught_one_early)),
    "no inner states of accepted tokens": ("dream", replacing(DreamSession, "advance", _blind_to_the_inside)),
    "heads fed an old feature": ("medusa", replacing(MedusaSession, "advance", _first_feature)),
}
"""Caught by "draft cache == recompute" or "training forward == decoding forward" (tests/drafts/test_parity.py)."""
