"""The visual latent compressor. It knows no text, no positions and no draft."""

import torch
from torch import Tensor, nn


class Compressor(nn.Module):
    """C learned queries, each a softmax-weighted mean of one picture's features (SpecFLASH).

        S = A F_Vᵀ       [C, N]
        W = softmax(S)   over the N tokens
        F̂_V = W F_V      [C, D]

    No scaling, no projections, no positions: any N is accepted and the order of the visual tokens
    does not matter. Every latent lies in the convex hull of the picture's features.
    """

    def __init__(self, latents: int, width: int):
        super().__init__()
        self.queries = nn.Parameter(torch.empty(latents, width))                  # A [C, D]
        nn.init.normal_(self.queries, std=0.02)

    def forward(self, features: Tensor, padding: Tensor) -> Tensor:
        """features [S, N, D] of S pictures, padding [S, N] True behind a picture's end -> [S, C, D]"""
        scores = self.queries @ features.transpose(1, 2)                          # [S, C, N]
        scores = scores.masked_fill(padding[:, None], -torch.inf)
        weights = scores.softmax(-1, dtype=torch.float32).to(features.dtype)      # [S, C, N]
        return weights @ features                                                 # [S, C, D]
