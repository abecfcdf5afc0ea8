"""What the engine needs of a frozen target model. It knows no draft and no decoding loop.

Everything that differs between model families hides behind this contract: chat template,
placeholder ids, where the LM head lives, positions. The models are unpatched transformers models.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.cache_utils import Cache

from specflash.cache import FixedCache
from specflash.records import Output, Prompt, Sample


@dataclass(frozen=True)
class Ends:
    """The two frozen tables a draft shares with its target: token embeddings and LM head.

    embedding  [V, D]
    lm_head    [V, D]   (the same tensor as `embedding` where the target ties them)
    """

    embedding: Tensor
    lm_head: Tensor

    def embed(self, ids: Tensor) -> Tensor:
        return F.embedding(ids, self.embedding)

    def head(self, features: Tensor) -> Tensor:
        return F.linear(features, self.lm_head)


class Target(ABC):
    """A frozen multimodal language model.

    name         catalogue name
    fingerprint  hash of the weights; drafts and dumps are bound to it
    end_ids      token ids that end an answer
    layers       decoder layers of the language model
    context      positions the language model knows, prompt and answer together; None: no limit
    device, dtype, width (D), vocabulary (V)
    """

    name: str
    fingerprint: str
    end_ids: frozenset[int]
    layers: int
    context: int | None = None
    device: torch.device
    dtype: torch.dtype
    width: int
    vocabulary: int

    @classmethod
    @abstractmethod
    def load(cls, weights: str | None, dtype: torch.dtype, device: str) -> "Target":
        """Load from a local folder (None: the weights that ship with the project)."""

    @property
    @abstractmethod
    def ends(self) -> Ends: ...

    @abstractmethod
    def encode(self, sample: Sample) -> Prompt:
        """Tokenise with the chat template. Raises UserError for a picture that is not one.

        Where the last turn has no answer, the prompt ends where the model is to speak.
        """

    @abstractmethod
    def embed_prompt(self, prompt: Prompt) -> Tensor:
        """Token embeddings with the pictures' features merged in [1, L, D] (the vision phase)."""

    @abstractmethod
    def embed(self, ids: Tensor) -> Tensor:
        """[1, R] -> [1, R, D]"""

    @abstractmethod
    def positions(self, prompt: Prompt, start: int, rows: int) -> Tensor:
        """Position ids of the rows start … start+rows-1 of this request ([1, R] or [3, 1, R])."""

    @abstractmethod
    def forward(self, embeds: Tensor, cache: Cache | None, positions: Tensor,
                mask: Tensor | None, keep: int, inner: int | None = None) -> Output:
        """One pass of the language model over `embeds` [B, R, D].

        cache  None: the rows see one another alone
        mask   [B, 1, R, T] bool, True where row r may see cache entry t. None is plain causal attention:
               over rows that begin at entry 0, or of one row that sees all that its cache gives to read
        keep   how many trailing rows get logits
        inner  the decoder layer whose hidden states are wanted too (`Output.inner`); None: of no layer
        """

    def attention_entropy(self, prompt: Prompt) -> Tensor:
        """Mean entropy of each decoder layer's attention over the text behind the pictures, in nats [layers]."""
        raise NotImplementedError(f"{self.name} does not tell how sure its attention is")

    @abstractmethod
    def head(self, features: Tensor) -> Tensor:
        """The LM head; `head(output.features)` equals the model's own logits to the last bit."""

    @abstractmethod
    def decode(self, ids: Sequence[int]) -> str:
        """Text of answer tokens, special tokens left out."""

    def new_cache(self, length: int) -> FixedCache:
        """A preallocated cache of `length` entries for this model."""
        return FixedCache(self.layers, length)
