"""The Grafana board of a running server. `python -m dashboards.grafana` writes `specflash.json` from `board.py`."""
