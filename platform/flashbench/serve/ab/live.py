"""The comparison as a running server sees it: who answers, what is decoded twice, what the pairs say. No HTTP."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from pydantic import ValidationError

from flashbench.ab_settings import AbSettings
from flashbench.serve.ab.campaigns import Campaigns, Flush
from flashbench.serve.ab.company import Company
from flashbench.serve.ab.pairs import Answer, Pair, Pairs, baseline_first
from flashbench.serve.ab.route import AUTO, check_served, full_weights, pick
from flashbench.serve.ab.shadow import Shadows
from flashbench.serve.ab.stats import difference, told
from flashbench.serve.events import Event, Judge, Order, Started
from flashbench.settings import explain
from specflash.errors import UserError, one_line

log = logging.getLogger("ray.serve")
Json = dict[str, Any]


@dataclass(frozen=True)
class Place:
    """Where campaigns are kept, and who tells MLflow of them."""

    folder: Path
    flush: Flush


class Live:
    """One per ingress. `chance` draws the method of a request without a user, and what is shadowed."""

    def __init__(self, decoders: Mapping[str, Judge], settings: AbSettings, place: Place,
                 chance: Random | None = None):
        self.decoders, self.methods = decoders, list(decoders)
        self._chance = Random() if chance is None else chance
        self._company = Company()
        self._shadows = Shadows(decoders, self._company, self._pair)
        self.campaigns = Campaigns(place.folder, self.methods, self._company, place.flush)
        self._stats: tuple[int, list[Json]] = (0, [])
        self._seen = 0
        self.pairs = Pairs(settings.keep_pairs)
        self._refused: str | None = None
        self.configure(settings)

    def configure(self, settings: AbSettings) -> None:
        """Takes effect with the next request. Raises UserError, and changes nothing, where a name is not served.

        How many pairs are kept stays as it was at the start.
        """
        weights = full_weights(settings.weights, self.methods)
        if settings.shadow.share:
            check_served(settings.shadow.method, self.methods, "shadow.method")
        self._settings, self._weights = settings, weights

    def reconfigure(self, user_config: Mapping[str, Any]) -> None:
        """What a deploy brings. A wrong one is logged and told at `GET /ab/weights`, and all stays as it was.

        Were it raised, Serve would take the only ingress down, and every client with it.
        """
        try:
            self.configure(AbSettings.model_validate(user_config))
            self._refused = None
        except (UserError, ValidationError) as error:
            told = error if isinstance(error, UserError) else explain(error, AbSettings, "user_config")
            self._refused = one_line(str(told))
            log.error("the user_config of the ingress is wrong and changes nothing: %s", self._refused)

    def reweigh(self, weights: Mapping[str, float]) -> None:
        """Raises UserError as `configure` does."""
        self.configure(self._settings.model_copy(update={"weights": dict(weights)}))

    @property
    def weights(self) -> Json:
        """As they were given, the share of the requests that each stands for, and what the last deploy had wrong."""
        total = sum(self._weights.values())
        return {"weights": self._weights, "shares": {name: weight / total for name, weight in self._weights.items()},
                "refused": self._refused}

    def route(self, model: str, user: str | None) -> str:
        """The method that answers: the model itself, unless it is `auto`. Shadows in its way end."""
        method = pick(self._weights, self._settings.salt, user, self._chance) if model == AUTO else model
        self._shadows.give_way(method)
        return method

    async def observed(self, order: Order, method: str,
                       events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        """The client's own events, passed on as they come; once they have all come, the order may be decoded again."""
        self._shadows.give_way(method)
        answer, second = Answer(method, order), None
        try:
            with self._company.working() as work:
                async with aclosing(events):
                    async for event in events:
                        if isinstance(event, Started):
                            other = self.second(method)
                            second = other and self._shadows.offer(order, other, self._settings.shadow)
                        answer.take(event)
                        yield event
            answer.alone = work.alone
            if second is not None and answer.account is not None and not second.done():  # a shadow may be over by now
                second.set_result(answer)
        finally:
            if second is not None:
                second.cancel()  # without an answer; else it has no effect

    @property
    def shadows(self) -> dict[str, int]:
        """What became of the orders that a second method was to decode."""
        return dict(self._shadows.outcomes)

    async def stats(self) -> Json:
        """What `GET /ab/stats` says; computed anew, in a thread, where pairs came since."""
        if self._stats[0] != self._seen:
            seen = self._seen
            with self._company.working():
                self._stats = seen, await asyncio.to_thread(told, self.pairs.snapshot())
        return {"pairs": self._stats[1], "kept_per_pair": self.pairs.keep,
                "shadow": self._settings.shadow.model_dump(), "shadows": self.shadows,
                "differences": [difference(pair) for pair in self.pairs.differences]}

    def second(self, method: str) -> str | None:
        """Who is to decode as well what `method` answers now, if anybody; a campaign goes before the settings."""
        campaign, shadow = self.campaigns.running, self._settings.shadow
        if campaign is not None:
            return campaign.other(method)
        if self._chance.random() >= shadow.share:
            return None
        if method != shadow.method:
            return shadow.method
        others = {name: weight for name, weight in self._weights.items() if weight and name != method}
        return pick(others, "", None, self._chance) if others else None

    async def _pair(self, primary: Answer, shadow: Answer, timed: bool) -> None:
        baseline, method = baseline_first(primary.method, shadow.method, self.methods)
        ours, theirs = (primary, shadow) if primary.method == method else (shadow, primary)
        greedy = primary.order.sampling.temperature == 0
        pair = Pair(method, baseline, ours.account, theirs.account, primary.method,
                    ours.ids == theirs.ids if greedy else None, timed)
        if pair.identical is False:
            pair = await self._judged(pair, ours, theirs)
        self.pairs.add(pair)
        self._seen += 1
        await self.campaigns.add(pair, self._settings.flush_s)

    async def _judged(self, pair: Pair, ours: Answer, theirs: Answer) -> Pair:
        """With what the gate's rule says of the difference, on a replica of the baseline, when nothing else runs."""
        await self._company.quiet()
        try:
            with self._company.working():
                found = await self.decoders[pair.baseline].judge(ours.order, ours.ids, theirs.ids)
            pair = replace(pair, kind="tie" if found["tie"] else "real", position=found["first_difference"],
                           gap=found["gap"])
        except Exception as error:  # the pair counts all the same
            log.warning("a difference could not be judged: %s", error)
            pair = replace(pair, kind="unjudged")
        log.warning("%s and %s say unlike things at temperature 0 to prompt %s, from token %s on (%s, top two logits "
                    "%s apart)", pair.method, pair.baseline, pair.prompt, pair.position, pair.kind, pair.gap)
        return pair
