"""Where training gets its features from: the store that a dump left, or the target itself. It knows no draft."""

import torch

from flashbench.dump.source import check_intact, read_source, source_store
from flashbench.dump.store import FeatureStore
from flashbench.settings import Settings
from flashbench.train.data import Source
from flashbench.train.online import index_source, open_online
from specflash.errors import UserError
from specflash.targets import target_fingerprint


def checked_features(settings: Settings) -> Source:
    """For the driver. Raises UserError where they are of another target or source than the settings say, or not all."""
    if settings.train.features == "online":
        return index_source(settings)
    dumped = read_source(settings.dump_folder)
    store = dumped.store()
    if target_fingerprint(settings.target.name, settings.target.weights) != store.manifest.fingerprint:
        raise UserError(f"{store.folder} holds features of other weights than those of the target "
                        f"`{settings.target.name}`: dump its features into another run folder")
    dumped.check_source(settings.dump.source)
    dumped.check_complete(store)
    return store


def open_features(settings: Settings, device: torch.device) -> Source:
    """For a worker, once the driver has checked them."""
    if settings.train.features == "online":
        return open_online(settings, device)
    return source_store(settings.dump_folder)


def check_bytes(features: Source) -> None:
    """Raises UserError where stored bytes have changed; what is not stored cannot."""
    if isinstance(features, FeatureStore):
        check_intact(features)
