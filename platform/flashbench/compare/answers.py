"""Reading answer files: the JSONL of EAGLE and Spec-Bench, and that of FlashSD.

    EAGLE    {"question_id", "model_id", "choices": [{"new_tokens": [per turn], "wall_time": [per turn], …}]}
    FlashSD  {"question_id", "model_id", "new_tokens", "wall_time", …}

Both know the time of the whole answer only. Tokens are taken as logged; text is never encoded again.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specflash.errors import UserError


@dataclass(frozen=True)
class Answer:
    """All turns and choices of one question."""

    prompt: str
    method: str
    seconds: float
    tokens: int


def read_answers(path: Path) -> Iterator[Answer]:
    """Raises UserError that names the line which is no answer."""
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if line.strip():
            try:
                yield _answer(json.loads(line), path.stem)
            except (KeyError, TypeError, ValueError) as error:
                reason = f"no `{error.args[0]}`" if isinstance(error, KeyError) else str(error)
                raise UserError(f"{path}, line {number}: not an EAGLE or FlashSD answer ({reason})") from None


def _answer(record: dict[str, Any], name: str) -> Answer:
    """name  of the method where the record has no `model_id`"""
    if "choices" in record:
        seconds, tokens = (sum(sum(choice[key]) for choice in record["choices"]) for key in ("wall_time", "new_tokens"))
    else:
        seconds, tokens = float(record["wall_time"]), int(record["new_tokens"])
    if not (math.isfinite(seconds) and seconds > 0 and tokens > 0):
        raise ValueError(f"{tokens} tokens in {seconds} seconds")
    return Answer(str(record["question_id"]), str(record.get("model_id", name)), seconds, tokens)
