"""The embedded targets as they are trained: fresh models, how they see, and what is kept of them in the end.

A new one is one function and one line of BODIES.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from specflash.data.clip_scenes import FRAMES, RATE, ClipScene
from specflash.data.drawn import jpeg
from specflash.data.drawn_clips import mp4
from specflash.data.scenes import Scene
from specflash.data.video import choose_frames
from specflash.errors import UserError
from specflash.records import Clip, Medium
from specflash.smol import llava_smol, qwen_smol
from specflash.smol.eyes import Eyes, LlavaEyes, QwenEyes
from specflash.smol.looks import Look, look_at, look_at_slices
from specflash.smol.lora import LoraLinear, add_lora, lora_tensors
from specflash.smol.pretrain import grid_positions
from specflash.targets.family import Family
from specflash.targets.folder import Parts
from specflash.targets.llava import Llava
from specflash.targets.qwen2_5_vl import Qwen25Vl

SHOWN_FRAMES = 4
"""of a clip, in training"""
Drawn = Scene | ClipScene


@dataclass(frozen=True)
class Body:
    """A target under construction.

    eyes    what learns to see
    parts   name -> module that is kept whole in the committed file, as `name.…`
    window  edge in cells of a square that holds any one thing
    deep    frames of a clip that one slice holds
    """

    target: Family
    eyes: Eyes
    parts: dict[str, nn.Module]
    window: int
    deep: int

    def __post_init__(self) -> None:
        add_lora(self.language)

    @property
    def language(self) -> nn.Module:
        return self.target.model.model.language_model

    @property
    def deltas(self) -> list[LoraLinear]:
        return [module for module in self.language.modules() if isinstance(module, LoraLinear)]

    def tensors(self) -> dict[str, Tensor]:
        """All that is trained, by its names in the committed file."""
        found = {f"{name}.{key}": tensor for name, part in self.parts.items()
                 for key, tensor in part.state_dict().items() if tensor.is_floating_point()}
        return found | {f"lora.{name}": tensor for name, tensor in lora_tensors(self.language).items()}

    def fill(self, tensors: dict[str, Tensor]) -> None:
        """Copy in what `tensors` has of what is trained. Raises UserError where a shape differs."""
        own = self.tensors()
        for name in own.keys() & tensors.keys():
            if own[name].shape != tensors[name].shape:
                raise UserError(f"{name} is {tuple(tensors[name].shape)}, not {tuple(own[name].shape)}: "
                                "these weights are of another model")
            own[name].data.copy_(tensors[name])


def medium_of(drawn: Drawn) -> Medium:
    """As a data set holds it: JPEG, or four frames of an H.264 clip."""
    return jpeg(drawn) if isinstance(drawn, Scene) else Clip(mp4(drawn), SHOWN_FRAMES)


def looks_of(drawn: Drawn, deep: int) -> list[Look]:
    """One per row of `Eyes.split`."""
    if isinstance(drawn, Scene):
        return [look_at(drawn)]
    frames = choose_frames([number / RATE for number in range(FRAMES)], Clip(Path(), SHOWN_FRAMES))
    return look_at_slices(drawn, frames, deep)


def see_all(body: Body, drawn: Sequence[Drawn]) -> tuple[Tensor, list[Look]]:
    """What the eyes take of drawn scenes and clips, and what it shows."""
    seen = torch.cat([body.eyes.split(body.target.see([medium_of(each)]).pixels) for each in drawn])
    return seen, [look for each in drawn for look in looks_of(each, body.deep)]


def llava_body() -> Body:
    model = llava_smol.empty_model()
    positions = model.model.vision_tower.embeddings.position_embedding.weight
    eyes = LlavaEyes(model.model.vision_tower, model.model.multi_modal_projector)
    positions.data.copy_(grid_positions(eyes.side, positions.shape[1]))
    target = Llava("llava-smol", model, llava_smol.llava_processor(), "unfinished")
    return Body(target, eyes, {"tower": model.model.vision_tower, "projector": model.model.multi_modal_projector},
                window=9, deep=1)


def qwen_body() -> Body:
    model = qwen_smol.empty_model()
    eyes = QwenEyes(model.model.visual, qwen_smol.SIDE // qwen_smol.PATCH // qwen_smol.MERGE)
    target = Qwen25Vl("qwen2.5-vl-smol", model, Parts(*qwen_smol.qwen_processor()), "unfinished")
    return Body(target, eyes, {"tower": model.model.visual}, window=7, deep=qwen_smol.TOWER["temporal_patch_size"])


BODIES: dict[str, Callable[[], Body]] = {"llava-smol": llava_body, "qwen2.5-vl-smol": qwen_body}
