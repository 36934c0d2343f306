"""Numbers above 64 bits in documents of other programs: the error names the field, and the agent never crashes."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from agent.bus.host_state import Sending, host_state
from agent.conductor.node_wire import record_from_fields
from agent.errors import AgentError, PlacementUnavailable, SourceInconsistent
from agent.fleet.host import host_seen
from agent.host_files.journal import parsed
from agent.placement import offer_wire, wire
from agent.render.documents import report_document, report_from_json
from agent.render.status import LastReport, last_report
from agent.sources.nova.documents import flavors_from_document
from agent.sources.nova.rows import migration_from_row, node_from_row
from agent.sources.storage.ceph_json import parse_pool
from agent.sources.storage.ndctl_json import parse_namespaces
from agent.sources.storage.shared_storage import registered_hosts
from agent.text.numbers import MOST, finite, unbounded, whole, whole_text
from tests.rigs.reports import REPORT

LARGE = {
    "400 digits": "9" * 400,
    "a negative one": "-" + "9" * 400,
    "2 to the power of 63": str(2**63),
    "NaN": "NaN",
    "Infinity": "Infinity",
    "1e999": "1e999",
    "true": "true",
}
DOCUMENT = report_document(REPORT)
LATE = {**DOCUMENT["audit"], "duration_ms": "NUMBER"}
USED = {**DOCUMENT["inventory"][0], "used": "NUMBER"}


def inventory(field: str) -> str:
    return f'{{"resource_provider_generation": 1, "inventories": {{"VCPU": {{"total": 8, "{field}": NUMBER}}}}}}'


def flavor(field: str) -> str:
    data = {"id": 1, "name": "f", "vcpus": 1, "memory_mb": 1, "root_gb": 1, "ephemeral_gb": 1, "swap": 0}
    primitive = {
        "nova_object.name": "Flavor",
        "nova_object.version": "1.2",
        "nova_object.data": {**data, field: "NUMBER"},
    }
    return json.dumps({"cur": primitive}).replace('"NUMBER"', "NUMBER")


def shown(text: str) -> LastReport:
    return last_report(report_from_json(text), "report.json", DOCUMENT["audit"]["started_at"], 60.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of one document: the text NUMBER stands for the number."""

    parse: Callable[[str], object]
    text: str
    says: str
    kind: type[AgentError] = SourceInconsistent


def placement(parse: Callable[[object], object], text: str, says: str) -> Field:
    return Field(parse=lambda found: parse(json.loads(found)), text=text, says=says, kind=PlacementUnavailable)


OF_C = '{"consumer_generation": 1, "resources": {"VCPU": NUMBER}}'
HELD = f'{{"resource_provider_generation": 1, "allocations": {{"c": {OF_C}}}}}'
FIELDS = {
    **{
        f"inventory {name}": placement(wire.parse_inventories, inventory(name), name)
        for name in ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
    },
    "generation": placement(wire.parse_traits, '{"resource_provider_generation": NUMBER, "traits": []}', "generation"),
    "a provider's": placement(wire.parse_provider, '{"uuid": "u", "name": "n", "generation": NUMBER}', "generation"),
    "allocated": placement(lambda body: wire.parse_allocations(body, "p", 9), HELD, "VCPU"),
    "consumer": placement(
        lambda body: wire.parse_allocations(body, "p", 9),
        HELD.replace('"consumer_generation": 1', '"consumer_generation": NUMBER').replace(
            '"VCPU": NUMBER', '"VCPU": 1'
        ),
        "consumer_generation",
    ),
    "usages": placement(
        offer_wire.parse_usages, '{"resource_provider_generation": 1, "usages": {"VCPU": NUMBER}}', "VCPU"
    ),
    "summaries": placement(
        offer_wire.parse_summaries, '{"provider_summaries": {"p": {"resources": {"VCPU": {"used": NUMBER}}}}}', "VCPU"
    ),
    "ceph": Field(
        parse=lambda text: parse_pool(text, "p"),
        text='{"stats": {"total_bytes": NUMBER}, "pools": [{"name": "p", "stats": {"max_avail": 1, "bytes_used": 2}}]}',
        says="total_bytes",
    ),
    "ndctl": Field(
        parse=parse_namespaces,
        text='[{"name": "a", "size": NUMBER, "daxregion": {"align": 1, "devices": [{"chardev": "dax0.0"}]}}]',
        says="size",
    ),
    "flavor": Field(parse=lambda text: flavors_from_document(text, "x"), text=flavor("vcpus"), says="vcpus"),
    "compute node": Field(
        parse=lambda text: node_from_row(json.loads(text)),
        text='{"id": 1, "uuid": "u", "host": "h", "hypervisor_hostname": "n", "vcpus": NUMBER}',
        says="vcpus",
    ),
    "migration": Field(
        parse=lambda text: migration_from_row(json.loads(text)),
        text='{"id": 1, "instance_uuid": "u", "status": "done", "new_instance_type_id": NUMBER}',
        says="new_instance_type_id",
    ),
    "record": Field(
        parse=lambda text: record_from_fields(json.loads(text)),
        text='{"id": 1, "uuid": "u", "host": "h", "hypervisor_hostname": "n", "cpu_allocation_ratio": NUMBER}',
        says="cpu_allocation_ratio",
    ),
    "report": Field(
        parse=shown,
        text=json.dumps({**DOCUMENT, "audit": LATE}).replace('"NUMBER"', "NUMBER"),
        says=r"audit\.duration_ms is not a 64-bit number",
    ),
}


# A report may have a truth value anywhere, and a ratio need not be an integer.
FITS = {("report", "true"), ("record", "2 to the power of 63"), ("inventory allocation_ratio", "2 to the power of 63")}
CASES = [(field, number) for field in FIELDS for number in LARGE if (field, number) not in FITS]


@pytest.mark.parametrize(("field", "number"), CASES)
def test_an_error_about_an_invalid_number_shows_the_field(field, number):
    """An invalid number, such as NaN or one with 400 digits, is refused with an error that shows its field."""
    case = FIELDS[field]
    case.parse(case.text.replace("NUMBER", "1"))
    with pytest.raises(case.kind, match=case.says):
        case.parse(case.text.replace("NUMBER", LARGE[number]))


@pytest.mark.parametrize("number", ["9" * 400, "NaN", "1e999"])
def test_a_report_row_with_an_invalid_number_is_left_out(number):
    """A row of a saved report is left out if it contains NaN or a number with 400 digits."""
    text = json.dumps({**DOCUMENT, "inventory": [USED, *DOCUMENT["inventory"]]}).replace('"NUMBER"', number)
    found = shown(text)
    assert len(found.inventory) == len(DOCUMENT["inventory"])
    assert found.problems == ("inventory[0]: used is not a 64-bit number",)


@pytest.mark.parametrize("number", ["9" * 30, "9" * 400, "9" * 5000])
def test_an_oversized_amount_in_an_extra_spec_is_refused(number):
    """A flavor with 30 or more digits in `resources1:VCPU` is refused with an error that shows this extra spec."""
    data = {"id": 1, "name": "f", "vcpus": 1, "memory_mb": 1, "root_gb": 1, "ephemeral_gb": 1, "swap": 0}
    data["extra_specs"] = {"resources1:VCPU": number}
    primitive = {"nova_object.name": "Flavor", "nova_object.version": "1.2", "nova_object.data": data}
    with pytest.raises(SourceInconsistent, match="resources1:VCPU"):
        flavors_from_document(json.dumps({"cur": primitive}), "x")


@pytest.mark.parametrize("number", ["9" * 400, "NaN", "1e999"])
def test_a_compute_nodes_entry_with_a_bad_time_is_ignored(tmp_path, number):
    """nova-compute lists hosts and times in the file `compute_nodes`.

    The agent ignores a host with a time such as NaN.
    """
    (tmp_path / "compute_nodes").write_text(f'{{"a": {number}}}')
    assert registered_hosts(str(tmp_path), 1e9) == ()


@pytest.mark.parametrize("number", ["9" * 400, "NaN", "1e999"])
def test_a_journal_line_with_an_invalid_number_is_skipped(number):
    """The agent skips a journal line with an invalid number, such as NaN, and reports the line and the field."""
    change = {"schema_version": 1, "line": "change", "id": "e1", "at": "x", "kind": "allocations", "why": "w"}
    line = json.dumps({**change, "before": {"amounts": [1, "NUMBER"]}, "after": None})
    read = parsed(line.replace('"NUMBER"', number).encode() + b"\n")
    problem = "line 1 is skipped: the number in before.amounts[1] is not a finite 64-bit number"
    assert (read.entries, read.problems) == ((), (problem,))


@pytest.mark.parametrize("number", ["9" * 400, "NaN", "1e999"])
def test_a_host_state_message_with_a_bad_number_is_refused(number):
    """A host state message of an agent is refused if a number is NaN or too large. The error shows the field."""
    message = host_state(REPORT, Sending(at="2026-11-21T10:00:05.000Z", interval_s=60.0, agent_version="1"))
    for name in ("interval_s", "guests"):
        with pytest.raises(SourceInconsistent, match=name):
            host_seen({**message, name: json.loads(number)}, 1000.0)
    rows = [{**message["resources"][0], "free": json.loads(number)}]
    with pytest.raises(SourceInconsistent, match="free"):
        host_seen({**message, "resources": rows}, 1000.0)


def test_number_checks_return_none_for_an_invalid_value():
    """The helpers `whole`, `finite` and `whole_text` return None for an oversized number and for a wrong type."""
    assert [whole(value) for value in (MOST, -MOST, 0, MOST + 1, 1.0, True, "1", None)] == [
        MOST, -MOST, 0, None, None, None, None, None
    ]  # fmt: skip
    assert [finite(value) for value in (1, 1.5, 10**300, 10**400, float("inf"), float("nan"), True, "1")] == [
        1.0, 1.5, 1e300, None, None, None, None, None
    ]  # fmt: skip
    assert [whole_text(text) for text in ("0", "007", str(MOST), str(MOST + 1), "", "x", "0" * 5000 + "7")] == [
        0, 7, MOST, None, None, None, 7
    ]  # fmt: skip
    assert unbounded({"a": [1, {"b": 10**400}]}) == "a[1].b"
    assert unbounded({"a": [1, "9" * 400, True, None, 1.5]}) is None
