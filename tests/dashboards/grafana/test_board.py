"""The board: as the library makes it, made of nothing but what the server exports."""

import json
import re

import pytest

from flashbench.serve.metrics import METRICS, series

board = pytest.importorskip("dashboards.grafana.board", reason="grafana-foundation-sdk is not installed")


def queries():
    return [query for panels in board.ROWS.values() for panel in panels for query in panel.queries]


def test_the_file_is_what_the_source_says():
    """`python -m dashboards.grafana` writes it anew."""
    assert board.FILE.read_text(encoding="utf-8") == board.board_json()


def test_every_query_asks_for_what_is_exported_and_every_metric_is_on_the_board():
    asked = {name for query in queries() for name in re.findall(r"ray_\w+", query)}
    assert asked <= series()
    assert all(asked & series({name: metric}) for name, metric in METRICS.items())


def test_every_grouping_is_by_tags_that_the_metric_has():
    grouping = re.compile(r"sum by \(([^)]*)\) \((?:rate\()?ray_specflash_(\w+?)(?:_total|_bucket)?\{")
    for query in queries():
        for tags, name in grouping.findall(query):
            known = {"method", "target", *METRICS[name].tags, *(["le"] if METRICS[name].buckets else [])}
            assert {tag.strip() for tag in tags.split(",") if tag.strip()} <= known, query


def test_panels_have_queries_units_and_an_explanation_and_lie_beside_each_other():
    panels = [panel for panel in json.loads(board.board_json())["panels"] if panel["type"] != "row"]
    assert len(panels) == sum(len(row) for row in board.ROWS.values())
    taken = set()
    for panel in panels:
        assert panel["description"] and panel["fieldConfig"]["defaults"]["unit"] and panel["targets"]
        assert [target["refId"] for target in panel["targets"]] == list("ABC"[: len(panel["targets"])])
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken
        taken |= cells
