"""LLaVA-1.5 and everything else of the class `LlavaForConditionalGeneration`, unpatched.

It knows the chat template, the placeholder id and where the LM head lives; it knows no draft.
"""

import re
from collections.abc import Sequence
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor, nn
from transformers.cache_utils import Cache

from specflash.data.video import load_frames
from specflash.errors import UserError
from specflash.packed import can_pack, pack_linears
from specflash.records import Output, Prompt, Sample, Span, Turn
from specflash.targets.base import Ends, Target
from specflash.targets.folder import find_tensors, folder_fingerprint, load_whole


class Llava(Target):
    """A frozen LLaVA model and its processor. See `Target` for the contract."""

    def __init__(self, name: str, model: nn.Module, processor, fingerprint: str):
        self.name = name
        self.model = model.eval().requires_grad_(False)
        self.processor = processor
        self.tokenizer = processor.tokenizer
        self.fingerprint = fingerprint
        self.control_tokens = re.compile("|".join(map(re.escape, self.tokenizer.get_added_vocab())) or "(?!)")
        self.device, self.dtype = model.device, model.dtype
        self.layers = model.config.text_config.num_hidden_layers
        self.context = getattr(model.config.text_config, "max_position_embeddings", None)
        self.width = model.config.text_config.hidden_size
        self.vocabulary = model.lm_head.weight.shape[0]
        self.end_ids = _end_ids(model, self.tokenizer)

    @classmethod
    def load(cls, name: str, folder: Path, dtype: torch.dtype, device: str, plain: bool = False) -> "Llava":
        """Load a Hugging Face folder. Raises UserError where it holds no such model, or not all of it.

        plain  with the library's own attention and layers, none of ours
        """
        # Here, because it needs the library's modelling code, which the training of a draft does without.
        from specflash.targets.attention import GROUPED
        model, processor = load_whole(folder, dtype, "sdpa" if plain else GROUPED)
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

    def encode(self, sample: Sample) -> Prompt:
        pictures = [frame for medium in sample.media for frame in load_frames(medium)]
        pixels = self._pixels(pictures)
        text, answers = self._render(sample.turns, self._visual_tokens(pixels))
        encoded = self.tokenizer(text, return_offsets_mapping=True, add_special_tokens=self._adds_bos(text))
        ids = torch.tensor([encoded["input_ids"]])
        return Prompt(ids=ids.to(self.device),
                      pixels={key: value.to(self.device, self.dtype) for key, value in pixels.items()},
                      spans=_spans(ids[0] == self.processor.image_token_id),
                      answer_mask=self._answer_mask(ids, encoded["offset_mapping"], answers).to(self.device))

    def _pixels(self, pictures: list[Image.Image]) -> dict[str, Tensor]:
        return dict(self.processor.image_processor(pictures, return_tensors="pt")) if pictures else {}

    def _visual_tokens(self, pixels: dict[str, Tensor]) -> list[int]:
        """N of each picture: one token per patch, and the class token where it is kept."""
        config = self.model.config
        patches = (config.vision_config.image_size // config.vision_config.patch_size) ** 2
        kept = patches + (config.vision_feature_select_strategy == "full")
        return [kept] * (len(pixels["pixel_values"]) if pixels else 0)

    def _render(self, turns: Sequence[Turn], visual_tokens: list[int]) -> tuple[str, list[Span]]:
        """The conversation as text, and the (start, end) characters of each answer in it.

        The chat template itself tells where an answer starts and ends: it is rendered up to the
        answer, and again with it.
        """
        messages: list[dict] = []
        answers: list[Span] = []
        for number, turn in enumerate(turns):
            pictures = [{"type": "image"}] * (len(visual_tokens) if number == 0 else 0)
            messages.append({"role": "user", "content": [*pictures, self._text(turn.question)]})
            if turn.answer is None:
                continue
            start = len(self._template(messages, visual_tokens, ask=True))
            messages.append({"role": "assistant", "content": [self._text(turn.answer)]})
            answers.append((start, len(self._template(messages, visual_tokens, ask=False))))
        return self._template(messages, visual_tokens, ask=messages[-1]["role"] == "user"), answers

    def _template(self, messages: list[dict], visual_tokens: list[int], ask: bool) -> str:
        text = self.processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=ask)
        before, *rest = text.split(self.processor.image_token)
        placeholders = (self.processor.image_token * count for count in visual_tokens)
        return before + "".join(run + part for run, part in zip(placeholders, rest, strict=True))

    def _text(self, text: str) -> dict[str, str]:
        """User text as a content part; what a user types must neither be a picture nor end a turn.

        A space takes a control token's place: what stood around it cannot join to another one, so
        one pass is enough.
        """
        return {"type": "text", "text": self.control_tokens.sub(" ", text)}

    def _adds_bos(self, text: str) -> bool:
        return not (self.tokenizer.bos_token and text.startswith(self.tokenizer.bos_token))

    def _answer_mask(self, ids: Tensor, offsets: list[Span], answers: list[Span]) -> Tensor:
        """True at an answer's tokens up to and including the first end token. [1, L]"""
        mask = torch.zeros_like(ids, dtype=torch.bool)
        for start, end in answers:
            for position, (first, last) in enumerate(offsets):
                if start <= first < end and last > first:
                    mask[0, position] = True
                    if int(ids[0, position]) in self.end_ids:
                        break
        return mask

    # -- forward passes -------------------------------------------------------------------------

    def embed_prompt(self, prompt: Prompt) -> Tensor:
        embeds = self.embed(prompt.ids)                                                # [1, L, D]
        if not prompt.pixels:
            return embeds
        config = self.model.config
        seen = self.model.get_image_features(
            prompt.pixels["pixel_values"], vision_feature_layer=config.vision_feature_layer,
            vision_feature_select_strategy=config.vision_feature_select_strategy).pooler_output
        visual = (prompt.ids == self.processor.image_token_id)[..., None]              # [1, L, 1]
        return embeds.masked_scatter(visual, torch.cat(list(seen)).to(embeds.dtype))

    def embed(self, ids: Tensor) -> Tensor:
        return self.model.get_input_embeddings()(ids)

    def positions(self, prompt: Prompt, start: int, rows: int) -> Tensor:
        return torch.arange(start, start + rows, device=self.device)[None]             # [1, R]

    def forward(self, embeds: Tensor, cache: Cache | None, positions: Tensor,
                mask: Tensor | None, keep: int) -> Output:
        if mask is not None:
            # As the kernel adds it: once, not once per layer.
            mask = torch.zeros(mask.shape, dtype=embeds.dtype, device=embeds.device).masked_fill(~mask, -torch.inf)
        features = self.model.model.language_model(
            inputs_embeds=embeds, attention_mask=mask, position_ids=positions,
            cache=cache, use_cache=cache is not None).last_hidden_state                # [B, R, D]
        return Output(features, self.head(features[:, features.shape[1] - keep:]))

    def head(self, features: Tensor) -> Tensor:
        return self.model.lm_head(features)

    def decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=True)


def _spans(visual: Tensor) -> tuple[Span, ...]:
    """(start, length) of each unbroken run of placeholders in [L] bool.

    The chat templates put text between pictures, so a run is one picture.
    """
    edges = torch.diff(visual.int(), prepend=torch.zeros(1, dtype=torch.int32),
                       append=torch.zeros(1, dtype=torch.int32))
    starts, ends = (edges == 1).nonzero().flatten(), (edges == -1).nonzero().flatten()
    return tuple(zip(starts.tolist(), (ends - starts).tolist(), strict=True))


def _end_ids(model: nn.Module, tokenizer) -> frozenset[int]:
    configured = model.generation_config.eos_token_id
    if configured is None:
        configured = tokenizer.eos_token_id
    return frozenset([configured] if isinstance(configured, int) else configured)
