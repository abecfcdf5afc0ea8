"""How the methods are served, and how a server is put under load. It runs nothing."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from flashbench.ab_settings import AbSettings
from flashbench.section import Section
from flashbench.values import Cpus, Gpus, Seed, Threads

Seconds = Annotated[float, Field(ge=0)]


class ServeSettings(Section):
    """layout: isolated, every method has replicas of its own with a target each, and no method waits for
    another; shared, every replica holds one target and the drafts of all methods, and decodes for one of
    them at a time.

    replicas             of every deployment, unless max_replicas is set
    max_replicas         autoscaling: between min_replicas and it, so that target_ongoing requests (running and
                         waiting, averaged over look_back_s) come to each
    upscale_delay_s, downscale_delay_s   how long that must have asked for more or fewer before it happens
    drain_s              how long running answers may go on when a replica is to end; what waits is refused
    max_queue            requests of one method that may wait; one more is told to come back later
    api_key_env          name of the environment variable that holds the key to be shown; null: none is asked for
    """

    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535)
    api_key_env: str | None = Field(None, min_length=1)
    methods: tuple[str, ...] = ("vanilla", "eagle", "specflash")
    layout: Literal["isolated", "shared"] = "isolated"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    replicas: int = Field(1, ge=1)
    min_replicas: int | None = Field(None, ge=1)
    max_replicas: int | None = Field(None, ge=1)
    target_ongoing: float = Field(2, gt=0)
    upscale_delay_s: Seconds = 10
    downscale_delay_s: Seconds = 120
    look_back_s: float = Field(10, gt=0)
    drain_s: Seconds = 60
    cpus_per_replica: Cpus = 0.5
    gpus_per_replica: Gpus = 0
    threads: Threads = 1
    max_queue: int = Field(64, ge=1)
    max_new_tokens: int = Field(512, ge=1)
    max_body_mb: int = Field(16, ge=1)
    max_pixels: int = Field(32_000_000, ge=1, description="of all pictures of one request")
    max_pictures: int = Field(8, ge=1, description="and clips")
    clip_frames: int = Field(4, ge=1, description="shown of each clip")
    max_prompt_tokens: int = Field(4096, ge=1)
    ab: AbSettings = AbSettings()

    @property
    def most_replicas(self) -> int:
        """Of every deployment, at any time."""
        return self.max_replicas or self.replicas

    @property
    def fewest_replicas(self) -> int:
        return self.replicas if self.max_replicas is None else self.min_replicas or 1

    @model_validator(mode="after")
    def _fixed_or_scaling(self) -> "ServeSettings":
        if self.max_replicas is None:
            if self.min_replicas is not None:
                raise ValueError("`min_replicas` needs `max_replicas`; a fixed number of replicas is `replicas`")
        elif self.replicas != 1:
            raise ValueError("say `replicas`, or `min_replicas` and `max_replicas`, not both")
        elif self.max_replicas < self.fewest_replicas:
            raise ValueError(f"max_replicas {self.max_replicas} is below min_replicas {self.min_replicas}")
        return self


class LoadSettings(Section):
    """What `specflash load` sends to a server.

    deadline_s  after which a request counts as hung
    repeats     of the measurement of HTTP against in process; 0: none
    """

    requests: int = Field(500, ge=1)
    concurrency: int = Field(16, ge=1)
    seed: Seed = 0
    deadline_s: float = Field(300, gt=0)
    repeats: int = Field(15, ge=0)
