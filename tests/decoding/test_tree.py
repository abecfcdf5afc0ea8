"""Trees of drafted tokens: vanilla's text, and a cache that holds nothing but it."""

import random

import pytest
import torch

from specflash.decoding import Passes, generate
from specflash.errors import UserError
from specflash.records import Proposal
from specflash.sampling import Sampling
from specflash.trees import ROOT
from tests.decoding.scripted import (
    NEW,
    SAMPLES,
    check_account,
    greedy,
    unending,
    with_ends,
)
from tests.decoding.trees import Trees, a_tree


@pytest.mark.parametrize("nodes", [1, 2, 5, 9, 16])
def test_greedy_text_is_vanilla_s_wherever_it_ends(target, prompt, nodes):
    text = unending(target, prompt, NEW + 8)
    ended = text[: text.index(text[6]) + 1]
    kept = set()
    for seed in range(3):
        for ends, limit, expected in ((with_ends(target), NEW, text[:NEW]), (with_ends(target), 7, text[:7]),
                                      (with_ends(target, text[6]), NEW, ended)):
            done = generate(ends, Trees(text, nodes, seed), prompt, greedy(limit))
            assert done.ids == expected
            check_account(done, greedy(limit))
            kept |= set(done.kept)
    assert kept >= {0, 1} and (nodes < 5 or max(kept) > 1)


def test_the_draft_is_told_the_features_of_the_path_that_was_kept(target, prompt):
    """The true ones: those of a pass over the whole text without a cache."""
    text = unending(target, prompt)
    made = Trees(text, 7, seed=1)
    generate(with_ends(target), made, prompt, greedy())
    session = made.sessions[0]
    told = torch.cat(session.features)
    said = session.committed[: len(told) - prompt.length]
    embeds = torch.cat([target.embed_prompt(prompt), target.embed(torch.tensor([said]))], 1)
    whole = target.forward(embeds, None, target.positions(prompt, 0, embeds.shape[1]), None, keep=1)
    torch.testing.assert_close(told, whole.features[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [None, 11])
def test_the_cache_holds_what_a_fresh_prefill_of_the_committed_tokens_gives(target, prompt, width):
    text, luck = unending(target, prompt), random.Random(2)
    with torch.inference_mode():
        passes = Passes(target, prompt, NEW, width)
        embeds = target.embed_prompt(prompt)
        passes.prefill(embeds)
        said = 1
        while said < len(text) - 1:
            proposal = a_tree(text[said:], 8, 4, luck)
            passes.verify(torch.cat([torch.tensor(text[said - 1 : said]), proposal.tokens]), proposal.parents)
            path = right_path(proposal, text[said:])
            passes.keep([0, *(node + 1 for node in path)], 9)
            said += len(path) + 1
        fresh = Passes(target, prompt, NEW, width)
        fresh.prefill(torch.cat([embeds, target.embed(torch.tensor([text[: said - 1]]))], 1))
    ours, theirs = passes._cache, fresh._cache
    assert ours.position == theirs.position == prompt.length + said - 1
    for one, other in zip(ours.layers, theirs.layers, strict=True):
        for name in ("keys", "values"):
            held = slice(0, ours.position)
            torch.testing.assert_close(getattr(one, name)[:, :, held], getattr(other, name)[:, :, held],
                                       rtol=1e-4, atol=1e-5)


def right_path(proposal: Proposal, right: list[int]) -> list[int]:
    path, node = [], ROOT
    for token in right:
        following = [child for child, parent in enumerate(proposal.parents)
                     if parent == node and proposal.tokens[child] == token]
        if not following:
            break
        node = following[0]
        path.append(node)
    return path


def test_constant_width_gives_the_same_text(target, prompt):
    text = unending(target, prompt)
    assert generate(with_ends(target), Trees(text, 6, 0), prompt, greedy(), width=8).ids == text


def test_width_counts_all_nodes(target, pictured):
    from specflash.drafts.store import make_draft
    made = make_draft("eagle2", {"nodes": 9, "k": 3, "head_dim": 8}, target.width).attach(target.ends).eval()
    with pytest.raises(UserError, match=r"width must lie in \[10, 32\] for a draft of 9 tokens"):
        generate(target, made, pictured, greedy(), width=9)


def test_drawn_text_depends_on_its_seed_alone(target):
    prompt = target.encode(SAMPLES["picture"])
    text = unending(target, prompt)
    texts = [generate(target, Trees(text + [0] * 8, 5, 0), prompt, Sampling(1.0, seed=seed, max_new_tokens=NEW)).ids
             for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]
