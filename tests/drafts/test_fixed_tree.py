"""Trees of a fixed shape: where the nodes are, and which law each was drawn from."""

import pytest
import torch

from specflash.drafts.fixed_tree import KEPT, shape
from specflash.records import Proposal
from specflash.sampling import Chance, Sampling, distribution
from specflash.trees import ROOT, depths
from tests.drafts.test_grow import law_behind, paths
from tests.drafts.toy import ONE_PICTURE, K, V, draft, features, open_session

NODES, BRANCH = 7, 3
DRAWN = Sampling(temperature=1.5, top_k=12)
FIXED = ["specflash", "eagle", "eagle-tree", "medusa"]


def test_the_shape_holds_the_places_kept_most_often():
    """0.8, then 0.64, 0.512, 0.16 and twice 0.128."""
    assert shape(6, 3, 3) == ((0,), (0, 0), (0, 0, 0), (1,), (0, 1), (1, 0))
    assert shape(2, 3, 1) == ((0,), (1,))


@pytest.mark.parametrize(("nodes", "branch", "depth"), [(12, 4, 5), (31, 2, 7), (25, 10, 5)])
def test_a_parent_comes_before_its_children_and_older_siblings_before_younger(nodes, branch, depth):
    places = shape(nodes, branch, depth)
    assert len(places) == len(set(places)) == nodes
    for number, path in enumerate(places):
        assert path[:-1] == () or path[:-1] in places[:number]
        assert path[-1] == 0 or (*path[:-1], path[-1] - 1) in places[:number]
        assert len(path) <= depth and path[-1] < branch
    assert 0 < KEPT < 1


def proposal(name: str, sampling: Sampling, seed: int = 0, limit: int = K, **settings) -> Proposal:
    made = draft(name, nodes=NODES, branch=BRANCH, shape="fixed", **settings)
    with torch.inference_mode():
        return open_session(made, features(20, ONE_PICTURE), 15).propose(sampling, Chance(seed), limit)


@pytest.mark.parametrize("name", FIXED)
def test_every_round_has_the_same_places(name):
    for found in (proposal(name, Sampling(), sampled=False), proposal(name, Sampling(), sampled=True),
                  proposal(name, DRAWN, sampled=True)):
        assert sorted(depths(found.parents)[1:]) == sorted(len(path) for path in shape(NODES, BRANCH, K))
        assert len(set(paths(found))) == NODES  # no two children are equal
    assert proposal(name, DRAWN, limit=1, sampled=True).parents == (ROOT,) * BRANCH


@pytest.mark.parametrize("name", FIXED)
def test_at_temperature_0_they_hold_the_likeliest_tokens(name):
    found = proposal(name, Sampling(), sampled=True)
    assert found.q is None
    chain = draft(name)
    chain.config = chain.config.model_copy(update={"nodes": 0})
    with torch.inference_mode():
        session = open_session(chain, features(20, ONE_PICTURE), 15)
        for path in {path[:-1] for path in paths(found)}:
            children = [other[-1] for other in paths(found) if other[:-1] == path]
            best = law_behind(chain, session, path).topk(len(children)).indices
            assert children == best.tolist()


@pytest.mark.parametrize("name", FIXED)
def test_q_is_the_law_without_the_older_siblings_renormalised(name):
    found = proposal(name, DRAWN, sampled=True)
    assert found.q.shape == (NODES, V)
    chain = draft(name)
    chain.config = chain.config.model_copy(update={"nodes": 0})
    with torch.inference_mode():
        session = open_session(chain, features(20, ONE_PICTURE), 15)
        taken: dict[tuple, list[int]] = {}
        for path, q in zip(paths(found), found.q, strict=True):
            law = distribution(law_behind(chain, session, path[:-1])[None], DRAWN)[0]
            law[taken.setdefault(path[:-1], [])] = 0
            torch.testing.assert_close(q, law / law.sum(), rtol=1e-4, atol=1e-6)
            assert q[path[-1]] > 0
            taken[path[:-1]].append(path[-1])


@pytest.mark.parametrize("name", FIXED)
def test_where_a_law_has_too_few_tokens_the_others_are_left_out(name):
    found = proposal(name, Sampling(temperature=1.0, top_k=1), sampled=True)
    assert found.parents == tuple(range(-1, K - 1))
    assert torch.equal(found.q.amax(-1), torch.ones(K))


def test_the_seed_alone_decides():
    one, other, third = (proposal("eagle-tree", DRAWN, seed) for seed in (1, 1, 2))
    assert torch.equal(one.tokens, other.tokens) and not torch.equal(one.tokens, third.tokens)
