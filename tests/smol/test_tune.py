"""Branches about one picture are trained as if each stood alone."""

import pytest
import torch

from specflash.smol.tune import BranchMaker, branch_mask, caption_loss, pool
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
    branches = BranchMaker(Letters(), 3)(TALK, 4)
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
    maker = BranchMaker(Letters(), 3)
    pixels = target.processor.image_processor([_image()], return_tensors="pt")["pixel_values"]
    together, _ = caption_loss(target.model, pixels, maker(TALK, 4), 1)
    alone = [maker([conversation], 4) for conversation in TALK]
    weights = torch.tensor([float(branches.answer.sum()) for branches in alone])
    losses = torch.stack([caption_loss(target.model, pixels, branches, 1)[0] for branches in alone])
    assert torch.allclose(together, (losses * weights).sum() / weights.sum(), atol=1e-5)


def test_pooling_averages_squares_of_the_picture():
    grid = torch.arange(16.0)[:, None]
    assert pool(grid, 2).flatten().tolist() == [2.5, 4.5, 10.5, 12.5]
    assert torch.equal(pool(grid, 1), grid)


def _image():
    from specflash.data.media import load_picture

    return load_picture(picture())
