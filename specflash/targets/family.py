"""What the families of transformers' image-and-text models share: loading, prompts, forward passes.

A family is a subclass that says which class of models it is and what its vision tower sees of pictures
and clips; the models stay unpatched. It knows no draft.
"""

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache

from specflash.errors import UserError
from specflash.packed import can_pack, pack_linears
from specflash.records import Clip, Medium, Output, Prompt, Sample
from specflash.targets.base import Ends, Target
from specflash.targets.folder import Kind, find_tensors, folder_fingerprint, load_whole
from specflash.targets.inner import attention_entropies, heard_after
from specflash.targets.wording import Shown, Wording, find_spans


class Seen(NamedTuple):
    """What a target takes of a sample's media: `Prompt.pixels` of it, and what stands for it in the text."""

    pixels: dict[str, Tensor]
    shown: list[Shown]


class Family(Target):
    """A frozen model and its processor. See `Target` for the contract.

    kind  the transformers class and how its folders call it
    """

    kind: ClassVar[Kind]

    def __init__(self, name: str, model: nn.Module, processor: Any, fingerprint: str):
        self.name = name
        self.model = model.eval().requires_grad_(False)
        self.processor = processor
        self.tokenizer = processor.tokenizer
        self.fingerprint = fingerprint
        self.device, self.dtype = model.device, model.dtype
        self.layers = model.config.text_config.num_hidden_layers
        self.context = getattr(model.config.text_config, "max_position_embeddings", None)
        self.width = model.config.text_config.hidden_size
        self.vocabulary = model.lm_head.weight.shape[0]
        self.end_ids = _end_ids(model, self.tokenizer)
        self.wording = Wording(self.tokenizer, self._template, self.end_ids)

    @classmethod
    def load(cls, name: str, folder: Path, dtype: torch.dtype, device: str, plain: bool = False,
             device_map: str | None = None) -> "Family":
        """Load a Hugging Face folder. Raises UserError where it holds no such model, or not all of it.

        plain       with the library's own attention and layers, none of ours
        device_map  "auto": over all devices that there are; None: on `device`
        """
        # Here, because it needs the library's modelling code, which the training of a draft does without.
        from specflash.targets.attention import GROUPED
        model, processor = load_whole(folder, cls.kind, dtype, "sdpa" if plain else GROUPED, device_map)
        if device_map is None:
            model = model.to(device)
            if can_pack(model) and not plain:
                pack_linears(model, keep=lambda layer: layer is model.lm_head)
        return cls(name, model, processor, folder_fingerprint(folder))

    @staticmethod
    def load_ends(folder: Path, dtype: torch.dtype) -> Ends:
        """Only the token embeddings and the LM head, for the trainer."""
        tables = find_tensors(folder, ("embed_tokens.weight", "lm_head.weight"))
        if "embed_tokens.weight" not in tables:
            raise UserError(f"{folder} holds no token embeddings (embed_tokens.weight)")
        embedding = tables["embed_tokens.weight"].to(dtype)
        return Ends(embedding, tables["lm_head.weight"].to(dtype)
                    if "lm_head.weight" in tables else embedding)

    @property
    def ends(self) -> Ends:
        return Ends(self.model.get_input_embeddings().weight, self.model.lm_head.weight)

    # -- from a sample to a prompt --------------------------------------------------------------

    @abstractmethod
    def see(self, media: Sequence[Medium]) -> Seen:
        """Decode pictures and clips, in order. Raises BadMedia for one that is damaged."""

    @abstractmethod
    def see_features(self, prompt: Prompt) -> list[tuple[int, Tensor]]:
        """For a prompt with media: a placeholder's id, and what stands at all places of that id [n, D]."""

    @property
    @abstractmethod
    def visual_ids(self) -> tuple[int, ...]:
        """Ids of placeholders, of pictures and of clips."""

    def place(self, ids: Tensor, pixels: dict[str, Tensor]) -> Tensor | None:
        """`Prompt.positions`"""
        return None

    def encode(self, sample: Sample) -> Prompt:
        pixels, shown = self.see(sample.media)
        ids, answer_mask = self.wording.write(sample.turns, shown)
        self._check_frames(sample, ids.shape[1], shown)
        pixels = {key: self._moved(value) for key, value in pixels.items()}
        visual = torch.isin(ids[0], torch.tensor(self.visual_ids))
        ids = ids.to(self.device)
        return Prompt(ids=ids, pixels=pixels, spans=find_spans(visual, shown),
                      answer_mask=answer_mask.to(self.device), positions=self.place(ids, pixels))

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)

    def _template(self, messages: list[dict], ask: bool) -> str:
        return self.processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=ask)

    def _moved(self, value: Tensor) -> Tensor:
        """Pixels, 2-D and more, in the model's format; numbers about them as they are."""
        return value.to(self.device, self.dtype if value.is_floating_point() and value.ndim > 1 else None)

    def _check_frames(self, sample: Sample, length: int, shown: Sequence[Shown]) -> None:
        clips = [medium for medium in sample.media if isinstance(medium, Clip)]
        if self.context is None or length < self.context or not clips:
            return
        frames = sum(clip.frames for clip in clips)
        visual = sum(sum(each.sizes) for each in shown)
        fitting = max(0, (self.context - 1 - (length - visual)) * frames // visual)
        raise UserError(f"{frames} frames and the text are {length} tokens, more than the {self.context} positions of "
                        f"{self.name}: about {fitting} frames fit; show fewer")

    # -- forward passes -------------------------------------------------------------------------

    def embed_prompt(self, prompt: Prompt) -> Tensor:
        embeds = self.embed(prompt.ids)                                                # [1, L, D]
        for token, features in self.see_features(prompt) if prompt.pixels else ():
            embeds = embeds.masked_scatter((prompt.ids == token)[..., None], features.to(embeds))
        return embeds

    def embed(self, ids: Tensor) -> Tensor:
        return self.model.get_input_embeddings()(ids)

    def positions(self, prompt: Prompt, start: int, rows: int) -> Tensor:
        return torch.arange(start, start + rows, device=self.device)[None]             # [1, R]

    def forward(self, embeds: Tensor, cache: Cache | None, positions: Tensor,
                mask: Tensor | None, keep: int, inner: int | None = None) -> Output:
        if mask is not None:
            # As the kernel adds it: once, not once per layer.
            mask = torch.zeros(mask.shape, dtype=embeds.dtype, device=embeds.device).masked_fill(~mask, -torch.inf)
        with heard_after(self.model.model.language_model, inner) as heard:
            features = self.model.model.language_model(
                inputs_embeds=embeds, attention_mask=mask, position_ids=positions,
                cache=cache, use_cache=cache is not None).last_hidden_state            # [B, R, D]
        logits = self.head(features[:, features.shape[1] - keep:])
        return Output(features.to(self.device), logits.to(self.device),
                      heard[0].to(self.device) if heard else None)

    @torch.inference_mode()
    def attention_entropy(self, prompt: Prompt) -> Tensor:
        text = torch.arange(prompt.length, device=self.device) >= prompt.prefix
        with attention_entropies(self.model.model.language_model, text) as entropies:
            self.forward(self.embed_prompt(prompt), None, self.positions(prompt, 0, prompt.length), None, keep=0)
        return torch.stack([entropy.cpu() for entropy in entropies])

    def head(self, features: Tensor) -> Tensor:
        return self.model.lm_head(features)


def _end_ids(model: nn.Module, tokenizer) -> frozenset[int]:
    configured = model.generation_config.eos_token_id
    if configured is None:
        configured = tokenizer.eos_token_id
    return frozenset([configured] if isinstance(configured, int) else configured)
