"""LLaVA-1.5 and everything else of the class `LlavaForConditionalGeneration`, unpatched.

Every picture has the same number of visual tokens. A clip is shown as its frames, one picture each.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from PIL import Image
from torch import Tensor

from specflash.data.video import load_frames
from specflash.records import Medium, Prompt
from specflash.targets.family import Family, Seen
from specflash.targets.folder import Kind
from specflash.targets.wording import Shown


class Llava(Family):
    kind: ClassVar[Kind] = Kind("LLaVA", "llava", "LlavaForConditionalGeneration")

    @property
    def visual_ids(self) -> tuple[int, ...]:
        return (self.processor.image_token_id,)

    def see(self, media: Sequence[Medium]) -> Seen:
        pictures = [frame for medium in media for frame in load_frames(medium)]
        if not pictures:
            return Seen({}, [])
        pixels = dict(self.processor.image_processor(pictures, return_tensors="pt"))
        token = self.processor.image_token
        return Seen(pixels, [Shown("image", token, (size,)) for size in self.sizes(pictures)])

    def sizes(self, pictures: Sequence[Image.Image]) -> list[int]:
        """N of each picture: one token per patch, and the class token where it is kept."""
        config = self.model.config
        patches = (config.vision_config.image_size // config.vision_config.patch_size) ** 2
        return [patches + (config.vision_feature_select_strategy == "full")] * len(pictures)

    def see_features(self, prompt: Prompt) -> list[tuple[int, Tensor]]:
        config = self.model.config
        seen = self.model.get_image_features(
            **prompt.pixels, vision_feature_layer=config.vision_feature_layer,
            vision_feature_select_strategy=config.vision_feature_select_strategy).pooler_output
        return [(self.processor.image_token_id, torch.cat(list(seen)))]                # [n·N, D]
