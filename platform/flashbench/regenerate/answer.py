"""What one actor of a regeneration does: the frozen target answers the questions of a piece of work.

It knows no data set and no other actor; only text leaves it.
"""

import json
from hashlib import sha256

import pyarrow as pa
import torch
from torch import Tensor

from flashbench.dump.extract import load_for_actor
from flashbench.dump.rows import BAD, OUTCOME_SCHEMA, STORED, to_sample
from flashbench.settings import RegenerateSettings, Settings
from specflash.answering import Choose, Talk, converse
from specflash.errors import UserError
from specflash.sampling import Chance, Sampling, distribution

ANSWER_SCHEMA = OUTCOME_SCHEMA.append(pa.field("answer", pa.string()))
"""What became of a sample; `answer` is JSON: {"turns": [[question, answer], …], "cut": [ended by a limit?, …]}."""


def temperature_of(sample: str, regenerate: RegenerateSettings) -> float:
    """At which temperature the sample with this id is answered: 0 or the setting's."""
    luck = _number("share", sample, regenerate) / 2**63
    return regenerate.temperature if luck < regenerate.sampled else 0.0


def way_of(sample: str, regenerate: RegenerateSettings, device: torch.device) -> Choose | None:
    """How the sample's tokens are chosen; None: greedily. What is drawn does not depend on other samples."""
    temperature = temperature_of(sample, regenerate)
    if temperature == 0:
        return None
    chance, law = Chance(_number("draws", sample, regenerate), device), Sampling(temperature)

    def choose(logits: Tensor) -> int:
        return int(chance.draw(distribution(logits[None], law)))
    return choose


def _number(purpose: str, sample: str, regenerate: RegenerateSettings) -> int:
    """63 bits that follow from the seed and the sample."""
    return int(sha256(f"{purpose} {regenerate.seed} {sample}".encode()).hexdigest()[:16], 16) >> 1


class Answerer:
    """Holds a frozen target for `map_batches`: pieces of PIECE_SCHEMA -> ANSWER_SCHEMA."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.target = load_for_actor(settings)

    def __call__(self, batch: pa.Table) -> pa.Table:
        rows = [row for piece in batch.to_pylist() for row in self._answered(piece["samples"])]
        return pa.Table.from_pylist(rows, schema=ANSWER_SCHEMA)

    def _answered(self, rows: list[dict]) -> list[dict]:
        good, dump = [row for row in rows if row["reason"] is None], self.settings.dump
        ways = [way_of(row["id"], self.settings.regenerate, self.target.device) for row in good]
        talks = converse(self.target, [to_sample(row) for row in good], dump.max_new_tokens, dump.max_length, ways)
        return [_row(row, UserError(row["reason"])) for row in rows if row["reason"] is not None] + [
            _row(row, talk) for row, talk in zip(good, talks, strict=True)]


def _row(row: dict, talk: Talk | UserError) -> dict:
    told = {"index": row["index"], "id": row["id"]}
    if isinstance(talk, UserError):
        return {**told, "outcome": BAD, "reason": str(talk), "answer": None}
    answer = {"turns": [[turn.question, turn.answer] for turn in talk.turns], "cut": talk.cut}
    return {**told, "outcome": STORED, "reason": None, "answer": json.dumps(answer)}
