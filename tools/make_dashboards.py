"""Make the Grafana dashboards in etc/grafana from the tables below: .venv/bin/python tools/make_dashboards.py.

The library grafana-foundation-sdk knows Grafana's panels, so a misspelt option is an error here and not a silent gap in
a dashboard. tests/contract/test_monitoring_files.py makes the dashboards again and compares them with the files.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    gauge,
    heatmap,
    prometheus,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import BigValueColorMode, LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import (
    DataSourceRef,
    GridPos,
    ValueMap,
    ValueMappingResult,
    VariableRefresh,
)

FOLDER = Path(__file__).parents[1] / "etc/grafana"
_WIDTH = 24
_KINDS: dict[str, Any] = {
    "stat": stat.Panel,
    "timeseries": timeseries.Panel,
    "table": table.Panel,
    "bargauge": bargauge.Panel,
    "gauge": gauge.Panel,
    "heatmap": heatmap.Panel,
    "state-timeline": statetimeline.Panel,
}
_SIZES = {"stat": (4, 4), "gauge": (8, 6)}
_SIZE = (12, 8)


class Row(NamedTuple):
    """One panel. ``legend`` is Prometheus' template of a series' name, ``unit`` one of Grafana's units."""

    kind: str
    title: str
    unit: str
    legend: str
    description: str
    expr: str


class Board(NamedTuple):
    """One dashboard."""

    uid: str
    title: str
    description: str
    variables: tuple[str, ...]
    rows: tuple[Row, ...]


_CAPACITY = (
    'sum((stocktake_resource_inventory{provider_kind="root",resourcetype="$resourcetype"}'
    ' - stocktake_resource_reserved{provider_kind="root",resourcetype="$resourcetype"})'
    ' * stocktake_resource_allocation_ratio{provider_kind="root",resourcetype="$resourcetype"})'
)
_OUTCOMES = (
    'max by (instance) ((stocktake_audit_outcome{outcome="findings"} * 1)'
    ' or (stocktake_audit_outcome{outcome="partial"} * 2) or (stocktake_audit_outcome{outcome="refused"} * 3)'
    ' or (stocktake_audit_outcome{outcome="unreadable"} * 4) or (stocktake_audit_outcome{outcome="crashed"} * 5)) > 0'
)
_SILENT = (
    "count(time() - stocktake_audit_last_timestamp_seconds > 5 * stocktake_audit_interval_seconds"
    " and stocktake_audit_interval_seconds > 0) or vector(0)"
)
_WORDS = {"0": "not read", "1": "read"}
_OUTCOME_WORDS = {"1": "findings", "2": "partial", "3": "refused", "4": "unreadable", "5": "crashed"}
_BUCKETS = "stocktake_placement_request_duration_seconds_bucket"

FLEET = Board(
    uid="stocktake-fleet",
    title="Stocktake: fleet",
    description="All hosts: what is wrong, since when, and how much of the cloud's capacity it takes.",
    variables=("resourcetype",),
    rows=(
        Row("stat", "Hosts", "short", "hosts", "Hosts whose agent answers.", "count(stocktake_build_info)"),
        Row(
            "stat",
            "Hosts with confirmed errors",
            "short",
            "hosts",
            "Hosts with at least one confirmed finding of severity error.",
            'count(sum by (instance) (stocktake_findings{severity="error",confirmed="true"}) > 0) or vector(0)',
        ),
        Row(
            "stat",
            "Hosts whose findings are not all known",
            "short",
            "hosts",
            "Hosts whose last audit could not read a source, so that some findings could not be checked.",
            "count(stocktake_findings_known == 0) or vector(0)",
        ),
        Row("stat", "Silent audits", "short", "hosts", "Hosts without an audit for five intervals.", _SILENT),
        Row(
            "stat",
            "Leaked, by class",
            "short",
            "{{resourcetype}}",
            "What Placement counts and no instance uses, in the unit of the class (MiB, GiB, pieces).",
            "sum by (resourcetype) (stocktake_resource_leaked)",
        ),
        Row(
            "stat",
            "Writes held back",
            "short",
            "writes",
            "Pending writes that the agents postpone; the logs say why.",
            "sum(stocktake_writes_held_back)",
        ),
        Row(
            "state-timeline",
            "Outcome of hosts that are not clean",
            "short",
            "{{instance}}",
            "The outcome of each host's audits over time; clean hosts are left out.",
            _OUTCOMES,
        ),
        Row(
            "table",
            "Worst 20 hosts",
            "short",
            "{{instance}} {{code}}",
            "The hosts with the most confirmed errors of one code.",
            'topk(20, sum by (instance, code) (stocktake_findings{severity="error",confirmed="true"}) > 0)',
        ),
        Row(
            "timeseries",
            "Confirmed findings by code",
            "short",
            "{{code}}",
            "Confirmed findings of all hosts, those that are not known now included.",
            'sum by (code) (stocktake_findings{confirmed="true"}) > 0',
        ),
        Row(
            "timeseries",
            "Promised, held, recorded",
            "short",
            "{{book}}",
            "The three books of the chosen class; where the lines differ, something is wrong or under way.",
            'sum by (book) (stocktake_book_amount{resourcetype="$resourcetype"})',
        ),
        Row(
            "timeseries", "Capacity", "short", "capacity", "(total - reserved) x ratio of the chosen class.", _CAPACITY
        ),
        Row(
            "bargauge",
            "Least free",
            "short",
            "{{hostname}}",
            "The hosts with the least free amount of the chosen class; a negative amount is over capacity.",
            'bottomk(40, stocktake_resource_free{provider_kind="root",resourcetype="$resourcetype"})',
        ),
        Row(
            "timeseries",
            "Changes by heal, undo, adopt",
            "short",
            "{{code}} {{result}}",
            "Changes of the cloud's books that the journals of the hosts have.",
            "sum by (code, result) (increase(stocktake_heal_changes_total[$__rate_interval]))",
        ),
        Row(
            "table",
            "Versions",
            "short",
            "{{version}}",
            "How many hosts run which version of the agent.",
            "count by (version) (stocktake_build_info)",
        ),
    ),
)

HOST = Board(
    uid="stocktake-host",
    title="Stocktake: host",
    description="One host: its findings, its three books, its storage and the agent itself.",
    variables=("instance", "resourcetype"),
    rows=(
        Row(
            "stat",
            "Outcome",
            "short",
            "{{outcome}}",
            "The outcome of the last audit.",
            'stocktake_audit_outcome{instance="$instance"} == 1',
        ),
        Row(
            "stat",
            "Age of the last complete audit",
            "s",
            "age",
            "Seconds since an audit read every source.",
            'time() - stocktake_audit_last_complete_timestamp_seconds{instance="$instance"}',
        ),
        Row(
            "stat",
            "Confirmed findings",
            "short",
            "{{severity}}",
            "Confirmed findings by severity.",
            'sum by (severity) (stocktake_findings{instance="$instance",confirmed="true"})',
        ),
        Row(
            "stat",
            "Not known now",
            "short",
            "findings",
            "Findings that the last audit could not check.",
            'sum(stocktake_findings_unknown{instance="$instance"})',
        ),
        Row(
            "table",
            "Findings and their age",
            "s",
            "{{code}}",
            "For each code, how long its oldest finding has existed.",
            'time() - stocktake_finding_oldest_timestamp_seconds{instance="$instance"}',
        ),
        Row(
            "timeseries",
            "Promised, held, recorded",
            "short",
            "{{book}}",
            "The three books of the chosen class on this host.",
            'stocktake_book_amount{instance="$instance",resourcetype="$resourcetype"}',
        ),
        Row(
            "bargauge",
            "Free",
            "short",
            "{{provider_kind}} {{resourcetype}}",
            "Capacity minus use by class, in the unit of the class; negative is over capacity.",
            'stocktake_resource_free{instance="$instance"}',
        ),
        Row(
            "timeseries",
            "Storage by owner",
            "bytes",
            "{{store}} {{owner_kind}}",
            "Who owns the bytes of each store.",
            'stocktake_store_owner_bytes{instance="$instance"}',
        ),
        Row(
            "gauge",
            "Thin pools",
            "percentunit",
            "{{pool}}",
            "Used part of each thin pool's data. A full pool stops the writes of its guests.",
            'stocktake_thin_pool_data_used_ratio{instance="$instance"}',
        ),
        Row(
            "state-timeline",
            "Sources",
            "short",
            "{{source}}",
            "Whether the audits could read each source.",
            'stocktake_source_up{instance="$instance"}',
        ),
        Row(
            "heatmap",
            "Audit duration",
            "s",
            "{{le}}",
            "How long audits take.",
            'sum by (le) (increase(stocktake_audit_duration_seconds_bucket{instance="$instance"}[$__rate_interval]))',
        ),
        Row(
            "timeseries",
            "Guests",
            "short",
            "{{kind}} {{state}}",
            "Guests that libvirt has defined: instances of the cloud, and foreign guests.",
            'stocktake_guests{instance="$instance"}',
        ),
        Row(
            "timeseries",
            "NUMA memory free",
            "bytes",
            "cell {{cell}}",
            "Memory of each NUMA cell that no guest with a NUMA topology has.",
            'stocktake_numa_memory_free_bytes{instance="$instance"}',
        ),
        Row(
            "timeseries",
            "Agent memory",
            "bytes",
            "resident",
            "Resident memory of the agent's process.",
            'process_resident_memory_bytes{instance="$instance"}',
        ),
    ),
)


def _quantile(quantile: str, operation: str) -> str:
    return (
        f'histogram_quantile({quantile}, sum by (le) (rate({_BUCKETS}{{operation="{operation}"}}[$__rate_interval])))'
    )


PLACEMENT = Board(
    uid="stocktake-placement",
    title="Stocktake: Placement",
    description="What the agents of all hosts ask of Placement, and how Placement answers.",
    variables=(),
    rows=(
        Row(
            "timeseries",
            "Requests by answer",
            "reqps",
            "{{code}}",
            "Requests of all agents by status; none: no answer came.",
            "sum by (code) (rate(stocktake_placement_requests_total[$__rate_interval]))",
        ),
        Row("timeseries", "Time of reads, p50", "s", "p50", "Half of the reads are faster.", _quantile("0.5", "read")),
        Row("timeseries", "Time of reads, p99", "s", "p99", "99 % of the reads are faster.", _quantile("0.99", "read")),
        Row(
            "timeseries",
            "Time of writes, p99",
            "s",
            "p99",
            "99 % of the writes are faster.",
            _quantile("0.99", "write"),
        ),
        Row(
            "timeseries",
            "Conflicts",
            "ops",
            "{{kind}}",
            "Answers with status 409: another client wrote in between, or the write is not allowed now.",
            "sum by (kind) (rate(stocktake_placement_conflicts_total[$__rate_interval]))",
        ),
        Row(
            "timeseries",
            "Left alone",
            "s",
            "seconds per second",
            "How long the agents paused before reads because Placement answered slowly.",
            "sum(rate(stocktake_placement_pause_seconds_total[$__rate_interval]))",
        ),
        Row(
            "timeseries",
            "Hosts that cannot read it",
            "short",
            "hosts",
            "Hosts whose last audit could not read Placement.",
            'count(stocktake_source_up{source="placement"} == 0) or vector(0)',
        ),
        Row(
            "timeseries",
            "Errors by reason",
            "ops",
            "{{reason}}",
            "Failed reads of Placement by reason.",
            'sum by (reason) (rate(stocktake_source_errors_total{source="placement"}[$__rate_interval]))',
        ),
        Row(
            "timeseries",
            "Writes",
            "ops",
            "{{kind}} {{result}}",
            "Writes of the agents by kind and result.",
            "sum by (kind, result) (rate(stocktake_placement_writes_total[$__rate_interval]))",
        ),
        Row(
            "table",
            "Hosts that ask most",
            "reqps",
            "{{instance}}",
            "The ten agents with the most requests.",
            "topk(10, sum by (instance) (rate(stocktake_placement_requests_total[$__rate_interval])))",
        ),
    ),
)
BOARDS = (FLEET, HOST, PLACEMENT)


def text_of(board: Board) -> str:
    """Return the dashboard as the JSON file that Grafana imports."""
    built = dashboard.Dashboard(board.title).uid(board.uid).description(board.description).tags(["stocktake"])
    built = built.time("now-6h", "now").refresh("1m").timezone("utc")
    built = built.with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
    for name in board.variables:
        built = built.with_variable(_variable(name))
    x = y = height = 0
    for number, row in enumerate(board.rows, start=1):
        w, h = _SIZES.get(row.kind, _SIZE)
        if x + w > _WIDTH or (height and h != height):
            x, y, height = 0, y + height, 0
        built = built.with_panel(_panel(row).id(number).grid_pos(GridPos(h=h, w=w, x=x, y=y)))
        x, height = x + w, h
    document = json.loads(JSONEncoder(sort_keys=True).encode(built.build()))
    # The SDK of Grafana 11.6 writes these keys into every variable; the schema of Grafana 13 does not know them.
    for variable in document["templating"]["list"]:
        for key in ("auto", "auto_count", "auto_min"):
            variable.pop(key, None)
    document["schemaVersion"] = 41
    return json.dumps(document, indent=1, sort_keys=True) + "\n"


def _variable(name: str) -> dashboard.QueryVariable:
    of = {"instance": "stocktake_build_info", "resourcetype": "stocktake_resource_inventory"}
    query = dashboard.QueryVariable(name).label({"instance": "Host", "resourcetype": "Resource class"}[name])
    return query.query(f"label_values({of[name]}, {name})").datasource(_source()).refresh(VariableRefresh(2))


def _source() -> DataSourceRef:
    return DataSourceRef(type_val="prometheus", uid="${datasource}")


def _panel(row: Row) -> Any:
    query = prometheus.Dataquery().ref_id("A").expr(row.expr).legend_format(row.legend)
    query = query.instant() if row.kind in {"table", "stat", "bargauge", "gauge"} else query.range()
    panel = _KINDS[row.kind]().title(row.title).description(row.description).unit(row.unit).datasource(_source())
    panel = panel.with_target(query)
    if row.kind == "timeseries":
        legend = common.VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM)
        panel = panel.legend(legend.show_legend(True))  # noqa: FBT003 - the library's signature
    if row.kind == "stat":
        panel = panel.color_mode(BigValueColorMode.VALUE)
    words = {"Sources": _WORDS, "Outcome of hosts that are not clean": _OUTCOME_WORDS}.get(row.title)
    if words:
        options = {value: ValueMappingResult(text=word) for value, word in words.items()}
        panel = panel.mappings([ValueMap(options=options)])
    return panel


def main() -> int:
    """Write the files."""
    for board in BOARDS:
        (FOLDER / f"{board.uid}.json").write_text(text_of(board))
    return 0


if __name__ == "__main__":
    sys.exit(main())
