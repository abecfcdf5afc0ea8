"""The outside control: the transformers library's own `generate` on the same model and prompt.

It uses nothing of this project's engine: its own loop and its own default cache.
"""

from time import perf_counter

import torch

from specflash.records import Generation, Prompt
from specflash.targets.base import Target


@torch.inference_mode()
def hf_generate(target: Target, prompt: Prompt, max_new_tokens: int) -> Generation:
    """Greedy answer, one token per pass; `other` holds all its time, for it does not tell phases apart."""
    started = perf_counter()
    sequence = target.model.generate(
        input_ids=prompt.ids, attention_mask=torch.ones_like(prompt.ids), **prompt.pixels,
        max_new_tokens=max_new_tokens, do_sample=False, use_cache=True,
        eos_token_id=sorted(target.end_ids), pad_token_id=min(target.end_ids))
    answer = Generation(ids=sequence[0, prompt.length:].tolist())
    passes = len(answer.ids) - 1
    answer.kept, answer.drafted, answer.committed = [0] * passes, [0] * passes, [1] * passes
    answer.seconds["other"] = perf_counter() - started
    answer.finish = "stop" if answer.ids[-1] in target.end_ids else "length"
    return answer
