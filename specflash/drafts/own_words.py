"""Scheduled sampling: which samples of a training step hear the draft's own words. It knows no draft.

A refined slot is taught behind the right words and drafts behind its own. So, as training goes on, ever more
samples are read with the words that the draft itself said:

    share of the samples
    last                      /        after   share of the training that is over when it begins to rise
                         /
    0     ----------'
          0       after      1         share of the training that is over

Bengio et al., "Scheduled Sampling for Sequence Prediction with Recurrent Neural Networks", 2015
(arXiv 1506.03099); the linear form and its figures are SpecFLASH's.
"""

import torch
from torch import Tensor


def share_at(over: float, last: float, after: float) -> float:
    """Share of the samples that hear the draft's own words when `over` [0, 1] of the training is done."""
    return last * max(0.0, (over - after) / (1 - after))


def toss(samples: int, share: float, device: torch.device) -> Tensor:
    """One coin per sample, so that a sample is read with one kind of words from end to end: [samples] bool

    Without a share nothing is drawn from torch's generator: dropout is then what it is without coins.
    """
    if not share:
        return torch.zeros(samples, dtype=torch.bool, device=device)
    return torch.rand(samples, device=device) < share
