"""Two actors that wait for each other, so that a tiny target does not leave all the work to one."""

import os
import time

import pyarrow as pa

from flashbench.dump.extract import Extractor

SECONDS = 120


class MeetingExtractor(Extractor):
    """The real one, but its first call goes on only when another actor has been called too.

    Otherwise one actor may be done with each batch before the next one is read, and Ray Data gives
    it the next one again.
    """

    def __call__(self, batch: pa.Table) -> pa.Table:
        place = self.settings.run / "met"
        place.mkdir(exist_ok=True)
        (place / str(os.getpid())).touch()
        deadline = time.monotonic() + SECONDS
        while len(list(place.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        return super().__call__(batch)
