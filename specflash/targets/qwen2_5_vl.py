"""Qwen2.5-VL (`Qwen2_5_VLForConditionalGeneration`), unpatched: native resolution, clips, three positions.

A token has a temporal, a vertical and a horizontal position (M-RoPE). Visual tokens stand in a grid, so the
text behind them starts earlier than its index says; by how much differs per request.

    tokens      a   b  [v  v  v  v]  c   d        a picture of 2 × 2 visual tokens
    temporal    0   1   2  2  2  2   4   5
    vertical    0   1   2  2  3  3   4   5
    horizontal  0   1   2  3  2  3   4   5        behind the prompt: index + delta, delta = 5 + 1 - 8

A clip goes in as one video, two frames to a temporal slice; a slice is a span.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from specflash.data.media import load_picture
from specflash.data.video import Frames, read_clip
from specflash.records import Clip, Medium, Prompt
from specflash.targets.family import Family, Seen
from specflash.targets.folder import Kind, Parts
from specflash.targets.wording import Shown


class Qwen25Vl(Family):
    # Of its processor only these two parts are loaded: the whole needs torchvision, for its own decoding of videos.
    kind: ClassVar[Kind] = Kind("Qwen2.5-VL", "qwen2_5_vl", "Qwen2_5_VLForConditionalGeneration", Parts)

    @property
    def visual_ids(self) -> tuple[int, ...]:
        return self.model.config.image_token_id, self.model.config.video_token_id

    def see(self, media: Sequence[Medium]) -> Seen:
        seen = [self._see_clip(read_clip(each)) if isinstance(each, Clip) else self._see_picture(each)
                for each in media]
        pixels: dict[str, Tensor] = {}
        for own, _ in seen:
            for key, value in own.items():
                pixels[key] = torch.cat([pixels[key], value]) if key in pixels else value
        return Seen(pixels, [shown for _, shown in seen])

    def _see_picture(self, picture: Medium) -> tuple[dict[str, Tensor], Shown]:
        pixels = dict(self.processor.image_processor([load_picture(picture)], return_tensors="pt"))
        return pixels, self._shown("image", pixels["image_grid_thw"])

    def _see_clip(self, frames: Frames) -> tuple[dict[str, Tensor], Shown]:
        """Slices of frames, the last one repeated to fill them up."""
        processor = self.processor.image_processor
        seen = processor(list(frames.pictures), return_tensors="pt")
        deep = processor.temporal_patch_size
        patches = seen["pixel_values"].unflatten(1, (-1, deep, processor.patch_size ** 2))   # [F·P, C, T, p·p]
        # A picture's patches hold it `deep` times; a slice's hold a frame each time.
        single = patches[:, :, 0].unflatten(0, (len(frames.pictures), -1))              # [F, P, C, p·p]
        single = torch.cat([single, single[-1:].repeat(-len(single) % deep, 1, 1, 1)])
        slices = single.unflatten(0, (-1, deep)).movedim(1, 3)                          # [F/T, P, C, T, p·p]
        grid = torch.cat([torch.tensor([[len(slices)]]), seen["image_grid_thw"][:1, 1:]], 1)
        pixels = {"pixel_values_videos": slices.flatten(0, 1).flatten(1), "video_grid_thw": grid,
                  "second_per_grid_ts": torch.tensor([deep * _step(frames.seconds)])}
        return pixels, self._shown("video", grid)

    def _shown(self, kind: str, grid: Tensor) -> Shown:
        slices, height, width = grid[0].tolist()
        size = height * width // self.processor.image_processor.merge_size ** 2
        token = self.tokenizer.convert_ids_to_tokens(self.visual_ids[kind == "video"])
        return Shown(kind, token, (size,) * slices)

    def encode(self, sample) -> Prompt:
        prompt = super().encode(sample)
        if prompt.pixels:  # `generate` of transformers wants to be told which tokens are which
            prompt.pixels["mm_token_type_ids"] = self._kinds(prompt.ids)
        return prompt

    def _kinds(self, ids: Tensor) -> Tensor:
        """0 at text, 1 at pictures, 2 at clips. [1, L] -> [1, L]"""
        image, video = self.visual_ids
        return (ids == image).int() + 2 * (ids == video).int()

    def place(self, ids: Tensor, pixels: dict[str, Tensor]) -> Tensor:
        """[3, 1, L]"""
        if not pixels:
            return torch.arange(ids.shape[1], device=ids.device).expand(3, 1, -1)
        about = ("image_grid_thw", "video_grid_thw", "second_per_grid_ts")
        placed, _ = self.model.model.get_rope_index(ids, self._kinds(ids), **{key: pixels.get(key) for key in about})
        return placed

    def positions(self, prompt: Prompt, start: int, rows: int) -> Tensor:
        """[3, 1, R]"""
        known = prompt.positions                                                       # [3, 1, L]
        within = known[..., start : start + rows]
        first = max(start, prompt.length)
        delta = known.max() + 1 - prompt.length
        behind = torch.arange(first, start + rows, device=self.device) + delta if start + rows > first else None
        return within if behind is None else torch.cat([within, behind.expand(3, 1, -1)], -1)

    def see_features(self, prompt: Prompt) -> list[tuple[int, Tensor]]:
        pixels, (image, video) = prompt.pixels, self.visual_ids
        seen = []
        if "pixel_values" in pixels:
            got = self.model.model.get_image_features(pixels["pixel_values"], pixels["image_grid_thw"])
            seen.append((image, torch.cat(list(got.pooler_output))))
        if "pixel_values_videos" in pixels:
            got = self.model.model.get_video_features(pixels["pixel_values_videos"], pixels["video_grid_thw"])
            seen.append((video, torch.cat(list(got.pooler_output))))
        return seen


def _step(seconds: Sequence[float]) -> float:
    """Seconds from one frame to the next; 1 where there is only one."""
    return (seconds[-1] - seconds[0]) / (len(seconds) - 1) if len(seconds) > 1 else 1.0
