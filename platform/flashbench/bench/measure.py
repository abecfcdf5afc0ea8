"""Timing one prompt with every method, in a shuffled order, in one process on one target.

It knows no file and no summary. What a round costs is told by the engine itself
(`Generation.seconds`); this module only decides who runs when.
"""

import io
import random
from base64 import b64encode
from dataclasses import asdict
from typing import Any

from PIL import Image

from flashbench.bench.control import hf_generate
from flashbench.bench.methods import Engine
from flashbench.bench.prompts import BenchPrompt
from flashbench.bench.rows import HF_GENERATE, VANILLA
from flashbench.settings import BenchSettings
from specflash.decoding import generate
from specflash.records import Generation, Prompt, picture_bytes
from specflash.sampling import Sampling

WARMUP_TOKENS = 16
THUMBNAIL = 336


def measure_prompt(engine: Engine, prompt: BenchPrompt, bench: BenchSettings, shown: bool) -> list[dict[str, Any]]:
    """The rows of one prompt: every method × repeat.

    shown  keep the text of each token, for the report
    """
    encoded = engine.target.encode(prompt.request)
    rows = []
    for repeat in range(bench.repeats):
        sampling = Sampling(bench.temperature, seed=bench.seed + repeat, max_new_tokens=prompt.max_new_tokens)
        order = shuffled_methods(engine, bench, f"{prompt.key}/{repeat}")
        answers = {method: _decode(engine, method, encoded, sampling) for method in order}
        reference = answers[VANILLA].ids if bench.temperature == 0 else None
        for turn, method in enumerate(order):
            answer = answers[method]
            rows.append({
                **_about(engine, prompt, encoded), "method": method, "repeat": repeat, "turn": turn,
                **asdict(answer), "tokens": len(answer.ids), "text": engine.target.decode(answer.ids),
                "identical": None if reference is None else answer.ids == reference,
                "pieces": token_pieces(engine, answer.ids) if shown else None})
    return rows


def warm_up(engine: Engine, prompt: BenchPrompt, bench: BenchSettings) -> None:
    """Decode a little with every method, so that no method pays for the first call of a kernel."""
    sampling = Sampling(bench.temperature, seed=bench.seed, max_new_tokens=WARMUP_TOKENS)
    encoded = engine.target.encode(prompt.request)
    for method in shuffled_methods(engine, bench, prompt.key):
        _decode(engine, method, encoded, sampling)


def shuffled_methods(engine: Engine, bench: BenchSettings, key: str) -> list[str]:
    """Who runs when for one prompt: the same order in every run, another one for every prompt."""
    methods = [*engine.drafts, *([HF_GENERATE] if has_control(bench) else [])]
    random.Random(f"{bench.seed}/{key}").shuffle(methods)
    return methods


def has_control(bench: BenchSettings) -> bool:
    """The outside control is greedy, so it says nothing about sampled text."""
    return bench.hf_control and bench.temperature == 0


def token_pieces(engine: Engine, ids: list[int]) -> list[str]:
    """What each token adds to the text; a token that ends inside a character adds nothing yet."""
    pieces, text = [], ""
    for end in range(1, len(ids) + 1):
        longer = engine.target.decode(ids[:end]).rstrip("\N{REPLACEMENT CHARACTER}")
        pieces.append(longer[len(text):])
        text = longer
    return pieces


def thumbnail(prompt: BenchPrompt) -> str | None:
    """The prompt's first picture as a small JPEG data URL."""
    if not prompt.request.images:
        return None
    picture = Image.open(io.BytesIO(picture_bytes(prompt.request.images[0]))).convert("RGB")
    picture.thumbnail((THUMBNAIL, THUMBNAIL))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=80)
    return "data:image/jpeg;base64," + b64encode(buffer.getvalue()).decode()


def _decode(engine: Engine, method: str, prompt: Prompt, sampling: Sampling) -> Generation:
    if method == HF_GENERATE:
        return hf_generate(engine.target, prompt, sampling.max_new_tokens)
    return generate(engine.target, engine.drafts[method], prompt, sampling)


def _about(engine: Engine, prompt: BenchPrompt, encoded: Prompt) -> dict[str, Any]:
    return {"target": engine.target.name, "task": prompt.task, "out_of_domain": prompt.out_of_domain,
            "sample": prompt.sample, "prompt_tokens": encoded.length,
            "question": prompt.request.turns[-1].question}
