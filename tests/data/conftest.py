"""Tables keep their Arrow copies in a folder of the tests."""

import pytest


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """Where the library `datasets` keeps what it converts."""
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return tmp_path / "cache"
