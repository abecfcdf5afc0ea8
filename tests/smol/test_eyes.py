"""What the eyes tell of whole pictures is what the target's own tower tells, and windows are cut where they say."""

from random import Random

import pytest
import torch

from specflash.data.clip_scenes import draw_clip
from specflash.data.scenes import draw_scene
from specflash.smol.bodies import BODIES, medium_of, see_all
from specflash.smol.looks import ASPECTS, all_cells, label, windows
from specflash.smol.pretrain import PatchTeacher, all_names, grid_positions
from specflash.smol.tune import see

SCENES = [draw_scene(seed) for seed in range(2)]
CLIP = draw_clip(1)


@pytest.fixture(scope="module", params=sorted(BODIES))
def body(request):
    return BODIES[request.param]()


@torch.no_grad()
def test_what_is_told_of_whole_pictures_is_what_the_target_sees(body):
    drawn = [*SCENES, CLIP]
    seen, looks = see_all(body, drawn)
    _, told = body.eyes(seen, all_cells(len(looks), body.eyes.side))
    start = 0
    for each in drawn:
        _, prompt = see(body.target, [medium_of(each)])
        [(_, own)] = body.target.see_features(prompt)                                  # [N, D]
        rows = len(own) // body.eyes.side ** 2
        assert torch.allclose(told[start:start + rows].flatten(0, 1), own, atol=1e-4)
        start += rows
    assert start == len(looks)


def test_a_window_is_cut_where_its_cells_say(body):
    seen, looks = see_all(body, SCENES)
    everything = all_cells(len(looks), body.eyes.side)
    assert torch.equal(body.eyes.cut(seen, torch.arange(len(looks)), everything), seen)
    owner, corner = torch.tensor([1, 0]), torch.tensor([[0], [5]])
    square = corner + torch.tensor([0, 1, body.eyes.side, body.eyes.side + 1])         # [2, 4]
    whole, _ = body.eyes(seen, everything)
    part, told = body.eyes(body.eyes.cut(seen, owner, square), square)
    assert part.shape == (2, 4, whole.shape[-1]) and told.shape[:2] == (2, 4)


def test_one_step_of_teaching_moves_the_tower_towards_the_truth(body):
    torch.manual_seed(0)
    words = {name: torch.randn(body.target.width) for name in all_names()}
    teacher = PatchTeacher(body.eyes, words).requires_grad_(True)
    seen, looks = see_all(body, [SCENES[0], CLIP])
    labels = label(looks, body.eyes.side)
    owner, cells = windows(looks, body.eyes.side, body.window, Random(0))
    shown = body.eyes.cut(seen, owner, cells), labels.of(owner, cells), cells
    optimiser = torch.optim.AdamW(teacher.parameters(), lr=1e-3)
    losses = []
    for _ in range(4):
        loss, figures = teacher(*shown)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        losses.append(figures["loss"])
    assert losses[-1] < 0.8 * losses[0]
    told = set(ASPECTS) - ({"moment"} if body.deep == 1 else set())  # a single frame tells no moment
    assert set(figures) == {"loss", *told}


def test_neighbours_start_with_more_alike_positions_than_far_cells():
    positions = grid_positions(24, 192)[1:]
    near, far = positions[1], positions[-1]
    assert positions[0] @ near > positions[0] @ far
    assert grid_positions(24, 192)[0].abs().sum() == 0
