"""Result files of the tests of `compare`: rows with round numbers, as Parquet or as JSON lines."""

import json

import numpy as np

from flashbench.bench.rows import write_rows
from flashbench.compare.results import Result
from tests.flashbench.scripted import row


def slower(rows, factor: float):
    return [{**one, "seconds": {phase: factor * took for phase, took in one["seconds"].items()}} for one in rows]


def many(prompts: int, factor: float = 1.0, noise: float = 0.0, seed: int = 0):
    """Rows of one method: 3 tokens in 1 + 2 seconds, slower by a factor and by noise of their own."""
    luck = np.random.default_rng(seed).lognormal(0, noise, prompts)
    return [row("drafty", f"p{number}", [1], {"prefill": factor * luck[number], "verify": 2 * factor * luck[number]})
            for number in range(prompts)]


def parquet(path, rows):
    write_rows(rows, path)
    return path


def jsonl(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def spans(result: Result) -> dict:
    """method -> prompt -> window -> mean (seconds, tokens) of a repeat"""
    return {series.method: {key: {window: prompt.span(window) for window in prompt.spans}
                            for key, prompt in prompts.items()} for series, prompts in result.series.items()}
