"""EagleVLM (SpecVLM's base, arXiv 2509.11815, §3.3): EAGLE with an input layer-norm. It knows no target family.

The paper finds one change to EAGLE's draft worth making, an input layer-norm against numerical overflow, and does
not say where it stands. EAGLE's decoder layer lacks the input norm that every other Llama layer has, so we take it
to be that one:

                               before the fusion          before the layer's attention
    eagle (our default)        RMSNorm on e and on h      -
    eagle, input_norm false    -  (EAGLE's own form)      -
    eagle-vlm                  -                          RMSNorm

All else is `eagle`'s, its chain and its placeholder embeddings at visual positions (eagle.py) included.
"""

from typing import ClassVar

from specflash.drafts.base import DraftConfig
from specflash.drafts.eagle import Eagle, EagleConfig


class EagleVlmConfig(EagleConfig):
    """input_norm  RMSNorm before the fusion as well, as `eagle` has it; False is the paper's form"""

    input_norm: bool = False


class EagleVlm(Eagle):
    name = "eagle-vlm"
    Config: ClassVar[type[DraftConfig]] = EagleVlmConfig
    layer_norm: ClassVar[bool] = True
