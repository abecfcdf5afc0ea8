"""How the embedded targets are made: training stages, resumable, from seeded drawn scenes and clips.

It knows no command line; `jobs/build_target.py` calls it. Scenes and clips of its training are drawn from
seeds that `prepare` never uses (FIRST_SEED on), so every prepared one is held out.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from specflash.catalogue import pick
from specflash.data.clip_language import clip_caption
from specflash.data.clip_scenes import ClipScene, draw_clip
from specflash.data.kinetics import QUESTION
from specflash.data.language import caption, conversation, detail, reasoning
from specflash.data.scenes import Scene, draw_scene
from specflash.smol.bodies import Body, Drawn, looks_of, medium_of, see_all
from specflash.smol.looks import all_cells, choose_cells, label, windows
from specflash.smol.pretrain import PatchTeacher, all_names
from specflash.smol.tune import BranchMaker, Conversation, caption_loss, see

FIRST_SEED = 10_000_000
SHORT_QUESTIONS = ("Describe the image briefly.", "Write a short caption for this image.",
                   "What does the picture show?", "Give a one-line description of the picture.")
CLIP_QUESTIONS = (QUESTION, QUESTION, "Describe the video.", "What happens in the clip?",
                  "What moves in this video, and how?")
SHOWN = ("caption", "entropy", "kind")
"""of a step of these stages"""
Report = Callable[[str, int, int, dict[str, float]], None]
"""called with (stage, step, steps, figures)"""


@dataclass(frozen=True)
class Recipe:
    """Steps and sizes; scenes and clips are per step.

    tune, refine, clips  (visual tokens kept of a picture or slice, steps), in order; `clips` is for a target that
                         knows pictures; `clips_mix` are its scenes and clips
    seeing               weight of what the tower tells of every cell, beside what is said, in these three stages
    """

    seed: int = 0
    window_steps: int = 600
    window_scenes: int = 12
    window_clips: int = 0
    patch_steps: int = 1400
    patch_scenes: int = 8
    patch_clips: int = 0
    patch_lr: float = 1e-3
    tune: tuple[tuple[int, int], ...] = ((96, 430), (240, 15), (576, 15))
    refine: tuple[tuple[int, int], ...] = ((96, 195), (240, 10), (576, 15))
    clips: tuple[tuple[int, int], ...] = ()
    clips_mix: tuple[int, int] = (1, 1)
    tune_scenes: int = 2
    tune_clips: int = 0
    lora_lr: float = 1e-3
    refine_lora_lr: float = 6e-4
    vision_lr: float = 1e-4
    seeing: float = 0.2
    save_every: int = 10


RECIPES = {
    "llava-smol": Recipe(clips=((48, 300), (576, 12), (144, 60), (576, 22)), seeing=0.0),
    "qwen2.5-vl-smol": Recipe(
        window_steps=1000, window_scenes=4, window_clips=6, patch_steps=1000, patch_scenes=4, patch_clips=3,
        tune_scenes=1, tune_clips=1, tune=((80, 300), (324, 15)), refine=((80, 330), (324, 15)),
        clips=((80, 125), (324, 5)), clips_mix=(1, 3)),
}


STEPS = {"windows": "window_steps", "patches": "patch_steps", "tune": "tune", "refine": "refine", "clips": "clips"}
"""stage -> the field of the recipe that says how long it is"""


def only(recipe: Recipe, stages: str) -> Recipe:
    """The recipe without the stages that `stages` does not name; "" names all. Raises UserError for an unknown one."""
    named = [name.strip() for name in stages.split(",") if name.strip()] or list(STEPS)
    for name in named:
        pick(STEPS, name, "stage")
    none = {"windows": 0, "patches": 0, "tune": (), "refine": (), "clips": ()}
    return replace(recipe, **{STEPS[name]: none[name] for name in STEPS if name not in named})


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

    make    a fresh body (BODIES)
    folder  holds `state.pt`, from which a killed build goes on
    start   committed tensors to begin from, of this target or of one with the same language model
    """

    def __init__(self, recipe: Recipe, make: Callable[[], Body], folder: Path, report: Report,
                 start: Path | None = None):
        self.recipe, self.folder, self.report = recipe, folder, report
        folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(recipe.seed)
        self.body = make()
        self.teacher = PatchTeacher(self.body.eyes, self._words())
        self.maker = BranchMaker(self.body.target.tokenizer)
        self.done = dict.fromkeys(STEPS, 0)
        self.optimiser: torch.optim.AdamW | None = None
        self.saved_optimiser: dict | None = None
        if start:
            self.body.fill(load_file(start))
        self._resume()

    def run(self) -> None:
        recipe = self.recipe
        self._stage("windows", recipe.window_steps, self._patch_groups(), self._window_step)
        self._stage("patches", recipe.patch_steps, self._patch_groups(), self._patch_step)
        tuned = steps_of(recipe.tune)
        scenes, clips = recipe.tune_scenes, recipe.tune_clips
        self._stage("tune", tuned, self._tune_groups(recipe.lora_lr), lambda step: self._tune_step(
            draw(3 * FIRST_SEED, step, scenes, clips), visual_tokens(recipe.tune, step)))
        self._stage("refine", steps_of(recipe.refine), self._tune_groups(recipe.refine_lora_lr), lambda step:
                    self._tune_step(draw(3 * FIRST_SEED, tuned + step, scenes, clips),
                                    visual_tokens(recipe.refine, step)))
        self._stage("clips", steps_of(recipe.clips), self._tune_groups(recipe.refine_lora_lr), lambda step:
                    self._tune_step(draw(4 * FIRST_SEED, step, *recipe.clips_mix), visual_tokens(recipe.clips, step)))

    def export(self, path: Path) -> None:
        """All that was trained, in bf16."""
        path.parent.mkdir(parents=True, exist_ok=True)
        save_file({name: tensor.to(torch.bfloat16).contiguous() for name, tensor in self.body.tensors().items()}, path)

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
        deltas = [p for module in self.body.deltas for p in (module.down, module.up)]
        return [{"params": deltas, "lr": lora_lr},
                {"params": list(self.teacher.parameters()), "lr": self.recipe.vision_lr}]

    def _window_step(self, step: int) -> dict[str, float]:
        recipe, eyes = self.recipe, self.body.eyes
        seen, looks = see_all(self.body, draw(FIRST_SEED, step, recipe.window_scenes, recipe.window_clips))
        owner, cells = windows(looks, eyes.side, self.body.window, Random(step))
        return self._teach(eyes.cut(seen, owner, cells), label(looks, eyes.side).of(owner, cells), cells)

    def _patch_step(self, step: int) -> dict[str, float]:
        recipe, side = self.recipe, self.body.eyes.side
        seen, looks = see_all(self.body, draw(2 * FIRST_SEED, step, recipe.patch_scenes, recipe.patch_clips))
        return self._teach(seen, label(looks, side), all_cells(len(looks), side))

    def _teach(self, *shown) -> dict[str, float]:
        loss, figures = self.teacher(*shown)
        loss.backward()
        return figures

    def _tune_step(self, drawn: list[Drawn], kept: int) -> dict[str, float]:
        figures: dict[str, float] = {}
        for each in drawn:
            loss, found = self._tell(each, kept)
            (loss / len(drawn)).backward()
            kind = "picture" if isinstance(each, Scene) else "clip"
            told = SHOWN if kind == "picture" else (*SHOWN, "motion")
            figures |= {f"{kind} {name}": found[name] for name in told if name in found}
        return figures

    def _tell(self, drawn: Drawn, kept: int) -> tuple[Tensor, dict[str, float]]:
        """What is said costs, and what the tower tells besides: else it forgets what words seldom ask for."""
        rng, eyes = Random(f"tune {drawn.seed}"), self.body.eyes
        looks = looks_of(drawn, self.body.deep)
        labels = label(looks, eyes.side)
        opening, prompt = see(self.body.target, [medium_of(drawn)])
        features, told = eyes(eyes.split(prompt.pixels), all_cells(len(looks), eyes.side))
        cells = choose_cells(labels.thing.flatten(), kept * len(looks), rng)
        branches = self.maker(opening, conversations(drawn, rng), cells)
        loss, entropy = caption_loss(self.body.target, told.flatten(0, 1), branches)
        seeing, figures = self.teacher.judge(features, told, labels)
        figures = {"caption": loss.item(), "entropy": entropy.item(), **figures}
        return loss + self.recipe.seeing * seeing, figures

    # -- pieces ---------------------------------------------------------------------------------

    def _words(self) -> dict[str, Tensor]:
        """The mean token embedding [D] of each word a cell may be named by."""
        target = self.body.target
        table = target.ends.embedding
        return {name: table[target.tokenizer(f" {name}")["input_ids"]].mean(0).detach() for name in all_names()}

    def _save(self, finished: bool) -> None:
        state = {"recipe": asdict(self.recipe), "done": self.done, "teacher": self.teacher.state_dict(),
                 "tensors": self.body.tensors(), "optimiser": None if finished else self.optimiser.state_dict()}
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
        self.body.fill(state["tensors"])


def draw(first: int, step: int, scenes: int, clips: int) -> list[Drawn]:
    """The scenes and clips of one step; no two steps share any."""
    return [*(draw_scene(first + step * scenes + number) for number in range(scenes)),
            *(draw_clip(first + step * clips + number) for number in range(clips))]


def conversations(drawn: Drawn, rng: Random) -> list[Conversation]:
    """What the last two stages teach to say about one scene or clip."""
    if isinstance(drawn, ClipScene):
        return [[(question, clip_caption(drawn, rng))] for question in rng.sample(CLIP_QUESTIONS, 2)]
    longer = [reasoning(drawn, rng)] if rng.random() < 0.5 else conversation(drawn, rng)
    return [[detail(drawn, rng)], longer, [(rng.choice(SHORT_QUESTIONS), caption(drawn, rng))]]


def _schedule(step: int, steps: int) -> float:
    """Linear warm-up over the first twentieth, then linear decay to a twentieth of the peak."""
    warmup = max(1, steps // 20)
    return min((step + 1) / warmup, 1 - 0.95 * max(0, step - warmup) / max(1, steps - warmup))
