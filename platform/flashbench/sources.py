"""Opening what the settings call a source. It knows no stage."""

from flashbench.data_settings import SourceSettings
from specflash.data import Dataset, open_dataset


def open_samples(source: SourceSettings, limit: int | None) -> Dataset:
    """The samples of `source`, at most its first `limit`. Raises UserError where it does not open."""
    return open_dataset(source.dataset, source.path, source.split, limit, source.prompt, source.frames)
