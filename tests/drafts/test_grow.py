"""Trees that drafts grow: the best nodes there are, every node judged as a chain along its path would judge it."""

import math
from itertools import product

import pytest
import torch

from specflash.drafts.grow import grow, in_rows, on_every_path
from specflash.drafts.store import make_draft
from specflash.drafts.tree_config import TreeConfig
from specflash.errors import UserError
from specflash.records import Proposal
from specflash.sampling import Sampling
from specflash.trees import ROOT, depths
from tests.drafts.toy import ONE_PICTURE, D, K, draft, features, open_session

TREES = ["specflash", "specflash-tree", "eagle", "eagle2", "medusa"]
Path = tuple[int, ...]


def paths(proposal: Proposal) -> list[Path]:
    """The tokens from the committed text to each node, in the order of the rows."""
    found: list[Path] = []
    for token, parent in zip(proposal.tokens.tolist(), proposal.parents, strict=True):
        found.append((*(found[parent] if parent != ROOT else ()), token))
    return found


def independent(laws: torch.Tensor, config: TreeConfig) -> list[Path]:
    """What `grow` finds where a level's law [V] is the same on every path."""
    logits = laws.log()
    columns, parents = grow(logits[:1], on_every_path(logits), config, len(laws))
    return paths(Proposal(columns, parents=parents))


def test_of_independent_levels_the_likeliest_products_stay():
    """Against every path there is, with room for all of them on the way."""
    laws = torch.tensor([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.7, 0.2, 0.1]])
    every = {path: math.prod(float(laws[level, token]) for level, token in enumerate(path))
             for depth in (1, 2, 3) for path in product(range(3), repeat=depth)}
    best = sorted(every, key=every.get, reverse=True)
    for nodes in range(1, 12):
        config = TreeConfig(width=1, k=3, nodes=nodes, branch=9)
        assert sorted(independent(laws, config)) == sorted(best[:nodes])


def test_the_likeliest_path_lies_in_the_first_rows():
    laws = torch.tensor([[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.7, 0.2, 0.1]])
    found = independent(laws, TreeConfig(width=1, k=3, nodes=8, branch=3))
    assert found[:3] == [(0,), (0, 0), (0, 0, 0)]


def test_equal_scores_keep_a_parent_before_its_child():
    certain = torch.tensor([[0.0, -torch.inf]]).softmax(-1).expand(4, 2)
    found = independent(certain, TreeConfig(width=1, k=4, nodes=3, branch=1))
    assert found == [(0,), (0, 0), (0, 0, 0)]


def test_rows_go_down_before_they_go_aside():
    assert in_rows([[0, 1, 4, 2], [ROOT, ROOT, 0, 1]]) == ([0, 4, 1, 2], (ROOT, 0, ROOT, 2))


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("limit", [1, 2, K])
def test_a_tree_has_its_nodes_and_no_path_longer_than_asked_for(name, limit):
    session = open_session(draft(name, nodes=9, branch=3), features(20, ONE_PICTURE), 15)
    with torch.inference_mode():
        proposal = session.propose(Sampling(), None, limit)
        again = session.propose(Sampling(), None, limit)
    assert proposal.depth == max(depths(proposal.parents)) <= limit
    assert len(proposal.tokens) == min(9, 3 if limit == 1 else 12)
    assert len(set(paths(proposal))) == len(proposal.tokens)
    assert torch.equal(proposal.tokens, again.tokens) and proposal.parents == again.parents


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("limit", [0, -1])
def test_nothing_is_drafted_where_nothing_is_asked_for(name, limit):
    session = open_session(draft(name, nodes=9), features(20, ONE_PICTURE), 15)
    with torch.inference_mode():
        assert not len(session.propose(Sampling(), None, limit).tokens)


@pytest.mark.parametrize("name", TREES)
def test_every_node_is_judged_like_a_chain_along_its_path(name):
    """Grown anew, each law from the draft's chain of the path's tokens, one path after the other."""
    made = draft(name, nodes=10, branch=3)
    sample = features(20, ONE_PICTURE)
    with torch.inference_mode():
        grown = open_session(made, sample, 15).propose(Sampling(), None, K)

        chain = draft(name, nodes=10, branch=3)
        chain.config = chain.config.model_copy(update={"nodes": 0})
        session = open_session(chain, sample, 15)
        level: list[tuple[float, Path]] = [(0.0, ())]
        found: list[tuple[float, Path]] = []
        for _ in range(K):
            ahead = []
            for score, path in level:
                best = law_behind(chain, session, path).topk(3)
                ahead += [(score + value, (*path, token))
                          for value, token in zip(best.values.tolist(), best.indices.tolist(), strict=True)]
            found += ahead
            level = sorted(ahead, reverse=True)[:3]
    expected = [path for _, path in sorted(found, reverse=True)[:10]]
    assert sorted(paths(grown)) == sorted(expected)


def law_behind(chain, session, path: Path) -> torch.Tensor:
    """The log-probabilities [V] of what follows `path`, by making the chain draft it."""
    seen, forced = [], iter((*path, 0, 0, 0, 0, 0))

    def choose(rows, *_):
        seen.append(rows)
        return Proposal(torch.tensor([next(forced) for _ in rows]))

    chain.choose = choose
    session.propose(Sampling(), None, len(path) + 1)
    return chain.draft_logits(torch.cat(seen)[len(path)]).float().log_softmax(-1)


def test_grown_trees_are_not_drawn():
    with pytest.raises(UserError, match=r"a grown tree holds the likeliest tokens.*set shape to fixed"):
        make_draft("eagle", {"nodes": 4, "sampled": True}, D)


def test_more_nodes_than_a_pass_may_have_rows_are_refused():
    with pytest.raises(UserError, match="`nodes`: Input should be less than 32"):
        make_draft("eagle2", {"nodes": 32}, D)
