"""The outside control: the transformers library's own `generate` on the same model and prompt.

Its loop and its cache are the library's own. The model is the target that it is given: verify gives
one loaded plainly, with nothing of this project inside it; bench gives the one all methods run on.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

import torch
from transformers import GenerationConfig, PreTrainedModel

from specflash.records import Generation, Prompt
from specflash.targets.base import Target


@torch.inference_mode()
def hf_generate(target: Target, prompt: Prompt, max_new_tokens: int) -> Generation:
    """Greedy answer, one token per pass; `other` holds all its time, for it does not tell phases apart."""
    started = perf_counter()
    with _no_habits(target.model):
        sequence, = target.model.generate(
            input_ids=prompt.ids, attention_mask=torch.ones_like(prompt.ids), **prompt.pixels,
            max_new_tokens=max_new_tokens, do_sample=False, use_cache=True, eos_token_id=sorted(target.end_ids),
            pad_token_id=min(target.end_ids))
    answer = Generation(ids=sequence[prompt.length:].tolist())
    passes = len(answer.ids) - 1
    answer.kept, answer.drafted, answer.committed = [0] * passes, [0] * passes, [1] * passes
    answer.seconds["other"] = perf_counter() - started
    answer.finish = "stop" if answer.ids[-1] in target.end_ids else "length"
    return answer


@contextmanager
def _no_habits(model: PreTrainedModel) -> Iterator[None]:
    """Only what is asked for: a model's own generation settings may bring penalties and beams along."""
    before, model.generation_config = model.generation_config, GenerationConfig()
    try:
        yield
    finally:
        model.generation_config = before
