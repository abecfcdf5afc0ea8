"""What became of every sample that a stage was given: the four counts always add up."""

from dataclasses import dataclass

from flashbench.console import clock


@dataclass(frozen=True)
class Account:
    """total = written + skipped + duplicates + quarantined, or there is no such account.

    written      in this run
    skipped      finished before
    duplicates   same content as another one of the input
    quarantined  left out, with a reason in quarantine.jsonl
    """

    total: int
    written: int = 0
    skipped: int = 0
    duplicates: int = 0
    quarantined: int = 0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        assert self.total == self.written + self.skipped + self.duplicates + self.quarantined, self

    def __str__(self) -> str:
        return (f"{self.total} samples: {self.written} written, {self.skipped} finished before, "
                f"{self.duplicates} repeated, {self.quarantined} in quarantine · {clock(self.seconds)}")
