"""The drafts that can be trained, measured and served, by name."""

from specflash.drafts.base import Draft
from specflash.drafts.eagle import Eagle
from specflash.drafts.specflash import SpecFlash
from specflash.drafts.vanilla import Vanilla

DRAFTS: dict[str, type[Draft]] = {
    "vanilla": Vanilla,
    "eagle": Eagle,
    "specflash": SpecFlash,
}
