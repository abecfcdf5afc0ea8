"""How good the embedded target is, measured on pictures it was not trained on.

Captions are graded against the drawn truth (object and colour F1), and the entropy of the law is
taken along text sampled at temperature 1. The figures go into the card beside the weights.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import typer
from torch import Tensor

from flashbench.console import progress
from specflash.data.drawn import TEST_SEED
from specflash.data.grading import f1, grade
from specflash.data.scenes import Scene, draw_scene
from specflash.records import Prompt, Sample, Turn
from specflash.targets import load_target
from specflash.targets.llava import Llava

QUESTION = "Provide a detailed description of the given image."


@dataclass(frozen=True)
class Figures:
    """Scores in [0, 1], entropy in nats per token, length in tokens."""

    pictures: int
    f1_objects: float
    f1_colours: float
    place_right: float
    entropy: float
    tokens_per_answer: float


def held_out(count: int) -> list[Scene]:
    return [draw_scene(TEST_SEED + number) for number in range(count)]


def ask(target: Llava, scenes: list[Scene], temperature: float, limit: int) -> tuple[list[list[int]], list[float]]:
    """Answers of one batch, and the entropy of the law at each of their tokens.

    The prompts differ in the picture only, so they have one length and need no padding.
    """
    prompts = [_encode(target, scene) for scene in scenes]
    inputs = {"input_ids": torch.cat([prompt.ids for prompt in prompts]),
              "pixel_values": torch.cat([prompt.pixels["pixel_values"] for prompt in prompts])}
    sampled = {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": 1.0}
    made = target.model.generate(
        **inputs, max_new_tokens=limit, output_logits=True, return_dict_in_generate=True,
        **(sampled if temperature > 0 else {"do_sample": False}))
    answers = made.sequences[:, inputs["input_ids"].shape[1]:].tolist()
    laws = torch.stack(made.logits, 1).float().log_softmax(-1)                          # [B, T, V]
    entropies = -(laws.exp() * laws).sum(-1)                                           # [B, T]
    cut = [_until_end(answer, target.end_ids) for answer in answers]
    return cut, [float(value) for row, answer in zip(entropies, cut, strict=True)
                 for value in row[:len(answer)]]


def _encode(target: Llava, scene: Scene) -> Prompt:
    from io import BytesIO

    buffer = BytesIO()
    scene.picture().save(buffer, "JPEG", quality=90)
    return target.encode(Sample(str(scene.seed), (buffer.getvalue(),), (Turn(QUESTION),), "measure"))


def _until_end(answer: list[int], end_ids: frozenset[int]) -> list[int]:
    for position, token in enumerate(answer):
        if token in end_ids:
            return answer[:position + 1]
    return answer


def measure(target: Llava, pictures: int, batch: int, limit: int = 160) -> tuple[Figures, list[str]]:
    """Grade greedy answers, and take the entropy along sampled ones -> figures and the answers."""
    scenes = held_out(pictures)
    texts: list[str] = []
    lengths: list[int] = []
    entropies: list[float] = []
    with progress("captions of held-out pictures", pictures) as bar:
        for start in range(0, pictures, batch):
            part = scenes[start:start + batch]
            answers, _ = ask(target, part, 0.0, limit)
            texts += [target.decode(answer) for answer in answers]
            lengths += [len(answer) for answer in answers]
            if start < pictures // 4:  # entropy needs fewer pictures than the score
                torch.manual_seed(start)
                entropies += ask(target, part, 1.0, limit)[1]
            bar.advance(len(part))
    grades = [grade(text, scene) for text, scene in zip(texts, scenes, strict=True)]
    return Figures(pictures, f1(grades).objects, f1(grades).colours,
                   sum(one.place_right for one in grades) / pictures,
                   float(Tensor(entropies).mean()), sum(lengths) / pictures), texts


def run(
    pictures: Annotated[int, typer.Option(help="held-out pictures")] = 200,
    batch: Annotated[int, typer.Option(help="pictures in one pass")] = 20,
    output: Annotated[Path, typer.Option(help="where the figures go")] = Path("runs/build-target/figures.json"),
) -> None:
    """Measure `llava-smol` on held-out drawn scenes."""
    figures, texts = measure(load_target("llava-smol", dtype="float32"), pictures, batch)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"figures": figures.__dict__, "answers": texts}, indent=1))
    print(json.dumps(figures.__dict__, indent=1))


def main() -> None:
    typer.run(run)
