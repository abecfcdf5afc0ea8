"""The one decoding loop: vanilla and drafts, greedy and sampling, serving, benchmark and check.

It knows no model family and no particular draft. What is kept, and what follows, is decided in
acceptance.py; which law tokens follow, in sampling.py.

One round, with n committed tokens x0 … x_{n-1}, the last of them pending (not in the cache yet):

    rows of the pass    x_{n-1}  d0       d1           K drafted, K+1 rows
    logits row j        p0       p1       p2           p_j judges d_j; p_K gives the bonus token
    features row j      h_{n-1}  h_n      h_{n+1}
    d0 kept, d1 not  -> committed d0, y; the cache keeps x_{n-1}, d0; y is pending
    advance(ids, features)  with  ids [d0, y]  and  features [h_{n-1}, h_n]

Of a tree of drafted tokens (trees.py) the rows on the path that is kept count, and the cache keeps them alone.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from specflash.acceptance import accept, accept_drawn, accept_greedy
from specflash.cache import HEADROOM, cache_length, causal_mask
from specflash.drafts.base import Draft, Session
from specflash.errors import UserError
from specflash.records import Generation, Output, Prompt, Proposal
from specflash.sampling import Chance, Sampling, distribution
from specflash.targets.base import Target
from specflash.timing import Stopwatch
from specflash.trees import ROOT, Parents, ancestors, depths, follow


def generate(target: Target, draft: Draft, prompt: Prompt, sampling: Sampling,
             width: int | None = None) -> Generation:
    """Decode one answer to its end. See `Decoding` for the arguments."""
    decoding = Decoding(target, draft, prompt, sampling, width)
    for _ in decoding:
        pass
    return decoding.generation


def check_room(target: Target, prompt: Prompt, max_new_tokens: int) -> None:
    """Raises UserError where prompt and answer may need more positions than the target knows."""
    if target.context is not None and prompt.length + max_new_tokens > target.context:
        raise UserError(f"the prompt's {prompt.length} tokens (pictures included) and {max_new_tokens} new ones are "
                        f"more than the {target.context} positions of {target.name}: shorten the prompt or ask for "
                        "fewer tokens")


class Decoding(Iterator[list[int]]):
    """One request, decoded round by round: iterate over it to get the newly committed tokens.

    target, draft   the draft is attached to this target and in eval mode
    prompt          ends where the model is to speak
    sampling        the law, its seed (of a `Chance` of this request's own) and the token limit
    width           None: a pass has as many rows as there are tokens to judge. A number: every
                    pass after the prefill has exactly that many rows, dummies behind. Then any two
                    drafts with k < width see logits equal to the last bit, in bf16 too.
    chance          None: from the seed. Another one decides in its place.

    The first item is [first token], from the prefill; every other one is a round's. `generation`
    is complete when the iterator is exhausted, and right after every item before that. `close`
    ends early. Either way the cache and the draft's state are freed.

    Raises UserError for a width that is too small for the draft or too large for the cache, and for
    more tokens than the target has positions for.
    """

    def __init__(self, target: Target, draft: Draft, prompt: Prompt, sampling: Sampling,
                 width: int | None = None, chance: Chance | None = None):
        if width is not None and not draft.config.most < width <= HEADROOM:
            raise UserError(f"width must lie in [{draft.config.most + 1}, {HEADROOM}] for a draft of "
                            f"{draft.config.most} tokens, not {width}")
        check_room(target, prompt, sampling.max_new_tokens)
        self.generation = Generation()
        self._target, self._draft, self._prompt, self._sampling = target, draft, prompt, sampling
        self._chance = Chance(sampling.seed, target.device) if chance is None else chance
        self._clock = Stopwatch(self.generation.seconds, target.device)
        self._finished = False
        self._rounds = self._run(width)

    def __next__(self) -> list[int]:
        with torch.inference_mode():
            return next(self._rounds)

    def close(self) -> None:
        self._rounds.close()

    def _run(self, width: int | None) -> Iterator[list[int]]:
        self._clock.start()
        passes = Passes(self._target, self._prompt, self._sampling.max_new_tokens, width, self._draft.inner_layer)
        output, token = self._prefill(passes)
        yield self._commit([token])
        if self._finished:
            return
        self._clock.start()
        session = self._draft.start(self._prompt, output, token, passes.length)
        del output  # the features of the whole prompt; the session keeps what it needs of them
        self._clock.lap("draft_prefill")
        while True:
            yield self._round(passes, session)
            if self._finished:
                return
            self._clock.start()

    def _prefill(self, passes: "Passes") -> tuple[Output, int]:
        """The whole prompt in one pass, and the first token from the target's own law."""
        embeds = self._target.embed_prompt(self._prompt)                        # [1, L, D]
        self._clock.lap("vision")
        output = passes.prefill(embeds)
        token = int(self._chance.draw(distribution(output.logits[0], self._sampling)))
        self._clock.lap("prefill")
        return output, token

    def _round(self, passes: "Passes", session: Session) -> list[int]:
        done = self.generation
        remaining = self._sampling.max_new_tokens - len(done.ids)
        # The target adds a token of its own to what is kept, hence one draft fewer.
        proposal = session.propose(self._sampling, self._chance, remaining - 1)
        drafted = proposal.tokens                                               # [K]
        self._clock.lap("draft")
        output = passes.verify(F.pad(drafted, (1, 0), value=done.ids[-1]), proposal.parents)
        self._clock.lap("verify")
        rows, tokens = self._decide(proposal, output.logits[0])
        passes.keep(rows, len(drafted) + 1)
        done.kept.append(len(rows) - 1)
        done.drafted.append(proposal.depth)
        committed = self._commit(tokens)
        done.committed.append(len(committed))
        self._clock.lap("other")
        if not self._finished:
            ids = torch.tensor(committed, device=drafted.device)                # [kept+1]
            session.advance(ids, output.rows[0, rows])
            self._clock.lap("draft")
        return committed

    def _decide(self, proposal: Proposal, logits: Tensor) -> tuple[list[int], list[int]]:
        """The rows to keep, the pending token's among them, and the tokens that follow it; logits [M+1, V]"""
        if proposal.parents is not None:
            return self._decide_tree(proposal, logits)
        # One transfer to the host for everything the round decides.
        decision = torch.cat([torch.stack(self._accepted(proposal, logits)), proposal.tokens])
        kept, token, *tokens = decision.tolist()
        return list(range(kept + 1)), tokens[:kept] + [token]

    def _accepted(self, proposal: Proposal, logits: Tensor) -> tuple[Tensor, Tensor]:
        """How many tokens of a chain are kept, and the token behind them; logits [K+1, V]"""
        if self._sampling.temperature == 0 and proposal.q is None:
            return accept_greedy(proposal.tokens, logits.argmax(-1))
        return accept(proposal.tokens, proposal.q, distribution(logits, self._sampling), self._chance)

    def _decide_tree(self, proposal: Proposal, logits: Tensor) -> tuple[list[int], list[int]]:
        tokens, parents = proposal.tokens.tolist(), proposal.parents

        def law(row: int) -> Tensor:
            return distribution(logits[row : row + 1], self._sampling)          # [1, V]

        if proposal.q is not None:
            path, token = accept_drawn(tokens, parents, proposal.q, law, self._chance)
        elif self._sampling.temperature == 0:
            path, token = follow(tokens, parents, logits.argmax(-1).tolist().__getitem__)
        else:
            path, token = follow(tokens, parents, lambda row: int(self._chance.draw(law(row))))
        return [0, *(node + 1 for node in path)], [*(tokens[node] for node in path), token]

    def _commit(self, tokens: list[int]) -> list[int]:
        """Take tokens up to the limit and the first end token; returns those taken."""
        done = self.generation
        tokens = tokens[: self._sampling.max_new_tokens - len(done.ids)]
        end_ids = () if self._sampling.ignore_eos else self._target.end_ids
        ends = [place for place, token in enumerate(tokens) if token in end_ids]
        if ends:
            tokens = tokens[: ends[0] + 1]
            done.finish = "stop"
        done.ids += tokens
        self._finished = bool(ends) or len(done.ids) == self._sampling.max_new_tokens
        return tokens


class Passes:
    """The target's forward passes of one request: its cache, its mask and the row count.

    width  of every pass after the prefill; None: as many rows as there are ids
    inner  the layer whose hidden states come along; None: of no layer
    """

    def __init__(self, target: Target, prompt: Prompt, max_new_tokens: int, width: int | None,
                 inner: int | None = None):
        self.length = cache_length(prompt.length, max_new_tokens)
        self._target, self._prompt, self._width, self._inner = target, prompt, width, inner
        self._cache = target.new_cache(self.length)
        self._cache.reads_all = width is not None
        self._mask = causal_mask(self.length, target.device)                    # [T, T]

    def prefill(self, embeds: Tensor) -> Output:
        """embeds [1, L, D]; logits of the last row only."""
        with self._cache.prefilling():
            return self._forward(embeds, None, keep=1)

    def verify(self, ids: Tensor, parents: Parents | None = None) -> Output:
        """ids [R], and what each of them but the first follows; features and logits of the R rows."""
        rows = len(ids)
        dummies = 0 if self._width is None else self._width - rows
        start, width = self._cache.position, rows + dummies
        embeds = self._target.embed(F.pad(ids, (0, dummies))[None])
        if parents is None:
            output = self._forward(embeds, self._seen(start, width), keep=width)
        else:
            parents += (ROOT,) * dummies
            output = self._forward(embeds, self._seen_in_tree(start, parents), keep=width, depth=depths(parents))
        self._cache.rewind(dummies)
        return Output(output.features[:, :rows], output.logits[:, :rows],
                      None if output.inner is None else output.inner[:, :rows])

    def _seen(self, start: int, rows: int) -> Tensor | None:
        """The mask of the rows, as wide as what the cache gives to read [1, 1, R, T]; a single row sees all of that."""
        if self._cache.reads_all:
            return self._mask[start : start + rows][None, None]
        return self._mask[start : start + rows, : start + rows][None, None] if rows > 1 else None

    def _seen_in_tree(self, start: int, parents: Parents) -> Tensor:
        """The same for a tree: what is committed, and what each row follows."""
        family = ancestors(parents).to(self._target.device)                     # [R, R]
        behind = self.length - start - len(family) if self._cache.reads_all else 0
        return F.pad(F.pad(family, (start, 0), value=True), (0, behind))[None, None]

    def keep(self, rows: list[int], last: int) -> None:
        """Forget all of the `last` rows but these."""
        self._cache.keep(rows, last)

    def _forward(self, embeds: Tensor, mask: Tensor | None, keep: int, depth: list[int] | None = None) -> Output:
        """depth  of each row, where it is not its number"""
        start, rows = self._cache.position, embeds.shape[1]
        positions = self._target.positions(self._prompt, start, rows)           # [1, R] or [3, 1, R]
        if depth is not None:
            positions = positions[..., depth]
        output = self._target.forward(embeds, self._cache, positions, mask, keep, self._inner)
        self._cache.advance(rows)
        return output
