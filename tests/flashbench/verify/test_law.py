"""The enumerated law: every draft and mode of the catalogue says what the target says, exactly."""

import pytest
import torch

from flashbench.verify.law import CUTS, EXACT, TOKENS, EveryChance, check_laws, own_law, spoken_law
from flashbench.verify.tiny import END, MODES, TinyTarget, modes_of, tiny_draft
from specflash.decoding import Decoding
from specflash.drafts import DRAFTS
from specflash.drafts.vanilla import Vanilla
from specflash.sampling import Sampling

TEMPERATURES = (0.7,)


@pytest.mark.parametrize("name", DRAFTS)
def test_every_draft_in_every_mode_follows_the_target_exactly(name):
    laws = check_laws(name, TEMPERATURES)
    assert len(laws) == len(modes_of(name)) * len(TEMPERATURES) * len(CUTS)
    assert max(law.distance for law in laws) <= EXACT


def test_the_laws_are_worth_comparing():
    """Several texts are likely, drafts with weights are kept now and then, and an end token cuts some."""
    target = TinyTarget()
    law = own_law(target, target.encode(), Sampling(1.0), 0)
    assert law.sum() == pytest.approx(1)
    assert (law > 0.01).sum() > 8
    assert law[END].sum() == law[END, END, END] > 0.01
    for name in DRAFTS:
        for mode in modes_of(name)[:1]:
            said = spoken_law(target, tiny_draft(name, mode, target), target.encode(), Sampling(max_new_tokens=4), 0)
            assert said.max() == 1


def test_every_path_is_taken_once_with_its_probability():
    chance, law = EveryChance(first=2), torch.tensor([[0.5, 0.0, 0.5]])
    seen = []
    for _ in chance.paths():
        first = int(chance.draw(torch.tensor([[1.0, 1.0, 8.0]])))
        kept = int(chance.streak(torch.tensor([0.25, 1.0, 0.5])))
        seen.append((first, kept, int(chance.draw(law)) if kept > 2 else None, chance.weight))
    assert sorted(seen, key=str) == [(2, 0, None, 0.75), (2, 2, None, 0.125), (2, 3, 0, 0.0625), (2, 3, 2, 0.0625)]


def test_a_probability_that_is_no_number_never_comes_true():
    chance = EveryChance()
    for _ in chance.paths():
        assert chance.streak(torch.tensor([float("nan")])) == 0


def test_rounds_of_every_length_are_among_the_paths():
    """Nothing kept, one kept, both kept and the bonus token."""
    target, lengths, chance = TinyTarget(), set(), EveryChance(0)
    draft = tiny_draft("medusa", "drawn", target)
    for _ in chance.paths():
        decoding = Decoding(target, draft, target.encode(), Sampling(1.0, max_new_tokens=TOKENS + 1), chance=chance)
        lengths |= {len(tokens) for tokens in decoding}
    assert lengths == {1, 2, 3}


def test_at_temperature_0_there_is_one_path():
    target = TinyTarget()
    vanilla = Vanilla(Vanilla.Config(width=target.width))
    law = spoken_law(target, vanilla, target.encode(), Sampling(max_new_tokens=TOKENS + 1), 0)
    assert law.max() == 1
    assert {mode for name in DRAFTS for mode in modes_of(name)} == set(MODES)
