"""SpecFLASH with a tree: the slots' likeliest tokens, path by path. It knows no target family.

It has no weights of its own: it drafts with those trained as `specflash`. The K slots of one pass give
K laws; their product gives every path a score, and grow.py keeps the best ones. With a refiner, each
path's slots hear that path's own tokens: one small product for the nodes of a level, no other pass.

A natural extension of the paper's chain; Vision Is Not Overhead (arXiv 2609.00355) does the same on
the laws of a diffusion block.
"""

from typing import ClassVar

from pydantic import Field

from specflash.cache import HEADROOM
from specflash.drafts.base import DraftConfig
from specflash.drafts.specflash import SpecFlash, SpecFlashConfig


class SpecFlashTreeConfig(SpecFlashConfig):
    """SpecFLASH's settings, with a tree by default."""

    nodes: int = Field(12, ge=1, lt=HEADROOM)


class SpecFlashTree(SpecFlash):
    name = "specflash-tree"
    trainable = False
    weights_of = "specflash"
    Config: ClassVar[type[DraftConfig]] = SpecFlashTreeConfig
