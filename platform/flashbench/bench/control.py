"""The outside controls: ways in which the transformers library itself decodes the same prompt with the same model.

Loop and cache are the library's own. The model is the target that it is given: verify gives one loaded
plainly, with nothing of this project inside it; bench gives the one all methods run on. All are greedy.
A new control is one line in CONTROLS and its name in `values.ControlName`.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, PreTrainedModel
from transformers.generation.streamers import BaseStreamer

from specflash.errors import UserError, one_line
from specflash.records import Generation, Prompt
from specflash.targets.base import Target

LOOK_UP_TOKENS = 10
"""What the library's own examples and tests take."""


@dataclass(frozen=True)
class Control:
    """What it is, for people, and what it gives `generate` beside the prompt.

    assisted  it drafts with the model in `bench.assistant`
    """

    what: str
    options: Callable[[Prompt, PreTrainedModel | None], dict[str, Any]]
    assisted: bool = False


def _look_up(prompt: Prompt, assistant: PreTrainedModel | None) -> dict[str, Any]:
    """A picture's placeholder that is copied from the prompt would be taken for another picture."""
    placeholders = {int(prompt.ids[0, start]) for start, _ in prompt.spans}
    forbidden = {"suppress_tokens": sorted(placeholders)} if placeholders else {}
    return {"prompt_lookup_num_tokens": LOOK_UP_TOKENS, **forbidden}


CONTROLS = {
    "hf-generate": Control("transformers' generate", lambda prompt, assistant: {}),
    "hf-prompt-lookup": Control("transformers' generate with prompt look-up", _look_up),
    "hf-assisted": Control("transformers' generate with an assistant",
                           lambda prompt, assistant: {"assistant_model": assistant}, assisted=True),
}


@torch.inference_mode()
def hf_generate(target: Target, prompt: Prompt, max_new_tokens: int, **options: Any) -> Generation:
    """Greedy answer; `other` holds all its time, for it does not tell phases apart.

    Nor does it tell how much it drafted: `drafted` holds what was kept.
    """
    passes, started = _Passes(), perf_counter()
    with _no_habits(target.model):
        sequence, = target.model.generate(
            input_ids=prompt.ids, attention_mask=torch.ones_like(prompt.ids), **prompt.pixels,
            max_new_tokens=max_new_tokens, do_sample=False, use_cache=True, eos_token_id=sorted(target.end_ids),
            pad_token_id=min(target.end_ids), streamer=passes, **options)
    answer = Generation(ids=sequence[prompt.length:].tolist())
    answer.seconds["other"] = perf_counter() - started
    answer.committed = passes.committed()
    answer.kept = [tokens - 1 for tokens in answer.committed]
    answer.drafted = list(answer.kept)
    answer.finish = "stop" if answer.ids[-1] in target.end_ids else "length"
    return answer


def load_assistant(folder: Path | None, target: Target) -> PreTrainedModel | None:
    """The small language model in a folder, on the target's device. Raises UserError where it cannot assist.

    It does not see: what it has no parameter for, a picture's pixels, is kept from it.
    """
    if folder is None:
        return None
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=target.dtype, local_files_only=True)
    except (OSError, ValueError, RuntimeError, KeyError, TypeError) as error:
        raise UserError(f"bench.assistant: {folder} holds no language model that loads: {one_line(error)}") from None
    if tokenizer.get_vocab() != target.tokenizer.get_vocab():
        raise UserError(f"bench.assistant: the model in {folder} has another tokenizer than {target.name}; "
                        "name one with the same, or take hf-assisted out of bench.controls")
    return _blind(model.to(target.device).eval().requires_grad_(False))


def _blind(model: PreTrainedModel) -> PreTrainedModel:
    generate, known = model.generate, inspect.signature(model.forward).parameters.keys() | {"input_ids"}

    def generate_unseeing(*given: Any, **named: Any) -> Any:
        return generate(*given, **{name: value for name, value in named.items()
                                   if name in known or not isinstance(value, torch.Tensor)})

    model.generate = generate_unseeing
    return model


class _Passes(BaseStreamer):
    """How many tokens each pass brought. The first thing it is given is the prompt."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def put(self, value: torch.Tensor) -> None:
        self.sizes.append(value.numel())

    def end(self) -> None:
        pass

    def committed(self) -> list[int]:
        """Per pass, the answer's first token left out: a pass that brought no other is the prefill."""
        _, first, *others = self.sizes
        return [first - 1, *others] if first > 1 else others


@contextmanager
def _no_habits(model: PreTrainedModel) -> Iterator[None]:
    """Only what is asked for: a model's own generation settings may bring penalties and beams along."""
    before, model.generation_config = model.generation_config, GenerationConfig()
    try:
        yield
    finally:
        model.generation_config = before
