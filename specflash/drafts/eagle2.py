"""EAGLE-2 (arXiv 2406.16858): EAGLE's draft, with a tree that follows its own confidence. It knows no target family.

It has no weights of its own: it drafts with those trained as `eagle`. What it adds is in grow.py. The
paper's tree has 60 nodes, 7 levels and 10 branches, for accelerators whose passes cost the same however
many rows they have; the defaults suit a processor, where they do not.
"""

from typing import ClassVar

from specflash.drafts.base import DraftConfig
from specflash.drafts.eagle import Eagle, EagleTreeConfig


class Eagle2(Eagle):
    name = "eagle2"
    trainable = False
    weights_of = "eagle"
    Config: ClassVar[type[DraftConfig]] = EagleTreeConfig
