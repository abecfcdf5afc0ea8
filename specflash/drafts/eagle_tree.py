"""EAGLE with its tree (arXiv 2401.15077, §4.1): the same places every round, children drawn without replacement.

It knows no target family, and has no weights of its own: it drafts with those trained as `eagle`. What it
adds is in fixed_tree.py. At temperature 0 the places hold the likeliest tokens. The paper's tree has 25
nodes in 5 levels, for accelerators; the defaults suit a processor.
"""

from typing import ClassVar, Literal

from specflash.drafts.base import DraftConfig
from specflash.drafts.eagle import Eagle, EagleTreeConfig


class DrawnTreeConfig(EagleTreeConfig):
    """A fixed tree whose tokens are drawn, by default."""

    shape: Literal["grown", "fixed"] = "fixed"
    sampled: bool = True


class EagleTree(Eagle):
    name = "eagle-tree"
    trainable = False
    weights_of = "eagle"
    Config: ClassVar[type[DraftConfig]] = DrawnTreeConfig
