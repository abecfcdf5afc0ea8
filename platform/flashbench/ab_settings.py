"""Settings of the comparison of decoders on live requests: who answers `auto`, and what is asked twice."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from flashbench.section import Section

Weight = Annotated[float, Field(ge=0)]


class ShadowSettings(Section):
    """Which answered requests a second method decodes as well, unseen by the client.

    method      the second one; what it has answered itself, another one of a weight above 0 decodes as well, so
                that either runs first in some pairs
    share       of the answered requests; 0: none
    deadline_s  from the end of the client's answer to the end of the shadow's; what is late is dropped
    start       after: when the client's answer is finished and nothing else runs here, and given up when a
                request comes; only so do methods that share their processors have comparable times.
                beside: as soon as the client's replica has taken the request, for methods that have
                processors or a GPU of their own; given up when a request comes for the shadow's method
    most        shadows that wait or run; further ones are dropped
    """

    method: str = "vanilla"
    share: float = Field(0.0, ge=0, le=1)
    deadline_s: float = Field(60.0, gt=0)
    start: Literal["after", "beside"] = "after"
    most: int = Field(8, ge=1)


class AbSettings(Section):
    """weights: how often each method answers `auto`, in proportion; none: all equally often.

    salt        goes into the hash of `user`; another one deals the users anew
    keep_pairs  the latest pairs per two methods that the statistics are of
    flush_s     least seconds between two writes of a campaign to MLflow
    """

    weights: dict[str, Weight] = Field({})
    salt: str = "specflash"
    shadow: ShadowSettings = ShadowSettings()
    keep_pairs: int = Field(500, ge=1)
    flush_s: float = Field(60.0, ge=0)

    @model_validator(mode="after")
    def _somebody_answers(self) -> "AbSettings":
        if self.weights and not any(self.weights.values()):
            raise ValueError("one of `weights` must be above 0")
        return self
