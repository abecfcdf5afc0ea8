"""Looking into the decoder layers of an unpatched model: its states, and how sure attention is. It knows no draft."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def heard_after(decoder: nn.Module, layer: int | None) -> Iterator[list[Tensor]]:
    """The list that passes inside put their hidden states after `layer` in [B, R, D]; None: nothing is heard."""
    heard: list[Tensor] = []
    if layer is None:
        yield heard
        return
    hook = decoder.layers[layer].register_forward_hook(lambda _, __, output: heard.append(_states(output)))
    try:
        yield heard
    finally:
        hook.remove()


def _states(output: Tensor | tuple[Tensor, ...]) -> Tensor:
    """A layer's hidden states; some of the library's layers give a tuple."""
    return output if isinstance(output, Tensor) else output[0]


@contextmanager
def attention_entropies(decoder: nn.Module, rows: Tensor) -> Iterator[list[Tensor]]:
    """The list that a pass inside puts each layer's mean entropy of attention in, in nats.

    rows  [R] bool, over which of the pass's rows the mean is taken (and over all heads)

    Meanwhile attention is the library's "eager" one, the only one that gives its weights.
    """
    entropies: list[Tensor] = []

    def note(_: nn.Module, __: tuple, output: tuple[Tensor, Tensor]) -> None:
        weights = output[1][0, :, rows].float()                                        # [H, r, T]
        entropies.append(torch.special.entr(weights).sum(-1).mean())

    before = decoder.config._attn_implementation
    decoder.set_attn_implementation("eager")
    with ExitStack() as hooks:
        hooks.callback(decoder.set_attn_implementation, before)
        for layer in decoder.layers:
            hooks.callback(layer.self_attn.register_forward_hook(note).remove)
        yield entropies
