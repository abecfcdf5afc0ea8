"""The drafts that can be trained, measured and served, by name."""

from specflash.drafts.base import Draft
from specflash.drafts.dream import Dream
from specflash.drafts.eagle import Eagle
from specflash.drafts.eagle2 import Eagle2
from specflash.drafts.eagle_tree import EagleTree
from specflash.drafts.eagle_vlm import EagleVlm
from specflash.drafts.medusa import Medusa
from specflash.drafts.ngram import Ngram
from specflash.drafts.specflash import SpecFlash
from specflash.drafts.specflash_base import SpecFlashBase
from specflash.drafts.specflash_tree import SpecFlashTree
from specflash.drafts.specvlm import SpecVlm
from specflash.drafts.text_only import TextOnly
from specflash.drafts.vanilla import Vanilla

DRAFTS: dict[str, type[Draft]] = {
    "vanilla": Vanilla,
    "eagle": Eagle,
    "eagle-tree": EagleTree,
    "eagle2": Eagle2,
    "eagle-vlm": EagleVlm,
    "specvlm": SpecVlm,
    "dream": Dream,
    "specflash": SpecFlash,
    "specflash-tree": SpecFlashTree,
    "specflash-base": SpecFlashBase,
    "medusa": Medusa,
    "text-only": TextOnly,
    "ngram": Ngram,
}
