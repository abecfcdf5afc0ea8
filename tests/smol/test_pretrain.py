"""Labels and windows of the tower's training agree with the scene they are of."""

from random import Random

import torch

from specflash.data.scenes import KINDS, draw_scene
from specflash.smol.pretrain import ACTION_NAMES, CELLS, WINDOW, all_cells, grid_positions, label, windows

SCENES = [draw_scene(seed) for seed in range(4)]


def test_labels_name_what_the_scene_holds():
    labels = label(SCENES)
    for index, scene in enumerate(SCENES):
        seen = {KINDS[number - 1] for number in labels.aspects["kind"][index].unique().tolist() if number}
        assert seen == {thing.kind for thing in scene.things}
        acts = {ACTION_NAMES[number - 1] for number in labels.aspects["action"][index].unique().tolist() if number}
        assert acts == {thing.action for thing in scene.things if thing.action in ACTION_NAMES}


def test_a_window_shows_the_patches_its_cells_name():
    pixels = torch.rand(len(SCENES), 3, CELLS * 14, CELLS * 14)
    labels = label(SCENES)
    cut, cut_labels, cells = windows(SCENES, pixels, labels, Random(0))
    owners = [index for index, scene in enumerate(SCENES) for _ in scene.things]
    assert cut.shape == (len(owners), 3, WINDOW * 14, WINDOW * 14)
    for number, owner in enumerate(owners):
        assert torch.equal(cut_labels.aspects["kind"][number], labels.aspects["kind"][owner][cells[number]])
        row, column = divmod(int(cells[number, 0]), CELLS)
        corner = pixels[owner, :, row * 14:row * 14 + 14, column * 14:column * 14 + 14]
        assert torch.equal(cut[number, :, :14, :14], corner)


def test_every_window_shows_a_thing():
    _, labels, _ = windows(SCENES, torch.rand(4, 3, 336, 336), label(SCENES), Random(1))
    assert (labels.aspects["kind"] > 0).any(1).all()


def test_whole_pictures_have_every_cell_once():
    assert torch.equal(all_cells(2), torch.arange(CELLS * CELLS).repeat(2, 1))


def test_neighbours_start_with_more_alike_positions_than_far_cells():
    positions = grid_positions(192)[1:]
    near, far = positions[1], positions[-1]
    assert positions[0] @ near > positions[0] @ far
    assert grid_positions(192)[0].abs().sum() == 0
