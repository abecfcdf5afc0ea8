"""Four ways to make few latents of a picture's many features (SpecVLM §3.4). They know no text and no draft.

                  latents C          of N visual tokens
    Prune         ⌈N / ratio⌉        the tokens themselves, evenly spaced
    Pool          about N / ratio    means over equal parts
    Conv          ⌈N / ratio⌉        one learned map of `ratio` neighbours each
    Resampler     queries            one cross-attention layer over all tokens

Each takes pictures of one size, features [S, N, D], to latents [S, C, D]. Any N ≥ 1 is accepted.
"""

from math import isqrt

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from specflash.drafts.blocks import Attention, BlockShape, View, initialise
from specflash.drafts.rotary import turn


def evenly(tokens: int, latents: int, device: torch.device | None = None) -> Tensor:
    """The middles of `latents` equal parts of a run of `tokens`: [C] int64, ascending."""
    return (2 * torch.arange(latents, device=device) + 1) * tokens // (2 * latents)


def runs(tokens: int, ratio: int) -> int:
    """How many runs of `ratio` tokens there are, the last one perhaps shorter."""
    return -(-tokens // ratio)


class Prune(nn.Module):
    """Keep every `ratio`-th token, whatever it shows.

    The paper drops tokens at random. A draft should see in decoding what it saw in training, and the
    same prompt should be drafted for the same twice; of the fixed choices an even one leaves no part
    of the picture out.
    """

    def __init__(self, ratio: int):
        super().__init__()
        self.ratio = ratio

    def forward(self, features: Tensor) -> Tensor:
        N = features.shape[1]
        return features[:, evenly(N, runs(N, self.ratio), features.device)]


class Pool(nn.Module):
    """Means over equal parts of a picture: of a square one, g × g cells with g² next to N / ratio.

    grid  False: always over runs, so that latent c speaks about the same place as Prune's and Conv's.
          (Where N is no square it is so anyway: nothing is known of the picture's sides.)
    """

    def __init__(self, ratio: int, grid: bool = True):
        super().__init__()
        self.ratio, self.grid = ratio, grid

    def forward(self, features: Tensor) -> Tensor:
        N = features.shape[1]
        side = isqrt(N)
        if not self.grid or side * side != N:
            return F.adaptive_avg_pool1d(features.mT, runs(N, self.ratio)).mT
        cells = max(1, round((N / self.ratio) ** 0.5))
        square = features.mT.unflatten(-1, (side, side))                          # [S, D, n, n]
        return F.adaptive_avg_pool2d(square, cells).flatten(2).mT


class Conv(nn.Module):
    """A convolution along the run whose stride is its kernel, `ratio`; it starts as a mean.

    The last token is repeated where a run lacks some. (Without overlap it is one linear map per run.)
    """

    def __init__(self, ratio: int, width: int):
        super().__init__()
        self.ratio = ratio
        self.kernel = nn.Linear(ratio * width, width)
        self.kernel.weight.data = torch.eye(width).repeat(1, ratio) / ratio
        nn.init.zeros_(self.kernel.bias)

    def forward(self, features: Tensor) -> Tensor:
        N = features.shape[1]
        last = features[:, -1:].expand(-1, -N % self.ratio, -1)
        windows = torch.cat([features, last], 1).unflatten(1, (runs(N, self.ratio), self.ratio))
        return self.kernel(windows.flatten(2))


class Resampler(nn.Module):
    """One cross-attention layer with learned queries; the order of the tokens does not matter.

    Values and outputs start as they are, so that the first latents are weighted means of features.
    """

    def __init__(self, queries: int, shape: BlockShape):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(queries, shape.width))            # [C, D]
        self.attention = Attention(shape)
        self.attention.apply(initialise)
        nn.init.eye_(self.attention.v.weight)
        nn.init.eye_(self.attention.o.weight)
        self.head_dim = shape.head_dim

    def forward(self, features: Tensor) -> Tensor:
        still = turn(torch.zeros(1, dtype=torch.long, device=features.device), self.head_dim, features.dtype)
        queries = self.queries.expand(len(features), 1, -1, -1)                   # [S, 1, C, D]
        return self.attention(queries, still, View(self.attention.keys(features, still)))[:, 0]
