"""LLaVA-1.6 (`LlavaNextForConditionalGeneration`), unpatched: a picture is seen as a whole and in tiles.

How many visual tokens it has depends on its shape: its tiles without what pads them, and a newline behind
each row. The model's own packing says how many, so nothing of it is written down here. A clip is shown as
its frames, each of them such a picture.
"""

from collections.abc import Sequence
from typing import ClassVar

import torch
from PIL import Image

from specflash.targets.folder import Kind
from specflash.targets.llava import Llava


class LlavaNext(Llava):
    kind: ClassVar[Kind] = Kind("LLaVA-1.6", "llava_next", "LlavaNextForConditionalGeneration")

    def sizes(self, pictures: Sequence[Image.Image]) -> list[int]:
        # Here, because it is the library's modelling code.
        from transformers.models.llava_next.modeling_llava_next import image_size_to_num_patches
        config, vision = self.model.config, self.model.config.vision_config
        patches, shapes = (vision.image_size // vision.patch_size) ** 2, [[p.height, p.width] for p in pictures]
        tiles = [image_size_to_num_patches(shape, config.image_grid_pinpoints, vision.image_size) for shape in shapes]
        _, lengths = self.model.model.pack_image_features(
            [torch.zeros(count, patches, 1) for count in tiles], torch.tensor(shapes),
            vision_feature_select_strategy=config.vision_feature_select_strategy, image_newline=torch.zeros(1))
        return lengths.tolist()
