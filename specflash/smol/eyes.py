"""How the two embedded targets' towers are shown pictures while they learn: whole ones, or windows of them.

`seen` is what a tower takes of pictures, split so that windows can be cut out of it; cells are the places of
visual tokens, row by row.
"""

from abc import abstractmethod

import torch
from torch import Tensor, nn
from transformers.vision_utils import get_vision_window_index


class Eyes(nn.Module):
    """A tower and what brings its features to the language model's width.

    side   visual tokens along an edge of a picture
    width  of the features that labels are told from
    """

    side: int
    width: int

    @abstractmethod
    def split(self, pixels: dict[str, Tensor]) -> Tensor:
        """`Prompt.pixels` -> seen [B, …], one row per picture or slice of a clip."""

    @abstractmethod
    def cut(self, seen: Tensor, owner: Tensor, cells: Tensor) -> Tensor:
        """The windows `cells` [W, p] (squares, row by row) of the pictures `owner` [W]."""

    @abstractmethod
    def forward(self, seen: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        """Features of the cells [B, P, width], and what the language model gets [B, P, D]."""


class LlavaEyes(Eyes):
    """seen: [B, 3, S, S] pixels. A CLIP tower tells cells apart by positions of their own."""

    def __init__(self, tower: nn.Module, projector: nn.Module):
        super().__init__()
        self.tower, self.projector = tower, projector
        self.patch = tower.config.patch_size
        self.side, self.width = tower.config.image_size // self.patch, tower.config.hidden_size

    def split(self, pixels: dict[str, Tensor]) -> Tensor:
        return pixels["pixel_values"]

    def cut(self, seen: Tensor, owner: Tensor, cells: Tensor) -> Tensor:
        edge = round(cells.shape[1] ** 0.5) * self.patch
        corners = [(first // self.side * self.patch, first % self.side * self.patch) for first in cells[:, 0].tolist()]
        return torch.stack([seen[index, :, top:top + edge, left:left + edge]
                            for index, (top, left) in zip(owner.tolist(), corners, strict=True)])

    def forward(self, seen: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        embeddings = self.tower.embeddings
        patches = embeddings.patch_embedding(seen).flatten(2).transpose(1, 2)          # [B, P, W]
        whole = embeddings.class_embedding.expand(len(seen), 1, -1)
        at = torch.cat([torch.zeros_like(cells[:, :1]), 1 + cells], 1)                 # [B, 1 + P]
        x = torch.cat([whole, patches], 1) + embeddings.position_embedding(at)
        features = self.tower.encoder(inputs_embeds=self.tower.pre_layrnorm(x)).last_hidden_state[:, 1:]
        return features, self.projector(features)


class QwenEyes(Eyes):
    """seen: [B, P, M, F], of every cell the M patches it merges, F numbers each. Positions are relative (rotary)."""

    def __init__(self, visual: nn.Module, side: int):
        super().__init__()
        self.visual, self.side = visual, side
        self.merged = visual.spatial_merge_unit
        self.width = visual.config.hidden_size * self.merged

    def split(self, pixels: dict[str, Tensor]) -> Tensor:
        values = pixels["pixel_values"] if "pixel_values" in pixels else pixels["pixel_values_videos"]
        return values.unflatten(0, (-1, self.side ** 2, self.merged))

    def cut(self, seen: Tensor, owner: Tensor, cells: Tensor) -> Tensor:
        return seen[owner[:, None], cells]

    def forward(self, seen: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        count, size = cells.shape
        visual, edge = self.visual, round(size ** 0.5) * self.visual.spatial_merge_size
        grid = torch.tensor([[1, edge, edge]]).expand(count, -1)
        out = visual(seen.flatten(0, 2), grid)
        # Blocks work window by window; the merger's input is put back in order, as its output is.
        order, _ = get_vision_window_index(grid, spatial_merge_size=visual.spatial_merge_size,
                                           window_size=visual.window_size, patch_size=visual.patch_size)
        merged = visual.merger.ln_q(out.last_hidden_state).unflatten(0, (-1, self.merged)).flatten(1)
        features = merged[torch.argsort(order)]                                        # [B·P, M·W]
        return features.unflatten(0, (count, size)), out.pooler_output.unflatten(0, (count, size))
