"""The files for Prometheus, Alertmanager, mixins and Grafana, checked by these programs' tools and a real server."""

import itertools
import json
import re
import subprocess

import pytest

from tests.rigs import prometheus
from tests.rigs.agent_process import Agent
from tests.rigs.host import PATIENCE_S
from tests.rigs.mariadb import free_port
from tests.rigs.source_tree import ROOT
from tests.rigs.wait import until
from tools import make_dashboards

RULES = ROOT / "etc/prometheus/stocktake.rules.yaml"
FILES = [ROOT / f"etc/grafana/{board.uid}.json" for board in make_dashboards.BOARDS]
#: Panels that show nothing on a healthy host, or on a host without LVM, NUMA or Placement.
MAY_BE_EMPTY = {
    *("Outcome of hosts that are not clean", "Worst 20 hosts", "Confirmed findings by code", "Leaked, by class"),
    *("Findings and their age", "Thin pools", "NUMA memory free", "Storage by owner", "Time of writes, p99"),
    "Changes by heal, undo, adopt",
}


def said(*command):
    done = subprocess.run(
        command, cwd=ROOT / "etc/prometheus", capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, done.stdout + done.stderr


def test_promtool_accepts_the_alert_rules():
    code, text = said("promtool", "check", "rules", RULES.name)
    assert (code, "31 rules found" in text) == (0, True), text


def test_each_alert_rule_has_promtool_tests_of_firing_and_of_staying_silent():
    files = ("stocktake.test.yaml", "stocktake-day.test.yaml")
    code, text = said("promtool", "test", "rules", *files)
    assert (code, text.count("SUCCESS")) == (0, len(files)), text
    names = re.findall(r"alert: (\w+)", RULES.read_text())
    tests = "".join((RULES.parent / name).read_text() for name in files)
    lacking = [name for name in names if not (f'"{name} ' in tests and re.search(rf'"{name} \(\w+\) does not', tests))]
    assert lacking == []


def test_amtool_accepts_the_example_of_alert_inhibitions():
    code, text = said("amtool", "check-config", "alertmanager-inhibit.example.yaml")
    assert code == 0, text


def test_the_jsonnet_mixin_has_the_same_rules_and_dashboards_as_the_plain_files():
    code, text = said("jsonnet", "-e", "local m = import 'mixin.libsonnet'; [m.prometheusAlerts, m.grafanaDashboards]")
    assert code == 0, text
    alerts, dashboards = json.loads(text)
    assert len(alerts["groups"][0]["rules"]) == 31
    assert dashboards == {path.name: json.loads(path.read_text()) for path in FILES}


@pytest.mark.parametrize("board", make_dashboards.BOARDS, ids=lambda board: board.uid)
def test_each_dashboard_file_equals_the_output_of_its_generator(board):
    assert (ROOT / f"etc/grafana/{board.uid}.json").read_text() == make_dashboards.text_of(board)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_panels_have_title_unit_and_description_and_do_not_overlap(path):
    panels = json.loads(path.read_text())["panels"]
    assert all(panel["title"] and panel["description"] and panel["fieldConfig"]["defaults"]["unit"] for panel in panels)
    cells = [
        (x, y)
        for grid in (panel["gridPos"] for panel in panels)
        for x, y in itertools.product(range(grid["x"], grid["x"] + grid["w"]), range(grid["y"], grid["y"] + grid["h"]))
    ]
    assert len(cells) == len(set(cells))


@pytest.fixture(scope="module")
def scraped(tmp_path_factory, placement_of_module):
    """Return a Prometheus that scrapes a real agent with a real Placement, and an agent whose Placement is dead."""
    folder = tmp_path_factory.mktemp("monitored")
    agents, ports = [], []
    try:
        for name, url in (("alive", placement_of_module.server.url), ("alone", "http://127.0.0.1:9")):
            (folder / name).mkdir()
            agent, port = Agent(folder / name), free_port()
            agent.configure(url=url, interval=1, extra=f"[metrics]\nuri = tcp://127.0.0.1:{port}")
            agent.start()
            agents.append(agent)
            ports.append(port)
        with prometheus.running(folder / "prometheus", ports, RULES) as server:
            rate = f'rate(stocktake_placement_requests_total{{instance="127.0.0.1:{ports[0]}"}}[30s]) > 0'
            until(lambda: server.query(rate), PATIENCE_S, "requests to Placement between two scrapes")
            yield server, f"127.0.0.1:{ports[0]}"
    finally:
        for agent in agents:
            agent.close()


@pytest.fixture(scope="module")
def placement_of_module(tmp_path_factory):
    from tests.rigs.placement import running

    with running(tmp_path_factory.mktemp("placement")) as rest:
        yield rest


@pytest.mark.parametrize("board", make_dashboards.BOARDS, ids=lambda board: board.uid)
def test_a_real_prometheus_answers_the_expression_of_each_panel(scraped, board):
    server, instance = scraped
    values = {"$instance": instance, "$resourcetype": "VCPU", "$__rate_interval": "30s"}
    empty = set()
    for row in board.rows:
        expression = row.expr
        for name, value in values.items():
            expression = expression.replace(name, value)
        if not server.query(expression):
            empty.add(row.title)
    assert empty <= MAY_BE_EMPTY


def test_in_a_real_prometheus_no_alert_rule_fires_for_a_healthy_agent(scraped):
    server, instance = scraped
    groups = server.get("rules")["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == 31
    assert [rule["name"] for rule in rules if rule["health"] == "err"] == []
    firing = [a["labels"] for a in server.get("alerts")["data"]["alerts"] if a["state"] == "firing"]
    assert [labels for labels in firing if labels.get("instance") == instance] == []


def test_after_tool_runbook_base_the_alerts_link_to_the_runbooks_of_the_site(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text(RULES.read_text())
    code, text = said(ROOT / "tools/runbook-base", "https://wiki.example.org/stocktake/", rules, "--suffix", ".html")
    assert (code, text) == (0, f"{rules}: 31 runbooks are at https://wiki.example.org/stocktake/ now\n")
    urls = set(re.findall(r"runbook_url: (.*)", rules.read_text()))
    names = set(re.findall(r"alert: (\w+)", RULES.read_text()))
    assert urls == {f"https://wiki.example.org/stocktake/{name}.html" for name in names}
    code, text = said("promtool", "check", "rules", rules)
    assert code == 0, text
    assert said(ROOT / "tools/runbook-base", "wiki", rules)[0] == 2
