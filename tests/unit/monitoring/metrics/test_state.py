"""The metrics that follow from audits' reports."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from agent.findings import BUILTIN as RULES
from agent.model.finding import FindingState, Severity
from agent.model.heal import JournalCounts
from agent.model.placement import Inventory
from agent.model.report import InventoryRow, Outcome, SourceStatus, StorageRow, ThinPoolUse, Verdict
from agent.model.usage import CellUsage
from agent.monitoring.metrics import text
from agent.monitoring.metrics.catalog import CATALOG, PREFIX
from agent.monitoring.metrics.counters import reason_label
from agent.monitoring.metrics.state import AuditEnd, MetricState, after_audit, after_reload
from agent.placement.http.request_counts import RequestCounts
from agent.telemetry.finding_changes import Change, FindingChange
from tests.rigs.facts import uuid
from tests.rigs.reports import FINDING, PROVIDER, REPORT, VCPU

END = AuditEnd(at=1_700_000_000.0, interval_s=60.0, journal=JournalCounts())
NAMES = ("placement", "state", "libvirt", "lvm", "filesystem")


def sources(*lost, asked=True):
    return tuple(
        SourceStatus(
            name=name,
            ok=name not in lost,
            age_s=0.0,
            duration_ms=250.0,
            error="gone" if name in lost else None,
            reason="timeout" if name in lost else None,
            asked=name not in lost or asked,
        )
        for name in NAMES
    )


CELL = CellUsage(id=0, cpus=2, memory_mib=1024, pinned=(2,), pages=((2048, 10),))
WHOLE = replace(
    REPORT, sources=sources(), cell_usages=(CELL,), guests=(("foreign", "running", 1), ("instance", "running", 2))
)


def after(*reports, end=END, state=None):
    state = state or MetricState()
    for one in reports:
        state = after_audit(state, one, end)
    return state


def shown(state, bus=None):
    """Return every series of the text as {name with labels: value}."""
    scene = text.Scene(state=state, requests=RequestCounts(), version="1.2", bus=bus)
    lines = text.rendered(scene, as_openmetrics=False).decode().splitlines()
    return {key: float(value) for key, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def series(state, name, **labels):
    wanted = ",".join(f'{key}="{value}"' for key, value in sorted(labels.items()))
    return shown(state).get(f"stocktake_{name}{{{wanted}}}" if wanted else f"stocktake_{name}")


def test_unchecked_findings_stay_in_the_metrics():
    """An audit cannot check a known finding, because LVM could not be read.

    The metric findings still counts the finding. The metric findings_unknown counts the finding too.
    """
    unknown = replace(FINDING, state=FindingState.UNKNOWN, unknown_because=("lvm",))
    lost = replace(WHOLE, findings=(unknown,), sources=sources("lvm"), outcome=Outcome.PARTIAL)
    labels = {"code": "volume-foreign", "severity": "warning", "confirmed": "true"}
    before, now = after(WHOLE), after(WHOLE, lost)
    assert [series(state, "findings", **labels) for state in (before, now)] == [1.0, 1.0]
    assert [series(state, "findings_known") for state in (before, now)] == [1.0, 0.0]
    assert [series(state, "findings_unknown", severity="warning") for state in (before, now)] == [0.0, 1.0]


def test_resource_metrics_keep_their_values_if_nothing_is_read():
    """If an audit can read no source, the metrics of resources keep their last values, and source_up is 0."""
    nothing = replace(
        WHOLE,
        sources=sources(*NAMES),
        ledger=(),
        inventory=(),
        storage=(),
        resource_view=None,
        guests=None,
        thin_pools=(),
        outcome=Outcome.UNREADABLE,
    )
    kept = re.compile(r"stocktake_(resource|book|store|thin|guests|numa|huge|findings\{)")
    before, now = shown(after(WHOLE)), shown(after(WHOLE, nothing))
    amounts = {key: value for key, value in before.items() if kept.match(key)}
    assert len(amounts) > 60
    assert {key: now[key] for key in amounts} == amounts
    assert now['stocktake_source_up{source="placement"}'] == 0.0
    assert now['stocktake_source_errors_total{reason="timeout",source="placement"}'] == 1.0


def test_resource_differs_keeps_its_value_without_data():
    """If libvirt is unreadable or an inventory cannot be compared, the metric resource_differs keeps its value."""
    inventory = tuple(replace(row, wanted=row.recorded, is_decided=False) for row in WHOLE.inventory if row.recorded)
    disk = replace(WHOLE.inventory[0], wanted=replace(VCPU, total=1), recorded=VCPU)
    labels = {"hostname": "compute-17.example.org", "provider_kind": "root", "resourcetype": "VCPU"}
    before = replace(WHOLE, inventory=(disk,))
    undecided = replace(WHOLE, inventory=inventory)
    assert series(after(before), "resource_differs", **labels) == 1.0
    assert series(after(before, undecided), "resource_differs", **labels) == 1.0
    assert series(after(undecided), "resource_differs", **labels) is None
    lost = replace(WHOLE, sources=sources("libvirt"))
    assert series(after(before, lost), "resource_differs", **labels) == 1.0


@pytest.mark.parametrize("source", ["state", "libvirt"])
def test_disk_metrics_are_kept_without_nova_or_libvirt(source):
    """If nova's database or libvirt is unreadable, the metrics of guest disk storage keep their last values."""
    unknown = tuple(replace(row, owner_kind="unknown", owner="guests/scratch") for row in WHOLE.storage)
    before, now = after(WHOLE), after(WHOLE, replace(WHOLE, sources=sources(source), storage=unknown))
    assert now.groups["stores"] == before.groups["stores"]
    assert "stores" not in after(replace(WHOLE, sources=sources(source), storage=unknown)).groups


def test_the_size_of_a_volume_group_is_kept_if_lvm_fails():
    """The metric store_size_bytes keeps the last known size of a volume group while the agent cannot read LVM."""
    files = replace(WHOLE.storage[0], store="/srv", store_bytes=100, size_bytes=100)
    both = replace(WHOLE, storage=(*WHOLE.storage, files))
    later = replace(WHOLE, storage=(replace(files, store_bytes=50, size_bytes=50),), sources=sources("lvm"))
    sizes = {name: series(after(both), "store_size_bytes", store=name) for name in ("/srv", "vg guests")}
    now = after(both, later)
    assert series(now, "store_size_bytes", store="/srv") == 50.0
    assert series(now, "store_size_bytes", store="vg guests") == sizes["vg guests"] != 0
    read = after(both, replace(later, sources=sources()))
    assert series(read, "store_size_bytes", store="vg guests") is None


def held_disk(**changes):
    return replace(WHOLE.ledger[0], resource_class="DISK_GB", **changes)


def of_disk(state, book):
    return series(state, "book_amount", book=book, hostname="compute-17.example.org", resourcetype="DISK_GB")


def test_the_metric_of_used_disk_space_is_kept_if_lvm_fails():
    """While LVM is unreadable, the metric book_amount keeps the last value of the disk space used on the host."""
    before = replace(WHOLE, ledger=(*WHOLE.ledger, held_disk(promised=40, held=38, recorded=40)))
    lost = replace(before, sources=sources("lvm"), ledger=(held_disk(promised=50, held=None, recorded=50),))
    assert [of_disk(after(before, lost), book) for book in ("promised", "held", "recorded")] == [50.0, 38.0, 50.0]
    assert of_disk(after(lost), "held") is None


def test_unknown_used_disk_space_has_no_metric():
    """If the disk space used on the host is unknown, the metric book_amount has no value for it."""
    files = replace(WHOLE, ledger=(*WHOLE.ledger, held_disk(promised=40, held=None, recorded=40)))
    assert [of_disk(after(files), book) for book in ("promised", "held", "recorded")] == [40.0, None, 40.0]
    reserve = held_disk(promised=None, held=2, recorded=None, verdict=Verdict.RESERVED)
    assert of_disk(after(replace(files, ledger=(*files.ledger, reserve))), "held") is None
    volume = held_disk(promised=None, held=3, recorded=None, verdict=Verdict.UNMANAGED)
    assert of_disk(after(replace(files, ledger=(*files.ledger, reserve, volume))), "held") == 5.0
    leaked = replace(WHOLE, ledger=(replace(WHOLE.ledger[0], promised=None, held=None, recorded=8),))
    labels = {"hostname": "compute-17.example.org", "resourcetype": "VCPU"}
    assert series(after(leaked), "book_amount", book="held", **labels) == 0.0


def test_promised_amounts_are_absent_before_libvirt_is_read():
    """With [state] source = none, promised amounts come from libvirt, and are absent before libvirt is read."""
    assert WHOLE.nova_versions is None
    labels = {"book": "promised", "hostname": "compute-17.example.org", "resourcetype": "VCPU"}
    recorded = replace(WHOLE.ledger[0], promised=None, held=None, recorded=4)
    lost = replace(WHOLE, sources=sources("libvirt"), ledger=(recorded,))
    assert series(after(lost), "book_amount", **labels) is None
    assert series(after(WHOLE, lost), "book_amount", **labels) == series(after(WHOLE), "book_amount", **labels) != 0


def test_the_leak_metric_is_absent_before_libvirt_is_read():
    """The metric resource_leaked is absent, instead of 0, until the agent has read libvirt once."""
    labels = {"hostname": "compute-17.example.org", "resourcetype": "VCPU"}
    lost = replace(WHOLE, sources=sources("libvirt"))
    assert series(after(lost), "resource_leaked", **labels) is None
    assert series(after(WHOLE, lost), "resource_leaked", **labels) == 0.0


def test_resource_unmanaged_keeps_its_value_without_nova():
    """The metric resource_unmanaged (use by guests unknown to nova) stays if nova's database is unreadable."""
    foreign = replace(WHOLE, ledger=(replace(WHOLE.ledger[0], cause="foreign-guest", promised=None),))
    labels = {"cause": "foreign-guest", "hostname": "compute-17.example.org", "resourcetype": "VCPU"}
    unread = replace(foreign, ledger=WHOLE.ledger, sources=sources("state"))
    assert series(after(foreign, unread), "resource_unmanaged", **labels) == 4.0


def test_placement_metrics_are_absent_before_the_first_read():
    """If Placement was never read, the metrics resource_used and resource_leaked are absent instead of 0."""
    found = shown(after(replace(WHOLE, sources=sources("placement"), inventory=())))
    assert not [key for key in found if key.startswith(("stocktake_resource_used", "stocktake_resource_leaked"))]


def test_source_up_is_kept_if_an_audit_skips_the_source():
    """If an audit does not try to read Placement, the metric source_up of Placement keeps its last value."""
    lost = replace(WHOLE, sources=sources("placement", asked=False))
    assert series(after(WHOLE, lost), "source_up", source="placement") == 1.0
    assert series(after(lost), "source_up", source="placement") is None


def test_an_audit_without_lvm_is_not_complete():
    """If an audit cannot read LVM, audit_last_complete_timestamp_seconds keeps the time of an earlier audit."""
    later = replace(END, at=END.at + 60)
    state = after(replace(WHOLE, sources=sources("lvm")), state=after(WHOLE), end=later)
    assert series(state, "audit_last_complete_timestamp_seconds") == END.at
    assert series(state, "audit_last_timestamp_seconds") == later.at


def test_metrics_with_fixed_labels_exist_from_the_start():
    """Counters with fixed labels exist with value 0 before their first event, for example crashed audits."""
    found = shown(MetricState())
    assert found['stocktake_audits_total{outcome="crashed"}'] == 0.0
    assert found['stocktake_heal_changes_total{code="undo",result="unknown"}'] == 0.0
    after_one = shown(after(WHOLE))
    for rule in RULES:
        key = f'stocktake_findings{{code="{rule.code}",confirmed="true",severity="{rule.severity.value}"}}'
        assert key in after_one


def test_metric_counters_survive_a_reload():
    """Counters in the metrics add up over several audits and are not reset by a reload of the configuration."""
    change = FindingChange(change=Change.APPEARED, seen=FINDING)
    end = replace(END, changed=(change,), journal=JournalCounts(new_changes=(("allocation-leaked", "done", 2),)))
    report = replace(WHOLE, conflict_kinds=(("provider-generation", 3),), write_results=(("traits", "refused", 1),))
    state = after_reload(after(report, report, end=end), 5.0, is_successful=False)
    assert series(state, "audits_total", outcome="findings") == 2.0
    assert series(state, "placement_conflicts_total", kind="provider-generation") == 6.0
    assert series(state, "placement_writes_total", kind="traits", result="refused") == 2.0
    assert series(state, "finding_changes_total", severity="warning", change="appeared") == 2.0
    assert series(state, "heal_changes_total", code="allocation-leaked", result="done") == 4.0
    assert series(state, "source_read_duration_seconds_sum", source="lvm") == 0.5
    assert series(state, "config_last_reload_successful") == 0.0


@pytest.mark.parametrize(
    ("reason", "label"),
    [
        *(("start-up", "start"), ("interval", "interval"), ("libvirt-event:lifecycle", "event"), ("reload", "reload")),
        *(("libvirt-connected", "event"), ("signal: USR1", "signal"), ("rpc: audit_now", "rpc"), ("retry", "retry")),
        *(("look-again", "look_again"), ("anything", "other")),
    ],
)
def test_each_audit_reason_becomes_a_metric_label_value(reason, label):
    """The reason for an audit is a label value in the metrics. An unknown reason becomes "other"."""
    assert reason_label(reason) == label


def crowded():
    """A report with more classes, stores, owners and pools than the metrics show."""
    classes = [f"CUSTOM_{number:02}" for number in range(40)]
    inventories = [Inventory(resource_class=name, total=1, max_unit=1) for name in ("VCPU", "DISK_GB", *classes)]
    rows = tuple(
        InventoryRow(provider="p", provider_uuid=PROVIDER, wanted=one, recorded=one, used=0) for one in inventories
    )
    storage = tuple(
        StorageRow(
            store=f"vg {number:02}",
            owner_kind=f"kind{number:02}",
            owner="",
            what="",
            size_bytes=1,
            source="lvm",
            store_bytes=1,
        )
        for number in range(30)
    )
    pools = tuple(
        ThinPoolUse(path=f"vg/{number:02}", data_ratio=0.5, metadata_ratio=0.1, overcommit_ratio=2.0)
        for number in range(20)
    )
    return replace(WHOLE, inventory=rows, storage=storage, thin_pools=pools)


def test_metrics_show_a_limited_number_of_resource_classes():
    """For a host with 42 resource classes, the metrics show 8 of them, among them VCPU and DISK_GB."""
    state = after(crowded())
    classes = {sample.labels[2] for sample in state.gauges["resource_inventory"]}
    assert {"VCPU", "DISK_GB"} < classes
    assert len(classes) == 8
    assert len(state.gauges["store_size_bytes"]) == 3
    assert len(state.gauges["thin_pool_data_used_ratio"]) == 4
    assert state.left_out > 200
    assert len(shown(state)) <= 500


def test_more_guests_cause_no_more_metrics():
    """The metrics page has the same series for 1000 guests with 1000 findings as for a few guests."""
    row = WHOLE.ledger[0]
    many = tuple(replace(row, consumer_uuid=uuid(f"g{n}"), consumer_key=uuid(f"g{n}")) for n in range(1000))
    findings = tuple(replace(FINDING, finding=replace(FINDING.finding, subject=f"guests/{n}")) for n in range(1000))
    assert set(shown(after(WHOLE))) == set(shown(after(replace(WHOLE, ledger=many, findings=findings))))


def test_no_metric_label_contains_a_uuid_or_a_guests_name():
    found = shown(after(WHOLE))
    assert len(found) > 200
    named = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|scratch|\"vm\"")
    assert [key for key in found if named.search(key)] == []


def test_the_metrics_page_contains_the_catalog():
    """Every metric of the catalog is on the metrics page. Only audit_running_seconds and heal_waiting may be absent."""
    state = after(crowded(), replace(WHOLE, heal=None))
    scene = text.Scene(
        state=state, requests=RequestCounts(), version="1", bus=text.BusCounts(failures=0, waiting=0, dropped=0)
    )
    names = {family.name.removeprefix(PREFIX) for family in text.families(scene)}
    assert set(CATALOG) - names <= {"audit_running_seconds", "heal_waiting"}


def test_findings_unknown_has_a_series_for_each_severity():
    """The metric findings_unknown has one series for each severity that a finding can have."""
    labels = {sample.labels[0] for sample in after(WHOLE).gauges["findings_unknown"]}
    assert labels == {severity.value for severity in Severity}


def test_promtool_accepts_the_metrics_page():
    """Prometheus' own tool `promtool check metrics` finds no error in the metrics of the agent."""
    assert shutil.which("promtool"), "promtool is missing: Debian's package prometheus"
    scene = text.Scene(
        state=after(crowded(), WHOLE),
        requests=RequestCounts().answered("GET", 200, 0.02),
        version="1.2",
        bus=text.BusCounts(failures=1, waiting=2, dropped=3),
    )
    body = text.rendered(scene, as_openmetrics=False) + text.of_now(0.0, as_openmetrics=False)
    done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, check=False, timeout=60)
    # process_* are prometheus-client's own.
    said = [line for line in (done.stdout + done.stderr).decode().splitlines() if not line.startswith("process_")]
    assert (done.returncode in {0, 3}, said) == (True, [])
