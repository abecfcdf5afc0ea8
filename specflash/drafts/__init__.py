"""The drafts that can be trained, measured and served, by name."""

from specflash.drafts.base import Draft
from specflash.drafts.eagle import Eagle
from specflash.drafts.medusa import Medusa
from specflash.drafts.ngram import Ngram
from specflash.drafts.specflash import SpecFlash
from specflash.drafts.specflash_base import SpecFlashBase
from specflash.drafts.text_only import TextOnly
from specflash.drafts.vanilla import Vanilla

DRAFTS: dict[str, type[Draft]] = {
    "vanilla": Vanilla,
    "eagle": Eagle,
    "specflash": SpecFlash,
    "specflash-base": SpecFlashBase,
    "medusa": Medusa,
    "text-only": TextOnly,
    "ngram": Ngram,
}
