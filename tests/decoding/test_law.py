"""Sampled texts follow the target's law, whatever drafts, and their own seed alone."""

import pytest
import torch

from specflash.decoding import generate
from specflash.drafts.store import make_draft
from specflash.records import Output, Prompt
from specflash.sampling import Sampling, distribution
from specflash.targets.base import Ends, Target
from tests.decoding.scripted import NEW, VANILLA, Scripted, oracle, unending


def test_same_seed_same_text(target, pictured):
    text = unending(target, pictured)
    for draft in (VANILLA, Scripted(3, oracle(text + [0] * 8))):
        texts = [generate(target, draft, pictured, Sampling(1.0, seed=seed, max_new_tokens=NEW)).ids
                 for seed in (1, 1, 2)]
        assert texts[0] == texts[1] != texts[2]


def test_global_random_state_is_neither_used_nor_moved(target, pictured):
    torch.manual_seed(3)
    state = torch.get_rng_state()
    generate(target, VANILLA, pictured, Sampling(1.0, max_new_tokens=4))
    assert torch.equal(torch.get_rng_state(), state)


class Markov(Target):
    """Three tokens; the law of the next depends on the last one only, so texts are enumerable."""

    name, fingerprint, end_ids, layers = "markov", "", frozenset(), 0
    device, dtype, width, vocabulary = torch.device("cpu"), torch.float32, 3, 3
    table = torch.tensor([[1.0, 0.2, -0.5], [-0.3, 0.8, 0.4], [0.5, -1.0, 0.9]])

    @classmethod
    def load(cls, weights, dtype, device):
        return cls()

    @property
    def ends(self):
        return Ends(torch.eye(3), self.table.T)

    def encode(self, sample):
        return Prompt(torch.tensor([[0, 2]]), {}, (), torch.zeros(1, 2, dtype=torch.bool))

    def embed_prompt(self, prompt):
        return self.embed(prompt.ids)

    def embed(self, ids):
        return torch.eye(3)[ids]

    def positions(self, prompt, start, rows):
        return torch.arange(start, start + rows)[None]

    def forward(self, embeds, cache, positions, mask, keep, inner=None):
        return Output(embeds, self.head(embeds[:, -keep:]))

    def head(self, features):
        return features @ self.table

    def decode(self, ids):
        return " ".join(map(str, ids))


Q = torch.tensor([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])


LAW_DRAFTS = {"vanilla": VANILLA, "ngram": make_draft("ngram", {"k": 2}, 3),
              "deterministic": Scripted(2, lambda committed: [1, 0]), "sampled": Scripted(2, lambda committed: [], q=Q)}


@pytest.mark.parametrize("name", LAW_DRAFTS)
def test_texts_follow_the_same_law_within_four_sigma(name):
    """All 27 texts of three tokens: counts of 1500 seeds against the exact law."""
    toy, draft, draws = Markov(), LAW_DRAFTS[name], 1500
    prompt = toy.encode(None)
    p = distribution(toy.table, Sampling(0.7, top_p=0.95))                      # [V, V]
    law = p[2][:, None, None] * p[:, :, None] * p[None]                         # [V, V, V]
    counts = torch.zeros(3, 3, 3)
    for seed in range(draws):
        sampling = Sampling(0.7, top_p=0.95, seed=seed, max_new_tokens=3)
        counts[tuple(generate(toy, draft, prompt, sampling).ids)] += 1
    assert ((counts / draws - law).abs() <= 4 * (law * (1 - law) / draws).sqrt()).all()
