"""The files for Prometheus, Alertmanager, mixins and Grafana, checked by these programs' tools and a real server."""

import contextlib
import datetime
import functools
import itertools
import json
import re
import subprocess
from dataclasses import dataclass

import pytest

from tests.rigs import facts, prometheus
from tests.rigs.agent_process import Agent
from tests.rigs.domains import node_xml
from tests.rigs.host import PATIENCE_S, host_on
from tests.rigs.mariadb import free_port
from tests.rigs.source_tree import ROOT
from tests.rigs.wait import until
from tools import make_dashboards

RULES = ROOT / "etc/prometheus/stocktake.rules.yaml"
FILES = [ROOT / f"etc/grafana/{board.uid}.json" for board in make_dashboards.BOARDS]
#: Panels that may show nothing: nobody has repaired anything, and the hosts have no LVM, no NUMA and few writes.
MAY_BE_EMPTY = {
    *("Thin pools", "NUMA memory free", "Storage by owner", "Time of writes, p99"),
    "Changes by heal, undo, adopt",
}
LONG_AGO = datetime.datetime(2026, 1, 1)  # noqa: DTZ001 - the database's times are naive UTC


def said(*command):
    done = subprocess.run(
        command, cwd=ROOT / "etc/prometheus", capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, done.stdout + done.stderr


def test_promtool_accepts_the_alert_rules():
    code, text = said("promtool", "check", "rules", RULES.name)
    assert (code, "31 rules found" in text) == (0, True), text


def test_promtool_tests_each_alert_rule():
    """Each alert rule for Prometheus has a `promtool` test in which it fires and one in which it does not fire."""
    files = ("stocktake.test.yaml", "stocktake-day.test.yaml")
    code, text = said("promtool", "test", "rules", *files)
    assert (code, text.count("SUCCESS")) == (0, len(files)), text
    names = re.findall(r"alert: (\w+)", RULES.read_text())
    tests = "".join((RULES.parent / name).read_text() for name in files)
    lacking = [name for name in names if not (f'"{name} ' in tests and re.search(rf'"{name} \(\w+\) does not', tests))]
    assert lacking == []


def test_amtool_accepts_the_inhibition_example():
    """Alertmanager's tool `amtool` accepts the example file of rules that mute alerts."""
    code, text = said("amtool", "check-config", "alertmanager-inhibit.example.yaml")
    assert code == 0, text


def test_the_jsonnet_mixin_has_all_alerts_and_dashboards():
    """The Jsonnet mixin has all 31 alert rules and all Grafana dashboards of the repository."""
    code, text = said("jsonnet", "-e", "local m = import 'mixin.libsonnet'; [m.prometheusAlerts, m.grafanaDashboards]")
    assert code == 0, text
    alerts, dashboards = json.loads(text)
    assert len(alerts["groups"][0]["rules"]) == 31
    assert dashboards == {path.name: json.loads(path.read_text()) for path in FILES}


@pytest.mark.parametrize("board", make_dashboards.BOARDS, ids=lambda board: board.uid)
def test_each_dashboard_file_equals_the_generated_one(board):
    """Each Grafana dashboard in the repository is exactly what its generator writes."""
    assert (ROOT / f"etc/grafana/{board.uid}.json").read_text() == make_dashboards.text_of(board)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_dashboard_panels_are_complete_and_do_not_overlap(path):
    """Each panel of a Grafana dashboard has a title, a unit and a description, and no two panels overlap."""
    panels = json.loads(path.read_text())["panels"]
    assert all(panel["title"] and panel["description"] and panel["fieldConfig"]["defaults"]["unit"] for panel in panels)
    cells = [
        (x, y)
        for grid in (panel["gridPos"] for panel in panels)
        for x, y in itertools.product(range(grid["x"], grid["x"] + grid["w"]), range(grid["y"], grid["y"] + grid["h"]))
    ]
    assert len(cells) == len(set(cells))


@dataclass(frozen=True)
class Scraped:
    """A Prometheus that scrapes three agents.

    ``leaking`` and ``healthy`` are the ``instance`` labels of two of them.
    """

    server: prometheus.Prometheus
    leaking: str
    healthy: str


@pytest.fixture(scope="module")
def scraped(tmp_path_factory, placement_of_module):
    """Return a Prometheus that scrapes three real agents each second.

    One has leaks, on libvirt's test driver. One has a dead Placement. One writes a text file, which a real
    node_exporter serves.
    """
    folder = tmp_path_factory.mktemp("monitored")
    ports = {name: free_port() for name in ("leaking", "alone", "file")}
    instances = {name: f"127.0.0.1:{port}" for name, port in ports.items()}
    with contextlib.ExitStack() as stack:
        stack.enter_context(leaking_host(folder / "leaking", placement_of_module, ports["leaking"]).daemon())
        (folder / "textfile").mkdir()
        started = {
            "alone": ("http://127.0.0.1:9", f"uri = tcp://127.0.0.1:{ports['alone']}"),
            "file": (placement_of_module.server.url, f"textfile = {folder}/textfile/stocktake.prom"),
        }
        for name, (url, line) in started.items():
            (folder / name).mkdir()
            agent = Agent(folder / name)
            stack.callback(agent.close)
            agent.configure(url=url, interval=1, extra=f"[metrics]\n{line}")
            agent.start()
        stack.enter_context(prometheus.node_exporter(folder / "textfile", ports["file"]))
        server = stack.enter_context(prometheus.running(folder / "prometheus", list(ports.values()), RULES))
        wait_for_samples(server, instances)
        yield Scraped(server=server, leaking=instances["leaking"], healthy=instances["file"])


def wait_for_samples(server, instances):
    """Wait until Prometheus has several samples of each agent, and knows what is wrong with two of them."""
    conditions = (
        f'rate(stocktake_placement_requests_total{{instance="{instances["leaking"]}"}}[30s]) > 0',
        f'rate(stocktake_audits_total{{instance="{instances["file"]}"}}[30s]) > 0',
        f'stocktake_source_up{{source="placement",instance="{instances["alone"]}"}} == 0',
        f'stocktake_findings{{code="allocation-leaked",confirmed="true",instance="{instances["leaking"]}"}} == 2',
        "count(count_over_time(stocktake_audit_last_timestamp_seconds[30s]) >= 5) == 3",
    )
    for condition in conditions:
        until(functools.partial(server.query, condition), PATIENCE_S, condition)


def leaking_host(folder, placement, port):
    """Return the host of an owner agent with two deleted instances that Placement still counts."""
    folder.mkdir()
    (folder / "node.xml").write_text(node_xml(cpus=64, memory_mib=65536))
    host = host_on(folder, placement.server.url)
    host.configure(
        {
            "DEFAULT": {"update_resources_interval": 1},
            "agent": {"role": "owner"},
            "metrics": {"uri": f"tcp://127.0.0.1:{port}"},
        }
    )
    host.make_cell(*(host.instance(name, deleted=True, deleted_at=LONG_AGO) for name in ("gone", "lost"))).dispose()
    placement.make_provider(host.name, uuid=host.provider_uuid)
    placement.set_inventories(host.provider_uuid, {"VCPU": {"total": 64, "allocation_ratio": 4.0}})
    for name in ("gone", "lost"):
        placement.allocate({host.provider_uuid: {"VCPU": 8}}, facts.uuid(name))
    return host


@pytest.fixture(scope="module")
def placement_of_module(tmp_path_factory):
    from tests.rigs.placement import running

    with running(tmp_path_factory.mktemp("placement")) as rest:
        yield rest


@pytest.mark.parametrize("board", make_dashboards.BOARDS, ids=lambda board: board.uid)
def test_prometheus_has_data_for_the_dashboard_panels(scraped, board):
    """Prometheus has data for all Grafana panels except five, which need LVM, NUMA, repairs or more writes."""
    values = {"$instance": scraped.leaking, "$resourcetype": "VCPU", "$__rate_interval": "30s"}
    empty = set()
    for row in board.rows:
        expression = row.expr
        for name, value in values.items():
            expression = expression.replace(name, value)
        if not (scraped.server.query(expression) and scraped.server.query_range(expression, 60)):
            empty.add(row.title)
    assert empty <= MAY_BE_EMPTY


def test_prometheus_shows_leaked_vcpus(scraped):
    """One of three agents has leaked allocations of 16 VCPU, and Prometheus shows 16 leaked VCPU."""
    (leaked,) = scraped.server.query("sum by (resourcetype) (stocktake_resource_leaked) > 0")
    assert (leaked["metric"], leaked["value"][1]) == ({"resourcetype": "VCPU"}, "16")
    (count,) = scraped.server.query('count(up{job="stocktake"} == 1)')
    assert count["value"][1] == "3"


def test_no_alert_fires_for_a_healthy_agent(scraped):
    """A real Prometheus evaluates all alert rules without an error, and none fires for a healthy agent."""
    server = scraped.server
    groups = server.get("rules")["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == 31
    assert [rule["name"] for rule in rules if rule["health"] == "err"] == []
    firing = [a["labels"] for a in server.get("alerts")["data"]["alerts"] if a["state"] == "firing"]
    assert [labels for labels in firing if labels.get("instance") == scraped.healthy] == []


def test_runbook_base_sets_the_url_of_all_runbook_links(tmp_path):
    """The command `tools/runbook-base` sets the base URL of the runbook links in all alert rules."""
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
