"""Wrong rules about trees of drafted tokens, as those of mutants.py."""

import specflash.acceptance
import specflash.decoding
from specflash.decoding import Decoding
from specflash.drafts.fixed_tree import Pick
from specflash.trees import ROOT, ancestors, follow
from tests.flashbench.verify.mutants import Mutant, replacing, rewinding


def _follow_the_first_child(tokens, parents, say):
    first = parents.index(ROOT)
    path, token = follow(tokens, parents, say)
    return (path, token) if path else ([first], say(first + 1))


def _decide_tree_by_the_raw_law(self, proposal, logits):
    tokens, raw = proposal.tokens.tolist(), logits.softmax(-1)
    path, token = follow(tokens, proposal.parents, lambda row: int(self._chance.draw(raw[row : row + 1])))
    return [0, *(node + 1 for node in path)], [*(tokens[node] for node in path), token]


def _follow_again(tokens, parents, say):
    """Where the token that was drawn was not drafted, another one is drawn."""
    path, token = follow(tokens, parents, say)
    return (path, token) if path else follow(tokens, parents, say)


def _next_stating_the_whole_law(self):
    if self._rank == 0:
        self.whole = self._law.clone()
    columns, _, left = _next(self)
    return columns, self.whole, left


_next = Pick.next


GREEDY: dict[str, Mutant] = {
    "a tree's first rows kept, not those of the path": rewinding(lambda rows: rows),
    "a tree's rows see all rows before them": replacing(
        specflash.decoding, "ancestors", lambda parents: ancestors(range(-1, len(parents) - 1))),
    "a tree's rows at the positions of their numbers": replacing(
        specflash.decoding, "depths", lambda parents: list(range(len(parents) + 1))),
    "a tree's first child kept unseen": replacing(specflash.decoding, "follow", _follow_the_first_child),
}
"""Caught by greedy decoding in float32."""

LAW: dict[str, tuple[str, str, Mutant]] = {
    "a drawn tree's younger child against the whole of p": (
        "eagle-tree", "drawn tree", replacing(specflash.acceptance, "residual", lambda p, q: p)),
    "a drawn tree's children without replacement, q the whole law": (
        "eagle-tree", "drawn tree", replacing(Pick, "next", _next_stating_the_whole_law)),
    "a tree's token drawn twice": (
        "eagle2", "tree", replacing(specflash.decoding, "follow", _follow_again)),
    "a tree judged by the raw law": ("specflash-tree", "tree", replacing(
        Decoding, "_decide_tree", _decide_tree_by_the_raw_law)),
}
"""Caught by the enumerated law of this draft in this mode."""
