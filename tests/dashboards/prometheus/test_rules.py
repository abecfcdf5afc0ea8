"""The files for Prometheus: made of what the server exports, and right in the eyes of promtool."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from flashbench.serve.metrics import series
from flashbench.serve.scrape import FILE

FOLDER = Path(__file__).resolve().parents[3] / "dashboards" / "prometheus"
RULES = [rule for group in yaml.safe_load((FOLDER / "rules.yml").read_text())["groups"] for rule in group["rules"]]


def test_rules_ask_for_what_is_exported_or_recorded():
    recorded = {rule["record"] for rule in RULES if "record" in rule}
    asked = {name for rule in RULES for name in re.findall(r"\b(?:ray_specflash_|specflash:)\w+", rule["expr"])}
    assert asked - recorded <= series()
    assert recorded < asked


def test_every_alert_says_what_happened_and_what_it_means_and_is_played():
    alerts = [rule for rule in RULES if "alert" in rule]
    assert all(rule["annotations"].keys() == {"summary", "description"} and rule["for"] for rule in alerts)
    played = yaml.safe_load((FOLDER / "rules_test.yml").read_text())["tests"]
    fired = {test["alertname"] for part in played for test in part["alert_rule_test"] if test.get("exp_alerts")}
    assert fired == {rule["alert"] for rule in alerts}


def test_the_list_that_serve_writes_is_among_those_that_are_scraped():
    (job,) = yaml.safe_load((FOLDER / "prometheus.yml").read_text())["scrape_configs"]
    assert f"../../runs/demo/{FILE}" in job["file_sd_configs"][0]["files"]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool here (apt-get install prometheus)")
@pytest.mark.parametrize("command", [("check", "config", "prometheus.yml"), ("check", "rules", "rules.yml"),
                                     ("test", "rules", "rules_test.yml")], ids=" ".join)
def test_promtool_agrees(command):
    done = subprocess.run(["promtool", *command], cwd=FOLDER, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
