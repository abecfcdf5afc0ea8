"""How good the embedded target is, measured on pictures it was not trained on.

Captions are graded against the drawn truth (object and colour F1), and the entropy of the law is
taken along text sampled at temperature 1. The figures go into the card beside the weights.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, takewhile
from pathlib import Path
from typing import Annotated

import torch
import typer

from flashbench.console import progress
from flashbench.fingerprint import digest
from flashbench.journal import Journal, Record
from specflash.answering import answer_together
from specflash.data.drawn import TEST_SEED, jpeg
from specflash.data.grading import f1, grade
from specflash.data.scenes import Scene, draw_scene
from specflash.decoding import generate
from specflash.drafts.vanilla import Vanilla
from specflash.records import Prompt, Sample, Turn
from specflash.sampling import Sampling
from specflash.targets import load_target
from specflash.targets.base import Target

BATCH = 8
MAX_LENGTH = 2048
ENTROPY_EVERY = 10
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


def question(scene: Scene) -> Sample:
    return Sample(str(scene.seed), (jpeg(scene),), (Turn(QUESTION),), "measure")


def greedy_answers(target: Target, scenes: Sequence[Scene], limit: int) -> list[list[int]]:
    """Greedy answers up to and without the end token."""
    answered = answer_together(target, [question(scene) for scene in scenes], limit, MAX_LENGTH)
    answers = [features.ids[features.answer_mask].tolist() for features in answered]
    return [list(takewhile(lambda token: token not in target.end_ids, answer)) for answer in answers]


def sampled_answer(target: Target, prompt: Prompt, seed: int, limit: int) -> list[int]:
    draft = Vanilla(Vanilla.Config(width=target.width))
    return generate(target, draft, prompt, Sampling(temperature=1.0, seed=seed, max_new_tokens=limit)).ids


@torch.inference_mode()
def entropies(target: Target, prompt: Prompt, answer: list[int]) -> list[float]:
    """Entropy in nats of the law at temperature 1 that each token of the answer was drawn from."""
    ids = torch.tensor([answer], device=target.device)
    embeds = torch.cat([target.embed_prompt(prompt), target.embed(ids)], 1)            # [1, L + n, D]
    positions = target.positions(prompt, 0, embeds.shape[1])
    logits = target.forward(embeds, None, positions, None, len(answer) + 1).logits[0, :-1]
    law = logits.float().log_softmax(-1)                                               # [n, V]
    return (-(law.exp() * law).sum(-1)).tolist()


def measure(target: Target, pictures: int, journal: Journal, limit: int = 160) -> tuple[Figures, list[str]]:
    """Grade greedy answers; take the entropy along sampled ones of every tenth picture.

    journal  what an earlier run has finished is not done again
    """
    scenes = held_out(pictures)
    conditions = digest({"target": target.fingerprint, "dtype": str(target.dtype), "limit": limit, "of": QUESTION})
    done: list[Record] = []
    with progress("captions of held-out pictures", pictures) as advance:
        for start in range(0, pictures, BATCH):
            batch = scenes[start:start + BATCH]
            key = f"{start}+{len(batch)}"
            if journal.find(key, conditions) is None:
                journal.add({"key": key, "fingerprint": conditions, **_looked_at(target, batch, start, limit)})
            done.append(journal.get(key, conditions))
            advance(len(batch))
    answers, spread = (list(chain.from_iterable(record[part] for record in done)) for part in ("answers", "entropies"))
    texts = [target.decode(answer) for answer in answers]
    scores = f1([grade(text, scene) for text, scene in zip(texts, scenes, strict=True)])
    return Figures(pictures, scores.objects, scores.colours, scores.place,
                   sum(spread) / len(spread), sum(map(len, answers)) / pictures), texts


def _looked_at(target: Target, scenes: Sequence[Scene], first: int, limit: int) -> Record:
    """Greedy answers to the scenes, which are numbered from `first`, and the entropies along some sampled ones."""
    spread: list[float] = []
    for number, scene in enumerate(scenes, first):
        if number % ENTROPY_EVERY == 0:
            prompt = target.encode(question(scene))
            spread += entropies(target, prompt, sampled_answer(target, prompt, number, limit))
    return {"answers": greedy_answers(target, scenes, limit), "entropies": spread}


def run(
    pictures: Annotated[int, typer.Option(help="held-out pictures")] = 200,
    dtype: Annotated[str, typer.Option(help="float32 or bfloat16")] = "float32",
    threads: Annotated[int, typer.Option(help="CPU threads")] = 2,
    output: Annotated[Path, typer.Option(help="where the figures go")] = Path("runs/build-target/figures.json"),
) -> None:
    """Measure `llava-smol` on held-out drawn scenes; killed and run again, it goes on."""
    torch.set_num_threads(threads)
    journal = Journal(output.with_suffix(".jsonl"))
    figures, texts = measure(load_target("llava-smol", dtype=dtype), pictures, journal)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"figures": figures.__dict__, "answers": texts}, indent=1))
    print(json.dumps(figures.__dict__, indent=1))


def main() -> None:
    typer.run(run)
