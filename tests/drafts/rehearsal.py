"""Drafts that choose tokens of a text, so that their sessions go through every number of kept tokens."""

import torch

from specflash.drafts.base import Draft
from specflash.records import Proposal


def rehearse(made: Draft, text: list[int], seed: int) -> Draft:
    """Its choices are tokens of `text`, or wrong ones; its sessions stay what they are."""
    generator, start = torch.Generator().manual_seed(seed), made.start
    place = {}

    def started(*arguments):
        session = start(*arguments)
        propose, advance = session.propose, session.advance
        place["committed"] = 1

        def proposing(*arguments):
            place["next"] = place["committed"]
            return propose(*arguments)

        def advancing(ids, features):
            place["committed"] += len(ids)
            advance(ids, features)

        session.propose, session.advance = proposing, advancing
        return session

    def choose(rows, sampling, chance):
        tokens = torch.tensor(text[place["next"] : place["next"] + len(rows)], dtype=torch.long)
        place["next"] += len(rows)
        wrong = torch.rand(len(tokens), generator=generator) >= 0.7
        return Proposal(torch.where(wrong, (tokens + 1) % 300, tokens))

    made.start, made.choose = started, choose
    return made
