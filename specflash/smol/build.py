"""How `llava-smol` is made: training stages, resumable, from seeded drawn scenes.

It knows no command line; `jobs/build_target.py` calls it. Scenes of its training are drawn from
seeds that `prepare` never uses (FIRST_SEED on), so every prepared picture is held out.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

import torch
import transformers
from safetensors.torch import save_file
from torch import Tensor, nn

from specflash.data.language import caption, conversation, detail, reasoning
from specflash.data.scenes import PLACES, Scene, draw_scene
from specflash.smol.llava_smol import empty_model, llava_processor
from specflash.smol.lora import LoraLinear, add_lora, lora_tensors
from specflash.smol.pretrain import ASPECTS, CELLS, PatchTeacher, all_cells, grid_positions, label, windows
from specflash.smol.tune import BranchMaker, Conversation, caption_loss, choose_cells

FIRST_SEED = 10_000_000
SHORT_QUESTIONS = ("Describe the image briefly.", "Write a short caption for this image.",
                   "What does the picture show?", "Give a one-line description of the picture.")
Report = Callable[[str, int, int, dict[str, float]], None]
"""called with (stage, step, steps, figures)"""


@dataclass(frozen=True)
class Recipe:
    """Steps and sizes. `tune` and `refine` list (visual tokens kept, steps), in order."""

    seed: int = 0
    window_steps: int = 600
    window_scenes: int = 12
    patch_steps: int = 1400
    patch_batch: int = 8
    patch_lr: float = 1e-3
    tune: tuple[tuple[int, int], ...] = ((96, 430), (240, 15), (576, 15))
    refine: tuple[tuple[int, int], ...] = ((96, 195), (240, 10), (576, 15))
    pictures_per_step: int = 2
    lora_lr: float = 1e-3
    refine_lora_lr: float = 6e-4
    vision_lr: float = 1e-4
    save_every: int = 10


def visual_tokens(parts: tuple[tuple[int, int], ...], step: int) -> int:
    """How many visual tokens `step` keeps, where `parts` lists (visual tokens kept, steps)."""
    for count, steps in parts:
        if step < steps:
            return count
        step -= steps
    return parts[-1][0]


def steps_of(parts: tuple[tuple[int, int], ...]) -> int:
    return sum(steps for _, steps in parts)


class Builder:
    """The model under construction, its optimiser and where it stands.

    folder  holds `state.pt`, from which a killed build goes on
    """

    def __init__(self, recipe: Recipe, folder: Path, report: Report):
        self.recipe, self.folder, self.report = recipe, folder, report
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(recipe.seed)
        self.processor = llava_processor()
        self.model = empty_model().requires_grad_(False)
        positions = self.model.model.vision_tower.embeddings.position_embedding.weight
        positions.copy_(grid_positions(positions.shape[1]))
        add_lora(self.model.model.language_model)
        self.teacher = PatchTeacher(self.model.model.vision_tower,
                                    self.model.model.multi_modal_projector, self._words())
        self.maker = BranchMaker(self.processor.tokenizer, self.processor.image_token_id, CELLS * CELLS)
        self.done = {"windows": 0, "patches": 0, "tune": 0, "refine": 0}
        self.optimiser: torch.optim.AdamW | None = None
        self.saved_optimiser: dict | None = None
        self._resume()

    def run(self) -> "transformers.LlavaForConditionalGeneration":
        self._stage("windows", self.recipe.window_steps, self._patch_groups(), self._window_step)
        self._stage("patches", self.recipe.patch_steps, self._patch_groups(), self._patch_step)
        recipe = self.recipe
        tuned = steps_of(recipe.tune)
        self._stage("tune", tuned, self._tune_groups(recipe.lora_lr),
                    lambda step: self._tune_step(step, visual_tokens(recipe.tune, step)))
        self._stage("refine", steps_of(recipe.refine), self._tune_groups(recipe.refine_lora_lr),
                    lambda step: self._tune_step(tuned + step, visual_tokens(recipe.refine, step)))
        return self.model

    def export(self, path: Path) -> None:
        """Tower, projector and deltas in bf16."""
        model = self.model.model
        tensors = {f"tower.{name}": tensor for name, tensor in model.vision_tower.state_dict().items()}
        tensors |= {f"projector.{name}": tensor
                    for name, tensor in model.multi_modal_projector.state_dict().items()}
        tensors |= {f"lora.{name}": tensor
                    for name, tensor in lora_tensors(model.language_model).items()}
        floats = {name: tensor.to(torch.bfloat16).contiguous() for name, tensor in tensors.items()
                  if tensor.is_floating_point()}
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file(floats, path)

    # -- one stage ------------------------------------------------------------------------------

    def _stage(self, name: str, steps: int, groups: list[dict], take: Callable) -> None:
        if self.done[name] >= steps:
            return
        for group in groups:
            for parameter in group["params"]:
                parameter.requires_grad_(True)
        self.optimiser = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=0.01)
        if self.saved_optimiser is not None:
            self.optimiser.load_state_dict(self.saved_optimiser)
            self.saved_optimiser = None
        peaks = [group["lr"] for group in groups]
        while self.done[name] < steps:
            step = self.done[name]
            for group, peak in zip(self.optimiser.param_groups, peaks, strict=True):
                group["lr"] = peak * _schedule(step, steps)
            figures = take(step)
            nn.utils.clip_grad_norm_([p for group in groups for p in group["params"]], 1.0)
            self.optimiser.step()
            self.optimiser.zero_grad()
            self.done[name] = step + 1
            self.report(name, step + 1, steps, figures)
            if (step + 1) % self.recipe.save_every == 0 or step + 1 == steps:
                self._save(finished=step + 1 == steps)

    def _patch_groups(self) -> list[dict]:
        return [{"params": list(self.teacher.parameters()), "lr": self.recipe.patch_lr}]

    def _tune_groups(self, lora_lr: float) -> list[dict]:
        model = self.model.model
        deltas = [p for module in model.language_model.modules() if isinstance(module, LoraLinear)
                  for p in (module.down, module.up)]
        vision = [*model.vision_tower.parameters(), *model.multi_modal_projector.parameters()]
        return [{"params": deltas, "lr": lora_lr},
                {"params": vision, "lr": self.recipe.vision_lr}]

    def _window_step(self, step: int) -> dict[str, float]:
        first = FIRST_SEED + step * self.recipe.window_scenes
        scenes = [draw_scene(seed) for seed in range(first, first + self.recipe.window_scenes)]
        loss, figures = self.teacher(*windows(scenes, self._pixels(scenes), label(scenes), Random(step)))
        loss.backward()
        return figures

    def _patch_step(self, step: int) -> dict[str, float]:
        first = 2 * FIRST_SEED + step * self.recipe.patch_batch
        scenes = [draw_scene(seed) for seed in range(first, first + self.recipe.patch_batch)]
        loss, figures = self.teacher(self._pixels(scenes), label(scenes), all_cells(len(scenes)))
        loss.backward()
        return figures

    def _tune_step(self, step: int, kept: int) -> dict[str, float]:
        count = self.recipe.pictures_per_step
        figures = {"loss": 0.0, "entropy": 0.0}
        for number in range(count):
            seed = 3 * FIRST_SEED + step * count + number
            scene, rng = draw_scene(seed), Random(f"tune {seed}")
            shown = label([scene]).aspects["kind"][0] > 0
            cells = choose_cells(shown, kept, rng)
            loss, entropy = caption_loss(self.model, self._pixels([scene]),
                                         self.maker(conversations(scene, rng), cells))
            (loss / count).backward()
            figures["loss"] += loss.item() / count
            figures["entropy"] += entropy.item() / count
        return figures

    # -- pieces ---------------------------------------------------------------------------------

    def _pixels(self, scenes: list[Scene]) -> Tensor:
        pictures = [scene.picture() for scene in scenes]
        return self.processor.image_processor(pictures, return_tensors="pt")["pixel_values"]

    def _words(self) -> dict[str, Tensor]:
        """The mean token embedding [D] of each word a patch may be named by."""
        table = self.model.get_input_embeddings().weight
        names = [*PLACES, *(name for names in ASPECTS.values() for name in names)]
        return {name: table[self.processor.tokenizer(f" {name}")["input_ids"]].mean(0).detach()
                for name in names}

    def _save(self, finished: bool) -> None:
        deltas = lora_tensors(self.model.model.language_model)
        state = {"recipe": asdict(self.recipe), "done": self.done, "teacher": self.teacher.state_dict(),
                 "lora": deltas, "optimiser": None if finished else self.optimiser.state_dict()}
        unfinished = self.folder / "state.pt.tmp"
        torch.save(state, unfinished)
        unfinished.replace(self.folder / "state.pt")

    def _resume(self) -> None:
        path = self.folder / "state.pt"
        if not path.is_file():
            return
        state = torch.load(path, weights_only=True)
        self.done |= state["done"]
        self.saved_optimiser = state["optimiser"]
        self.teacher.load_state_dict(state["teacher"])
        for name, module in self.model.model.language_model.named_modules():
            if isinstance(module, LoraLinear):
                module.down.data.copy_(state["lora"][f"{name}.down"])
                module.up.data.copy_(state["lora"][f"{name}.up"])


def conversations(scene: Scene, rng: Random) -> list[Conversation]:
    """What the last two stages teach to say about one scene."""
    longer = [reasoning(scene, rng)] if rng.random() < 0.5 else conversation(scene, rng)
    return [[detail(scene, rng)], longer, [(rng.choice(SHORT_QUESTIONS), caption(scene, rng))]]


def _schedule(step: int, steps: int) -> float:
    """Linear warm-up over the first twentieth, then linear decay to a twentieth of the peak."""
    warmup = max(1, steps // 20)
    return min((step + 1) / warmup, 1 - 0.95 * max(0, step - warmup) / (steps - warmup))
