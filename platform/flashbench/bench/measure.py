"""Timing one prompt with every method, in a shuffled order, in one process on one target.

It knows no file and no summary. What a round costs is told by the engine itself
(`Generation.seconds`); this module only decides who runs when, and notes under what conditions.
"""

import io
import os
import platform
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import torch

from flashbench.bench.methods import Engine
from flashbench.bench.plan import Piece
from flashbench.bench.prompts import BenchPrompt
from flashbench.bench.rows import VANILLA, Row
from flashbench.bench.ties import UNKNOWN, difference
from specflash.data.video import load_frames
from specflash.errors import one_line
from specflash.records import Prompt
from specflash.sampling import Sampling
from specflash.targets.base import Target

WARMUP_TOKENS = 16
THUMBNAIL = 336


def measure_piece(engine: Engine, piece: Piece, before: Sequence[Row] = (),
                  attempt: int = 0) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of one prompt, and what failed: together every method × repeat.

    before   rows of earlier attempts; what they hold is not decoded again
    attempt  how many there were

    A method that raises, whatever it raises, costs its own row and no other.
    """
    encoded = engine.target.encode(piece.prompt.request)
    done = {(row["method"], row["repeat"]) for row in before}
    rows, failures = list(before), []
    for repeat in range(piece.repeats):
        for turn, method in enumerate(piece.turns(repeat)):
            if (method, repeat) in done:
                continue
            told = {**_about(piece), "method": method, "repeat": repeat, "turn": turn, "attempt": attempt}
            try:
                rows.append(told | _answer(engine, piece, method, encoded, piece.sampling(repeat)))
            except Exception as error:
                failures.append(told | {"reason": f"{type(error).__name__}: {one_line(error)}"})
    return _judged(engine, piece, encoded, rows), failures


def warm_up(engine: Engine, piece: Piece) -> None:
    """Decode a little with every method, so that no method pays for the first call of a kernel.

    Who fails here will fail again where it is noted.
    """
    sampling = Sampling(piece.temperature, seed=piece.seed, max_new_tokens=WARMUP_TOKENS)
    encoded = engine.target.encode(piece.prompt.request)
    for method in piece.turns(0):
        try:
            engine.decode(method, encoded, sampling)
        except Exception:
            continue


def token_pieces(engine: Engine, ids: list[int]) -> list[str]:
    """What each token adds to the text; a token that ends inside a character adds nothing yet."""
    pieces, text = [], ""
    for end in range(1, len(ids) + 1):
        longer = engine.target.decode(ids[:end]).rstrip("\N{REPLACEMENT CHARACTER}")
        pieces.append(longer[len(text):])
        text = longer
    return pieces


def thumbnail(prompt: BenchPrompt) -> str | None:
    """The prompt's first picture or frame as a small JPEG data URL."""
    if not prompt.request.media:
        return None
    picture = load_frames(prompt.request.media[0])[0]
    picture.thumbnail((THUMBNAIL, THUMBNAIL))
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=80)
    return "data:image/jpeg;base64," + b64encode(buffer.getvalue()).decode()


def really_used(target: Target, sampling: Sampling) -> dict[str, Any]:
    """What one answer was computed with, read from where it acts and not from the settings."""
    formats = {str(each.dtype).removeprefix("torch.") for each in target.model.parameters()}
    return {"dtype": "+".join(sorted(formats)),
            "attention": target.model.config.get_text_config()._attn_implementation,
            "device": str(target.device), "threads": torch.get_num_threads(),
            "worker": f"{platform.node()}/{os.getpid()}", "max_new_tokens": sampling.max_new_tokens,
            "top_p": sampling.top_p, "seed": sampling.seed, "temperature": sampling.temperature}


def _about(piece: Piece) -> dict[str, Any]:
    prompt = piece.prompt
    return {"target": piece.target, "task": prompt.task, "out_of_domain": prompt.out_of_domain,
            "sample": prompt.sample, "temperature": piece.temperature}


def _answer(engine: Engine, piece: Piece, method: str, encoded: Prompt, sampling: Sampling) -> dict[str, Any]:
    answer = engine.decode(method, encoded, sampling)
    return {**asdict(answer), **really_used(engine.target, sampling), **UNKNOWN, "tokens": len(answer.ids),
            "text": engine.target.decode(answer.ids), "prompt_tokens": encoded.length,
            "question": piece.prompt.request.turns[-1].question,
            "pieces": token_pieces(engine, answer.ids) if piece.shown else None}


def _judged(engine: Engine, piece: Piece, encoded: Prompt, rows: list[Row]) -> list[dict[str, Any]]:
    """The rows, each held against vanilla's of its repeat; where text is sampled there is nothing to hold."""
    reference = {row["repeat"]: row["ids"] for row in rows if row["method"] == VANILLA}
    return [row | difference(engine.target, encoded, row["ids"], reference[row["repeat"]])
            if piece.temperature == 0 and row["identical"] is None and row["repeat"] in reference else dict(row)
            for row in rows]
