"""A campaign on disk: its pairs as they come, and what it says. After a kill it is all there but the last pair.

    RUN/ab/NAME/pairs.jsonl     one line per pair, synced before it counts
    RUN/ab/NAME/campaign.json   what `GET /ab/campaign` says, at the start, at each look and at the end
"""

import json
import time
from collections.abc import Collection
from pathlib import Path

from flashbench.journal import Journal, write_json
from flashbench.serve.ab.campaign import Campaign, resumed
from flashbench.serve.ab.pairs import Pair
from specflash.errors import UserError

PAIRS, CAMPAIGN = "pairs.jsonl", "campaign.json"


class Ledger:
    """Of one campaign."""

    def __init__(self, folder: Path):
        self._journal = Journal(folder / PAIRS)
        self._folder = folder

    def add(self, number: int, pair: Pair) -> None:
        self._journal.add({"key": str(number), "fingerprint": pair.prompt, "pair": pair.to_json()})

    def write(self, campaign: Campaign) -> None:
        write_json(self._folder / CAMPAIGN, campaign.told())


def resume(folder: Path, methods: Collection[str]) -> Campaign | None:
    """The campaign that was going on when the server ended, where its methods are still served.

    Raises UserError where a file in the folder is none of ours.
    """
    for path in sorted(folder.glob(f"*/{CAMPAIGN}")):
        try:
            told = json.loads(path.read_bytes())
            if told["ended"] is None and {told["baseline"], told["method"]} <= set(methods):
                return resumed(told, read_pairs(path.parent), time.time())
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{path} is no record of a campaign; move its folder away") from None
    return None


def read_pairs(folder: Path) -> list[Pair]:
    """In the order they came. Raises ValueError, KeyError or TypeError where the file is none of ours."""
    Journal(folder / PAIRS)  # cuts a torn last line off
    records = [json.loads(line) for line in (folder / PAIRS).read_text().splitlines()]
    return [Pair.from_json(record["pair"]) for record in records]
