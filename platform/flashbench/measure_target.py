"""How good an embedded target is, measured on pictures and clips it was not trained on.

Captions are graded against the drawn truth (F1 of objects, of colours with their object, of motions with theirs),
and the entropy of the law is taken along text sampled at temperature 1. The figures go into the card of the weights.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain, takewhile
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import torch
import typer

from flashbench.console import progress, told_plainly
from flashbench.fingerprint import digest
from flashbench.journal import Journal, Record
from specflash.answering import answer_together
from specflash.catalogue import pick
from specflash.data.clip_grading import clip_f1, grade_clip
from specflash.data.clip_scenes import draw_clip
from specflash.data.drawn import TEST_SEED, jpeg
from specflash.data.drawn_clips import mp4
from specflash.data.grading import f1, grade
from specflash.data.kinetics import QUESTION as CLIP_QUESTION
from specflash.data.scenes import draw_scene
from specflash.decoding import generate
from specflash.drafts.vanilla import Vanilla
from specflash.records import Clip, Medium, Prompt, Sample, Turn
from specflash.sampling import Sampling
from specflash.smol.bodies import SHOWN_FRAMES
from specflash.targets import load_target
from specflash.targets.base import Target

BATCH = 8
MAX_LENGTH = 4096
ENTROPY_EVERY = 10
QUESTION = "Provide a detailed description of the given image."


class Exam(NamedTuple):
    """What is shown and asked, and how the answers are graded.

    draw      seed -> scene or clip
    medium    what a target is shown of it
    question  about it
    score     answers and what they are about -> F1 scores and shares in [0, 1], by name
    """

    draw: Callable[[int], Any]
    medium: Callable[[Any], Medium]
    question: str
    score: Callable[[Sequence[str], Sequence[Any]], dict[str, float]]

    def held_out(self, count: int) -> list[Any]:
        return [self.draw(TEST_SEED + number) for number in range(count)]

    def ask(self, drawn: Any) -> Sample:
        return Sample(str(drawn.seed), (self.medium(drawn),), (Turn(self.question),), "measure")


def score_pictures(texts: Sequence[str], scenes: Sequence[Any]) -> dict[str, float]:
    return asdict(f1([grade(text, scene) for text, scene in zip(texts, scenes, strict=True)]))


def score_clips(texts: Sequence[str], clips: Sequence[Any]) -> dict[str, float]:
    return asdict(clip_f1([grade_clip(text, clip) for text, clip in zip(texts, clips, strict=True)]))


PICTURES = Exam(draw_scene, jpeg, QUESTION, score_pictures)
CLIPS = Exam(draw_clip, lambda clip: Clip(mp4(clip), SHOWN_FRAMES), CLIP_QUESTION, score_clips)
EXAMS = {"pictures": PICTURES, "clips": CLIPS}


@dataclass(frozen=True)
class Figures:
    """scores: by name, in [0, 1]; entropy: nats per token; tokens_per_answer: of the greedy ones."""

    shown: int
    scores: dict[str, float]
    entropy: float
    tokens_per_answer: float


def greedy_answers(target: Target, samples: Sequence[Sample], limit: int) -> list[list[int]]:
    """Greedy answers up to and without the end token."""
    answered = answer_together(target, list(samples), limit, MAX_LENGTH)
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


def measure(target: Target, exam: Exam, count: int, journal: Journal, limit: int = 160) -> tuple[Figures, list[str]]:
    """Grade greedy answers; take the entropy along sampled ones of every tenth picture or clip.

    journal  what an earlier run has finished is not done again
    """
    drawn = exam.held_out(count)
    conditions = digest({"target": target.fingerprint, "dtype": str(target.dtype), "limit": limit,
                         "of": exam.question})
    done: list[Record] = []
    with progress("captions of what is held out", count) as advance:
        for start in range(0, count, BATCH):
            batch = [exam.ask(each) for each in drawn[start:start + BATCH]]
            key = f"{start}+{len(batch)}"
            record = journal.find(key, conditions)
            if record is None:
                record = {"key": key, "fingerprint": conditions, **_looked_at(target, batch, start, limit)}
                journal.add(record)
            done.append(record)
            advance(len(batch))
    answers, spread = (list(chain.from_iterable(record[part] for record in done)) for part in ("answers", "entropies"))
    texts = [target.decode(answer) for answer in answers]
    return Figures(count, exam.score(texts, drawn), sum(spread) / len(spread), sum(map(len, answers)) / count), texts


def _looked_at(target: Target, samples: Sequence[Sample], first: int, limit: int) -> Record:
    """Greedy answers to the samples, which are numbered from `first`, and the entropies along some sampled ones."""
    spread: list[float] = []
    for number, sample in enumerate(samples, first):
        if number % ENTROPY_EVERY == 0:
            prompt = target.encode(sample)
            spread += entropies(target, prompt, sampled_answer(target, prompt, number, limit))
    return {"answers": greedy_answers(target, samples, limit), "entropies": spread}


def run(
    name: Annotated[str, typer.Option("--target", help="llava-smol or qwen2.5-vl-smol")] = "llava-smol",
    of: Annotated[str, typer.Option(help="pictures or clips")] = "pictures",
    count: Annotated[int, typer.Option(min=1, help="how many that are held out")] = 200,
    dtype: Annotated[str, typer.Option(help="float32 or bfloat16")] = "float32",
    threads: Annotated[int, typer.Option(min=1, help="CPU threads")] = 2,
    output: Annotated[Path | None, typer.Option(help="where the figures go; runs/build-TARGET/OF.json "
                                                "if left out")] = None,
) -> None:
    """Measure an embedded target on held-out drawn scenes or clips; killed and run again, it goes on."""
    torch.set_num_threads(threads)
    exam = pick(EXAMS, of, "exam")
    output = output or Path(f"runs/build-{name}/{of}.json")
    figures, texts = measure(load_target(name, dtype=dtype), exam, count, Journal(output.with_suffix(".jsonl")))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"figures": asdict(figures), "answers": texts}, indent=1))
    print(json.dumps(asdict(figures), indent=1))


def main() -> None:
    with told_plainly():
        typer.run(run)
