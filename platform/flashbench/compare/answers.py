"""Reading answer files: the JSONL of EAGLE and Spec-Bench, and that of FlashSD.

    EAGLE    {"question_id", "model_id", "choices": [{"turns", "new_tokens": [per turn], "wall_time": [per turn]}]}
    FlashSD  {"question_id", "model_id", "response", "new_tokens", "wall_time", …}

Both know the time of the whole answer only. Tokens are taken as logged; text is never encoded again.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashbench.compare.results import Result, Series, check_span
from specflash.errors import UserError


@dataclass(frozen=True)
class Answer:
    """One line: what a method answered to one question, repeat by repeat.

    record   the line as it was
    repeats  (seconds, tokens, text or None)
    """

    method: str
    question: str
    record: dict[str, Any]
    repeats: list[tuple[float, int, str | None]]

    def in_eagles_layout(self) -> dict[str, Any]:
        """The record as EAGLE and Spec-Bench write it, whichever way it was written."""
        if "choices" in self.record:
            return {**self.record, "model_id": self.method}
        (seconds, tokens, text), = self.repeats
        return {"question_id": self.record["question_id"], "model_id": self.method, "choices": [
            {"index": 0, "turns": [text or ""], "idxs": [self.record.get("idx", 0)], "new_tokens": [tokens],
             "wall_time": [seconds]}]}


FAULTS = (KeyError, TypeError, ValueError, RecursionError)
"""What `one_answer` raises; `fault` says it in words."""


def read_answers(path: Path) -> Result:
    """Raises UserError that names the line which is no answer."""
    result, lines_of = Result(str(path)), {}
    content = path.read_bytes()
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            answer = one_answer(line, path.stem)
            _add(answer, result)
        except FAULTS as error:
            if number == 1 and _is_document(content):
                raise UserError(f"{path} is one JSON document; an answer file has one answer a line") from None
            raise UserError(f"{path}, line {number}: not an EAGLE or FlashSD answer ({fault(error)})") from None
        first = lines_of.setdefault((answer.method, answer.question), number)
        if first != number:
            raise UserError(f"{path}: question {answer.question} is answered twice by {answer.method}, in lines "
                            f"{first} and {number}; keep one of them")
    if not result.series:
        raise UserError(f"{path} has no answers")
    return result


def one_answer(line: bytes, name: str) -> Answer:
    """The answer in a line.

    name  of the method where the record has no `model_id`

    Raises FAULTS.
    """
    record = json.loads(line.decode("utf-8-sig"))
    if not isinstance(record, dict):
        raise TypeError(f"a {type(record).__name__}, not an object")
    method, question = str(record.get("model_id", name)), str(record["question_id"])
    f"{method} {question}".encode()  # half a character can be written in JSON, and nowhere else
    repeats = [_choice(choice) for choice in record["choices"]] if "choices" in record else [_flat(record)]
    if not repeats:
        raise ValueError("no choices")
    return Answer(method, question, record, repeats)


def _add(answer: Answer, result: Result) -> None:
    prompt = result.prompt(Series(answer.method), answer.question)
    for repeat, (seconds, tokens, text) in enumerate(answer.repeats):
        prompt.spans.setdefault("e2e", {})[repeat] = (seconds, tokens)
        prompt.longest = max(prompt.longest, tokens)
        if text is not None:
            prompt.texts[repeat] = text


def _choice(choice: Any) -> tuple[float, int, str | None]:
    if not isinstance(choice, dict):
        raise TypeError("a choice is no object")
    seconds, tokens, turns = choice["wall_time"], choice["new_tokens"], choice.get("turns")
    if not isinstance(seconds, list) or not isinstance(tokens, list) or len(seconds) != len(tokens):
        raise TypeError("`wall_time` and `new_tokens` of a choice are lists with one entry per turn")
    for took, gave in zip(seconds, tokens, strict=True):
        check_span([took], gave)
    return _account(sum(seconds), sum(tokens), "\n".join(map(str, turns)) if isinstance(turns, list) else None)


def _flat(record: dict[str, Any]) -> tuple[float, int, str | None]:
    return _account(record["wall_time"], record["new_tokens"], record.get("response"))


def _account(seconds: Any, tokens: Any, text: str | None) -> tuple[float, int, str | None]:
    check_span([seconds], tokens)
    return float(seconds), tokens, text


def _is_document(content: bytes) -> bool:
    """Whether all lines together are JSON: a list of answers, or one object over many lines."""
    try:
        return isinstance(json.loads(content), list) or len(content.strip().splitlines()) > 1
    except (ValueError, RecursionError):
        return False


def fault(error: Exception) -> str:
    """What is wrong with a line, in words."""
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    return f"no `{error.args[0]}`" if isinstance(error, KeyError) else str(error).partition("\n")[0]
