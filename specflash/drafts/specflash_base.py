"""SpecFLASH in the paper's base form: slots that do not hear of each other. It knows no target family.

Everything else is the final form's (specflash.py), so that what refinement brings can be trained and
measured side by side with it.
"""

from typing import ClassVar

from specflash.drafts.base import DraftConfig
from specflash.drafts.specflash import SpecFlash, SpecFlashConfig


class SpecFlashBaseConfig(SpecFlashConfig):
    """Without the settings of refinement and of the words it hears: here they are constants."""

    refine: ClassVar[bool] = False
    refine_inner: ClassVar[int] = 0
    own_words: ClassVar[float] = 0.0
    own_words_after: ClassVar[float] = 0.0


class SpecFlashBase(SpecFlash):
    name = "specflash-base"
    Config: ClassVar[type[DraftConfig]] = SpecFlashBaseConfig
