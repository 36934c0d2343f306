"""How an audit is written for people, on terminals of any width."""

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.plan import EMPTY_PLAN
from agent.telemetry.audit_text import finding_table, head_lines, plan_lines
from agent.telemetry.documents import audit_document, finding_document
from tests.rigs.reports import CHILD, FINDING, PROVIDER, REPORT

CONSUMER = "22222222-0000-4000-8000-000000000009"
DOCUMENT = audit_document(REPORT)


def test_head_says_node_outcome_and_every_source():
    said = list(head_lines(DOCUMENT))
    assert said[0] == "audit of compute-17.example.org at 2026-11-21T10:00:00.000Z: findings, 1 finding"
    assert said[1] == f"provider {PROVIDER}, role owner, 4 of 4 writes done"
    assert "  libvirt ok, 3.25 ms" in said
    assert "  state NOT READ after 5000 ms (last read 61 s ago): state: timed out" in said


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"writes_done": 0}, "nothing written, 4 writes planned"),
        ({"writes_done": 0, "plan": EMPTY_PLAN}, "nothing to write"),
        ({"writes_done": 2}, "2 of 4 writes done"),
    ],
)
def test_head_says_what_was_written(changes, text):
    document = audit_document(dataclasses.replace(REPORT, **changes))
    assert list(head_lines(document))[1].endswith(text)


@pytest.mark.parametrize("width", [20, 80, 120, 200])
def test_table_keeps_uuids_whole_and_fits_from_80_columns_on(width):
    finding = dataclasses.replace(FINDING.finding, consumer_uuid=CONSUMER, actual="8053063680 bytes " * 20)
    said = list(finding_table([finding_document(dataclasses.replace(FINDING, finding=finding))], width))
    assert len({len(line) for line in said}) == 1
    assert len(said[0]) <= max(width, 73)
    assert any(CONSUMER in line for line in said)
    words = " ".join(line.split("|")[2].strip() for line in said if line.startswith("|"))
    assert words.count("8053063680 bytes") == 20


def test_table_has_one_row_a_finding():
    said = list(finding_table([finding_document(FINDING)] * 3, 100))
    assert sum(line.startswith("+") for line in said) == 4
    assert list(finding_table([], 100)) == []


def test_table_lists_the_loud_ones_first():
    # As text, "info" would stand between "error" and "warning".
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


def test_plan_lists_writes_with_units_and_what_is_held_back():
    said = list(plan_lines(DOCUMENT["plan"]))
    assert said[0] == f"plan {REPORT.plan.digest[:12]}:"
    assert said[1:] == [
        f"  create-provider {CHILD}: named child",
        f"  put-inventories {PROVIDER}: DISK_GB total 500 GiB, reserved 8 GiB, max_unit 500, step_size 1, ratio 1;"
        " VCPU total 48 VCPU, reserved 0 VCPU, max_unit 48, step_size 1, ratio 4",
        f"  put-traits {PROVIDER}: CUSTOM_OWNER_STOCKTAKE",
        f"  put-aggregates {PROVIDER}: none",
        "held back:",
        f"  MEMORY_MB of {PROVIDER}: libvirt could not be read",
    ]
