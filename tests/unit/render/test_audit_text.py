"""How an audit is printed for people, on terminals of any width."""

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.placement import Inventory
from agent.model.plan import EMPTY_PLAN, CreateProvider, Plan, PutInventories, PutTraits
from agent.render.audit_text import finding_table, head_lines, plan_lines, source_line
from agent.render.documents import audit_document, finding_document
from tests.rigs.reports import CHILD, FINDING, PROVIDER, REPORT

CONSUMER = "22222222-0000-4000-8000-000000000009"
DOCUMENT = audit_document(REPORT)


def test_the_head_of_the_audit_text_shows_node_outcome_and_every_data_source():
    said = list(head_lines(DOCUMENT))
    assert said[0] == "audit of compute-17.example.org at 2026-11-21T10:00:00.000Z: findings, 1 finding"
    assert said[1] == f"provider {PROVIDER}, role owner, 4 of 4 writes done"
    assert "  libvirt ok, 3.25 ms" in said
    assert "  state NOT READ after 5000 ms (last read 61 s ago): state: timed out" in said


def source(**changes):
    """Return the line of an unread state source with these keys of the report; the value ``...`` removes a key."""
    keys = DOCUMENT["sources"][1] | {"name": "state", "ok": False, "error": "old"} | changes
    return source_line({key: value for key, value in keys.items() if value is not ...})


def test_source_line_shows_a_light_read_and_accepts_a_report_without_read():
    assert source(ok=True, read="light") == "state ok, 5000 ms, light read"
    assert source(ok=True, read="full") == source(ok=True, read=...) == "state ok, 5000 ms"


def test_the_line_of_the_state_source_shows_the_age_of_the_newest_heartbeat():
    assert source(behind_s=70.0).endswith(": old; the newest heartbeat is 70 s old")


def test_the_line_of_the_state_source_shows_how_far_a_heartbeat_is_ahead():
    assert source(behind_s=-70.0).endswith(": old; the newest heartbeat is 70 s ahead")


def test_the_source_line_shows_no_heartbeat_age_if_the_report_has_none():
    assert source(behind_s=...).endswith(": old")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"writes_done": 0}, "nothing written, 4 writes planned"),
        ({"writes_done": 0, "plan": EMPTY_PLAN}, "nothing to write"),
        ({"writes_done": 2}, "2 of 4 writes done"),
    ],
)
def test_the_audit_text_shows_how_many_of_the_planned_writes_were_done(changes, text):
    document = audit_document(dataclasses.replace(REPORT, **changes))
    assert list(head_lines(document))[1].endswith(text)


@pytest.mark.parametrize("width", [20, 80, 120, 200])
def test_the_finding_table_never_splits_a_uuid_and_fits_80_columns(width):
    finding = dataclasses.replace(FINDING.finding, consumer_uuid=CONSUMER, actual="8053063680 bytes " * 20)
    said = list(finding_table([finding_document(dataclasses.replace(FINDING, finding=finding))], width))
    assert len({len(line) for line in said}) == 1
    assert len(said[0]) <= max(width, 73)
    assert any(CONSUMER in line for line in said)
    words = " ".join(line.split("|")[2].strip() for line in said if line.startswith("|"))
    assert words.count("8053063680 bytes") == 20


def test_finding_table_has_one_row_per_finding():
    said = list(finding_table([finding_document(FINDING)] * 3, 100))
    assert sum(line.startswith("+") for line in said) == 4
    assert list(finding_table([], 100)) == []


def test_finding_table_lists_the_most_severe_findings_first():
    # In alphabetical order "info" would come between "error" and "warning".
    quiet = [
        finding_document(dataclasses.replace(FINDING, finding=dataclasses.replace(FINDING.finding, **changes)))
        for changes in (
            {"severity": Severity.INFO, "code": "a"},
            {"severity": Severity.WARNING, "code": "c"},
            {"severity": Severity.WARNING, "code": "b", "resource_class": "VCPU"},
            {"severity": Severity.WARNING, "code": "b", "resource_class": "DISK_GB"},
            {"severity": Severity.ERROR, "code": "d"},
        )
    ]
    lefts = [line.split("|")[1].strip() for line in finding_table(quiet, 100) if line.startswith("|")]
    assert [text for text in lefts if len(text) == 1] == ["d", "b", "b", "c", "a"]
    assert lefts.index("DISK_GB", lefts.index("b")) < lefts.index("VCPU")


def test_the_plan_text_lists_writes_with_units_before_changes_held_back():
    said = list(plan_lines(DOCUMENT["plan"], 400))
    assert said[0] == f"plan {REPORT.plan.digest[:12]}:"
    assert said[1:] == [
        f"  create-provider {CHILD}: named child",
        f"  put-inventories {PROVIDER}: DISK_GB total 500 GiB, reserved 8 GiB, max_unit 500, step_size 1, ratio 1;"
        " VCPU total 48, reserved 0, max_unit 48, step_size 1, ratio 4",
        f"  put-traits {PROVIDER}: +1 -0 traits, 1 in all: +CUSTOM_OWNER_STOCKTAKE",
        f"  put-aggregates {PROVIDER}: none",
        "writes held back, and why:",
        f"  MEMORY_MB of {PROVIDER}: libvirt could not be read",
    ]


def planned(*writes, traits=()):
    return audit_document(dataclasses.replace(REPORT, plan=Plan(writes=writes), traits=traits))["plan"]


def recorded(*names):
    plain = REPORT.traits[0]
    return tuple(dataclasses.replace(plain, trait=name, recorded=True) for name in names)


def test_the_plan_text_lists_changed_traits_and_the_json_document_all_traits():
    kept = tuple(f"COMPUTE_TRAIT_NUMBER_{number}" for number in range(100))
    new = tuple(f"HW_CPU_X86_NEW_{number}" for number in range(30))
    plan = planned(PutTraits(provider_uuid=PROVIDER, traits=(*kept, *new)), traits=recorded(*kept, "CUSTOM_OLD"))
    said = list(plan_lines(plan, 100))[1:]
    assert said[0].startswith(f"  put-traits {PROVIDER}: +30 -1 traits, 130 in all: +HW_CPU_X86_NEW_0,")
    assert max(map(len, said)) <= 100
    listed = " ".join(line.strip() for line in said).partition("in all: ")[2].split(", ")
    assert listed == [*(f"+{name}" for name in sorted(new)), "-CUSTOM_OLD"]
    (write,) = plan["writes"]
    assert (write["added"], write["removed"]) == (sorted(new), ["CUSTOM_OLD"])
    assert write["traits"] == [*kept, *new]


def children(count):
    """Yield the writes for that many equal devices that an audit finds for the first time."""
    device = Inventory(resource_class="CUSTOM_PCI_10DE_1EB8", total=1, max_unit=1)
    for number in range(count):
        uuid = f"11111111-0000-4000-8000-{number:012}"
        yield CreateProvider(provider_uuid=uuid, name=f"dev-{number}", parent_uuid=PROVIDER)
        yield PutInventories(provider_uuid=uuid, inventories=(device,))
        yield PutTraits(provider_uuid=uuid, traits=("CUSTOM_OWNER_STOCKTAKE",))


def test_the_plan_text_groups_equal_writes_to_many_child_providers():
    other = PutInventories(provider_uuid=CHILD, inventories=(Inventory(resource_class="VGPU", total=16, max_unit=16),))
    plan = planned(*children(42), other)
    few = "dev-0, dev-1, dev-2 and 39 more"
    assert list(plan_lines(plan, 400))[1:] == [
        f"  create-provider, 42 equal writes: {few}",
        f"  put-inventories, 42 equal writes: {few}:"
        " CUSTOM_PCI_10DE_1EB8 total 1, reserved 0, max_unit 1, step_size 1, ratio 1",
        f"  put-traits, 42 equal writes: {few}: +1 -0 traits, 1 in all: +CUSTOM_OWNER_STOCKTAKE",
        f"  put-inventories {CHILD}: VGPU total 16, reserved 0, max_unit 16, step_size 1, ratio 1",
    ]
    assert len(plan["writes"]) == 127


def test_the_plan_text_lists_each_write_if_there_are_few_child_providers():
    assert len(list(plan_lines(planned(*children(5)), 400))) == 1 + 15
