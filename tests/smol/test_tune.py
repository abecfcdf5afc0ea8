"""Branches about one picture are trained as if each stood alone."""

from random import Random

import pytest
import torch

from specflash.smol.tune import NAMING_WEIGHT, BranchMaker, branch_mask, caption_loss, choose_cells
from tests.tiny import picture, tiny_target

TALK = [[("What?", "A dog.")], [("Who?", "Me."), ("Sure?", "Yes.")]]


@pytest.fixture(scope="module")
def target(tmp_path_factory):
    return tiny_target(tmp_path_factory.mktemp("llava"))


class Letters:
    """A tokenizer of one id per character, special tokens included (they are spelt out)."""

    def __call__(self, text, add_special_tokens=False):
        return {"input_ids": [4 + ord(letter) % 250 for letter in text]}


def test_branches_share_the_picture_and_start_at_the_same_position():
    maker = BranchMaker(Letters(), 3, 4)
    branches = maker(TALK, torch.arange(4))
    shared = (branches.branch == 0).sum().item()
    assert branches.ids[branches.visual].tolist() == [3] * 4
    for number in (1, 2):
        positions = branches.positions[branches.branch == number]
        assert positions.tolist() == list(range(shared, shared + len(positions)))


def test_a_row_sees_the_shared_past_and_its_own_branch_only():
    mask = branch_mask(torch.tensor([0, 0, 1, 1, 2]))[0, 0]
    assert mask.int().tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0],
                                   [1, 1, 1, 1, 0], [1, 1, 0, 0, 1]]


def test_the_loss_over_branches_is_that_of_each_branch_alone(target):
    maker = BranchMaker(Letters(), 3, 4)
    pixels = target.processor.image_processor([_image()], return_tensors="pt")["pixel_values"]
    together, _ = caption_loss(target.model, pixels, maker(TALK, torch.arange(4)))
    alone = [maker([conversation], torch.arange(4)) for conversation in TALK]
    weights = torch.tensor([float(branches.weight.sum()) for branches in alone])
    losses = torch.stack([caption_loss(target.model, pixels, branches)[0] for branches in alone])
    assert torch.allclose(together, (losses * weights).sum() / weights.sum(), atol=1e-5)


def test_kept_cells_stand_at_their_own_positions_and_the_text_where_it_always_does():
    maker = BranchMaker(Letters(), 3, 4)
    all_of_it, some = maker(TALK, torch.arange(4)), maker(TALK, torch.tensor([1, 3]))
    assert (some.positions[some.visual] - all_of_it.positions[all_of_it.visual][[1, 3]]).abs().max() == 0
    text = (all_of_it.branch > 0, some.branch > 0)
    assert torch.equal(all_of_it.positions[text[0]], some.positions[text[1]])


def test_cells_that_show_a_thing_are_kept_first():
    shown = torch.zeros(30, dtype=torch.bool)
    shown[[4, 20, 7]] = True
    kept = choose_cells(shown, 10, Random(0))
    assert len(kept) == 10 and {4, 7, 20} <= set(kept.tolist())
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert choose_cells(shown, 30, Random(1)).tolist() == list(range(30))
    assert choose_cells(shown, 10, Random(2)).tolist() != kept.tolist()


def test_only_answers_are_trained_and_naming_words_count_more():
    maker = BranchMaker(Letters(), 3, 4)
    maker.naming = {4 + ord("o")}
    branches = maker([[("Who?", "A dog.")]], torch.arange(4))
    trained = branches.weight.nonzero().flatten()
    assert branches.ids[trained].tolist() == Letters()("A dog.<|im_end|>")["input_ids"]
    assert branches.weight[trained].tolist() == [1, 1, 1, NAMING_WEIGHT, 1, 1, *[1] * 10]


def _image():
    from specflash.data.media import load_picture

    return load_picture(picture())
