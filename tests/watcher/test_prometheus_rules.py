# SPDX-License-Identifier: GPL-2.0-only
"""test_prometheus_rules: alert rules and dashboard query what watch measures.

A real Prometheus scrapes the metrics of a recorded run that is replayed, and is asked
every expression of both.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driver import unpacked
from golden_runs import HOMES
from streamed import Repeated
from support import PROJECT
from watcher import scrapes
from writestall.chain.cgroups import label
from writestall.events.run_directory import open_run
from writestall.watch.explaining import Explaining
from writestall.watch.metrics import Metrics
from writestall.watch.reporting import Reporter
from writestall.watch.ring import Bounds, S
from writestall.watch.samples import Cost, Open

ALERTS = PROJECT / "packaging/prometheus/alerts.yml"
CASES = Path(__file__).with_name("alerts.test.yml")
DASHBOARD = json.loads((PROJECT / "packaging/grafana/dashboard.json").read_text())
RUN = HOMES["fsync-storm-6.12"]
LIMIT_S = 60
COLUMNS = 24  # of Grafana's grid
# What Grafana puts in the place of its variables.
VARIABLES = {"$__rate_interval": "1m", "$__range": "1m"}
VARIABLES |= {"$instance": ".*", "$device": ".*"}
CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{alerts}]
scrape_configs:
  - job_name: writestall
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


@pytest.mark.parametrize(
    "words", [("check", "rules", ALERTS), ("test", "rules", CASES)]
)
def test_promtool_accepts_the_rules(words: tuple[Any, ...]) -> None:
    command = unpacked.command(["promtool", *map(str, words)], [PROJECT])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def _fill(metrics: Metrics, lines: Iterator[bytes], until_s: float) -> None:
    """Feed a run that is repeated for so long, by its own clock."""
    run = open_run(RUN)
    explaining, reporter = Explaining(run, Bounds()), Reporter(run, label)
    now_ns = first_ns = 0
    for line in lines:
        now_ns = max(now_ns, explaining.take(line, now_ns))
        first_ns = first_ns or now_ns
        for one in explaining.due(now_ns):
            metrics.add(reporter.reported(one))
        explaining.trim(now_ns, now_ns)
        if now_ns - first_ns > until_s * S:
            break
    metrics.follow(explaining)


class Prometheus:
    """A running one, which answers queries."""

    def __init__(self, folder: Path, port: int) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        place = folder / "prometheus.yml"
        place.write_text(CONFIGURATION.format(alerts=ALERTS, port=port))
        self.process = subprocess.Popen(
            unpacked.command(
                [
                    "prometheus",
                    f"--config.file={place}",
                    f"--storage.tsdb.path={folder / 'data'}",
                    f"--web.listen-address=127.0.0.1:{self._port}",
                ],
                [folder, PROJECT],
            ),
            stderr=(folder / "log").open("w"),
        )

    def get(self, path: str, **words: str) -> Any:
        """The data of an answer."""
        text = urllib.parse.urlencode(words)
        address = f"http://127.0.0.1:{self._port}/api/v1/{path}?{text}"
        with urllib.request.urlopen(address, timeout=LIMIT_S) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        return found["data"]

    def query(self, expression: str) -> list[Any]:
        """The series of an expression, now."""
        return list(self.get("query", query=expression)["result"])

    def until(self, expression: str) -> None:
        """Return once an expression has a series."""
        deadline_s = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline_s:
            try:
                if self.query(expression):
                    return
            except (urllib.error.URLError, ConnectionError):
                pass
            time.sleep(0.2)
        raise AssertionError(f"{expression} has no series")


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """It has scraped a run before and behind some minutes of its stalls."""
    metrics = Metrics()
    port = scrapes.serve(metrics.registry, ("127.0.0.1", 0))
    one = Prometheus(tmp_path_factory.mktemp("prometheus"), port)
    repeated = Repeated(RUN, 20 * S)
    lines = repeated.rounds(4)
    try:
        _measure(metrics, 1.0)
        _fill(metrics, lines, 20)
        one.until("writestall_stall_seconds_count > 10")
        one.until("count_over_time(writestall_armed[1m]) >= 2")
        _fill(metrics, lines, 60)
        _measure(metrics, 2.0)
        one.until("writestall_cpu_seconds_total >= 2")
        time.sleep(2)
        yield one
    finally:
        one.process.kill()
        one.process.wait(LIMIT_S)


def _measure(metrics: Metrics, cpu_s: float) -> None:
    metrics.cost([Cost(name, cpu_s, 1 << 25) for name in ("watch", "engine")])
    metrics.open(Open(1, 40.0))
    metrics.missing(["throtl_qnode_add_bio"])
    metrics.dumped("stall")
    metrics.undumped("pressure")
    metrics.unread(2)


def _expressions() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for row in DASHBOARD["annotations"]["list"]:
        yield row["name"], row["expr"]


def _plain(expression: str) -> str:
    for name, value in VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression, expression
    return expression


@pytest.mark.parametrize(("title", "expression"), list(_expressions()))
def test_every_query_of_the_dashboard_has_an_answer(
    prometheus: Prometheus, title: str, expression: str
) -> None:
    assert prometheus.query(_plain(expression)), title


@pytest.mark.parametrize(
    "expression",
    re.findall(r"label_values\(.*?\)", json.dumps(DASHBOARD["templating"])),
)
def test_every_variable_of_the_dashboard_has_values(
    prometheus: Prometheus, expression: str
) -> None:
    metric, name = re.findall(r"\w+", expression)[1:]
    found = prometheus.get(f"label/{name}/values", **{"match[]": metric})
    assert found


def test_the_rules_are_evaluated_and_the_stall_that_is_open_fires(
    prometheus: Prometheus,
) -> None:
    (group,) = prometheus.get("rules")["groups"]
    assert {rule["health"] for rule in group["rules"]} == {"ok"}
    firing = {rule["name"] for rule in group["rules"] if rule["state"] == "firing"}
    assert {"CallDoesNotEnd", "TracerLacksAProbe", "StallWasRecorded"} <= firing


def test_every_metric_is_shown_or_alerted_on() -> None:
    """Histograms by their samples; a metric that nobody reads is dead weight."""
    asked = " ".join(text for _, text in _expressions()) + ALERTS.read_text()
    for family in Metrics().registry.collect():
        assert family.name in asked, family.name


def test_the_model_of_the_dashboard_is_valid() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= COLUMNS
        taken |= cells
        assert panel["type"] in ("stat", "timeseries", "heatmap", "table")
        assert panel["title"] and panel["description"]
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references) > 0
        for one in (panel, *panel["targets"]):
            assert one["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    kinds = [row["type"] for row in DASHBOARD["templating"]["list"]]
    assert kinds == ["datasource", "query", "query"]
    assert isinstance(DASHBOARD["schemaVersion"], int)
