"""Hydra-style refinement of slots: a later slot hears which tokens the earlier ones chose. It knows no LM head.

    slot 0     o'_0 = o_0
    slot i     o'_i = o_i + W2_i · ReLU(W1_i [c_i ; o_i]),    c_i = Σ_{j=1..i} e(w_j)

w_j is the token of slot j-1: in decoding the one it drafted, in training the one that is there, x_{t+1+j}, and in
some samples again the one it drafted (own_words.py).
Slots alone are guesses about their own place only, and two good guesses may not fit together.

Ankner et al., "Hydra: Sequentially-Dependent Draft Heads", 2024 (arXiv 2402.05109); SpecFLASH's final form.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Refiner(nn.Module):
    """W1_i, W2_i of slots 1 … K-1; it starts by adding nothing.

    slots   K
    inner   rows of W1_i; the paper's form is D/8
    norm    RMSNorm on the two inputs of W1_i, which differ in scale; False is the paper's form
    """

    def __init__(self, slots: int, width: int, inner: int, norm: bool, dropout: float):
        super().__init__()
        self.norm = nn.RMSNorm(width, eps=1e-6) if norm else nn.Identity()
        self.down = nn.Parameter(torch.randn(slots - 1, inner, 2 * width) * (2 * width) ** -0.5)
        self.up = nn.Parameter(torch.zeros(slots - 1, width, inner))
        self.dropout = nn.Dropout(dropout)

    def forward(self, rows: Tensor, slot: int, said: Tensor) -> Tensor:
        """rows o_i [n, D] of one slot i ≥ 1, said c_i [n, D] -> o'_i [n, D]"""
        heard = torch.cat([said, self.norm(rows)], -1)                            # [n, 2D]
        hidden = F.relu(F.linear(heard, self.down[slot - 1]))                     # [n, inner]
        return rows + self.dropout(F.linear(hidden, self.up[slot - 1]))
