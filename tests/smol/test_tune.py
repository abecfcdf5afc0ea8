"""Branches about one picture are trained as if each stood alone."""

import pytest
import torch

from specflash.data.drawn import jpeg
from specflash.data.scenes import draw_scene
from specflash.records import Sample, Turn
from specflash.smol.bodies import BODIES
from specflash.smol.tune import NAMING_WEIGHT, BranchMaker, Opening, branch_mask, caption_loss, see
from tests.families import tiny_of
from tests.tiny import picture

TALK = [[("What?", "A dog.")], [("Who?", "Me."), ("Sure?", "Yes.")]]


class Letters:
    """A tokenizer of one id per character, special tokens included (they are spelt out)."""

    def __call__(self, text, add_special_tokens=False):
        return {"input_ids": [4 + ord(letter) % 250 for letter in text]}


@pytest.fixture
def maker():
    return BranchMaker(Letters())


def opening(visual=4):
    """Of a picture of 2 × 2 visual tokens, the text behind it two positions later."""
    ids = torch.tensor([5, *[3] * visual, 6])
    return Opening(ids, torch.arange(len(ids))[None], ids == 3)


def test_branches_share_the_picture_and_start_at_the_same_position(maker):
    branches = maker(opening(), TALK, torch.arange(4))
    shared = (branches.branch == 0).sum().item()
    assert branches.ids[branches.visual].tolist() == [3] * 4
    for number in (1, 2):
        positions = branches.positions[:, branches.branch == number]
        assert positions.tolist() == [list(range(shared, shared + positions.shape[1]))]


def test_text_starts_one_behind_the_largest_position_of_the_opening(maker):
    flat = opening()
    spread = Opening(flat.ids, torch.tensor([[0, 1, 1, 1, 1, 3], [0, 1, 1, 2, 2, 3], [0, 1, 2, 1, 2, 3]]), flat.visual)
    branches = maker(spread, TALK[:1], torch.tensor([1, 3]))
    assert branches.positions[:, :4].tolist() == [[0, 1, 1, 3], [0, 1, 2, 3], [0, 2, 2, 3]]
    assert branches.positions[:, 4].tolist() == [4, 4, 4]


def test_a_row_sees_the_shared_past_and_its_own_branch_only():
    mask = branch_mask(torch.tensor([0, 0, 1, 1, 2]))[0, 0]
    assert mask.int().tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0],
                                   [1, 1, 1, 1, 0], [1, 1, 0, 0, 1]]


@pytest.mark.parametrize("family", ["llava-1.5", "qwen2.5-vl"])
def test_the_loss_over_branches_is_that_of_each_branch_alone(family, tmp_path, maker):
    target = tiny_of(family, tmp_path)
    start, prompt = see(target, [picture()])
    [(_, told)] = target.see_features(prompt)
    everything = torch.arange(int(start.visual.sum()))
    together, _ = caption_loss(target, told, maker(start, TALK, everything))
    alone = [maker(start, [conversation], everything) for conversation in TALK]
    weights = torch.tensor([float(branches.weight.sum()) for branches in alone])
    losses = torch.stack([caption_loss(target, told, branches)[0] for branches in alone])
    assert torch.allclose(together, (losses * weights).sum() / weights.sum(), atol=1e-5)


@pytest.mark.parametrize("name", sorted(BODIES))
def test_a_branch_is_what_the_target_itself_writes(name):
    body = BODIES[name]()
    media, (question, answer) = (jpeg(draw_scene(1)),), ("Describe the image.", "A red dog runs.")
    whole = body.target.encode(Sample("", media, (Turn(question, answer),), "t"))
    start, _ = see(body.target, media)
    branches = BranchMaker(body.target.tokenizer)(start, [[(question, answer)]], torch.arange(int(start.visual.sum())))
    length = len(branches.ids)
    assert torch.equal(branches.ids, whole.ids[0, :length])
    assert torch.equal(branches.weight > 0, whole.answer_mask[0, :length])
    own = torch.arange(length)[None] if whole.positions is None else whole.positions[:, 0, :length]
    assert torch.equal(branches.positions, own)


def test_kept_cells_stand_at_their_own_positions_and_the_text_where_it_always_does(maker):
    all_of_it, some = (maker(opening(), TALK, kept) for kept in (torch.arange(4), torch.tensor([1, 3])))
    assert torch.equal(some.positions[:, some.visual], all_of_it.positions[:, all_of_it.visual][:, [1, 3]])
    assert torch.equal(all_of_it.positions[:, all_of_it.branch > 0], some.positions[:, some.branch > 0])


def test_only_answers_are_trained_and_naming_words_count_more(maker):
    maker.naming = {4 + ord("o")}
    branches = maker(opening(), [[("Who?", "A dog.")]], torch.arange(4))
    trained = branches.weight.nonzero().flatten()
    assert branches.ids[trained].tolist() == Letters()("A dog.<|im_end|>")["input_ids"]
    assert branches.weight[trained].tolist() == [1, 1, 1, NAMING_WEIGHT, 1, 1, *[1] * 10]
