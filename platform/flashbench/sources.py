"""Opening what the settings call a source. It knows no stage."""

from flashbench.data_settings import SourceSettings
from specflash.data import Chained, Dataset, open_dataset


def open_samples(source: SourceSettings, limit: int | None) -> Dataset:
    """The samples of `source`, at most its first `limit`, and behind them those of the sources it names besides.

    Raises UserError where one does not open.
    """
    own = open_dataset(source.dataset, source.path, source.split, limit, source.prompt, source.frames)
    return Chained([own, *(open_samples(other, other.limit) for other in source.also)]) if source.also else own
