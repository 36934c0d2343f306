import json
import math
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.model.plan import Write
from agent.model.report import InventoryRow, Outcome, Verdict
from agent.render.documents import (
    WRITE_KINDS,
    audit_document,
    finding_document,
    inventory_rows,
    ledger_rows,
    report_document,
    report_from_json,
    report_to_json,
    trait_rows,
)
from tests.rigs.reports import FINDING, GUEST, LEAKED, PROVIDER, REPORT, VCPU

# The stable keys: other programs rely on them.
AUDIT = [
    "audit_id",
    "host",
    "node",
    "provider_uuid",
    "role",
    "reasons",
    "started_at",
    "duration_ms",
    "outcome",
    "sources",
    "findings",
    "plan",
    "placement",
]
FINDING_KEYS = [
    "id",
    "code",
    "severity",
    "confirmed",
    "provider_uuid",
    "consumer_uuid",
    "resource_class",
    "expected",
    "actual",
    "evidence",
    "remedy",
    "first_seen_at",
]
LEDGER = [
    "consumer_uuid",
    "consumer_name",
    "consumer_kind",
    "cause",
    "provider",
    "resource_class",
    "promised",
    "held",
    "recorded",
    "verdict",
    "source",
]
INVENTORY = [
    "provider",
    "provider_uuid",
    "resource_class",
    "total",
    "reserved",
    "min_unit",
    "max_unit",
    "step_size",
    "allocation_ratio",
    "used",
    "free",
]
TRAIT = [
    "provider",
    "provider_uuid",
    "trait",
    "wanted",
    "recorded",
    "owner",
]


def test_json_always_contains_the_stable_keys():
    """The JSON of audits and findings always contains the keys that other programs rely on."""
    audit = audit_document(REPORT)
    assert set(AUDIT) < set(audit)
    assert audit["schema_version"] == 1
    assert set(audit["sources"][0]) == {
        "name", "ok", "age_s", "duration_ms", "error", "denied", "behind_s", "read",
        "asked", "not_asked_because", "lost_since", "losses", "reason",
    }  # fmt: skip
    assert set(audit["plan"]) == {"digest", "writes", "held_back"}
    assert set(audit["placement"]) == {"requests", "conflicts", "attempts", "conflict_kinds", "microversion", "tried"}
    assert set(FINDING_KEYS) < set(finding_document(FINDING))
    assert set(LEDGER) < set(ledger_rows(REPORT)[0])
    assert set(INVENTORY) < set(inventory_rows(REPORT.inventory)[0])
    assert set(trait_rows(REPORT)[0]) == set(TRAIT)


def test_json_shows_null_if_only_placement_has_an_amount():
    """If only Placement has an amount for a consumer, the JSON shows null for nova and for libvirt."""
    agreed, leaked = ledger_rows(REPORT)
    assert (agreed["consumer_uuid"], agreed["promised"], agreed["verdict"]) == (GUEST, 4, "agreed")
    assert (leaked["consumer_uuid"], leaked["promised"], leaked["held"], leaked["recorded"]) == (
        LEAKED,
        None,
        None,
        200,
    )


def test_json_shows_negative_and_unknown_free_capacity():
    """In JSON, `free` is negative if more is used than the host offers, and null if the use is unknown."""
    disk, vcpu = inventory_rows(REPORT.inventory)
    assert vcpu["free"] == 48 * 4.0 - 204 == -12
    assert (disk["used"], disk["free"], disk["recorded_total"]) == (None, None, None)
    assert disk["reserved"] == 8


def test_json_total_is_null_for_an_inventory_only_in_placement():
    """In JSON, `total` is the agent's own value, and is null for an inventory that only Placement has."""
    row = InventoryRow(provider="p", provider_uuid=PROVIDER, wanted=None, recorded=VCPU, used=0)
    (shown,) = inventory_rows((row,))
    assert (shown["resource_class"], shown["total"], shown["recorded_total"]) == ("VCPU", None, 48)


def test_json_of_a_finding_shows_the_exact_volume_size():
    """The JSON of a finding about an LVM volume shows the volume's size in bytes."""
    (finding,) = audit_document(REPORT)["findings"]
    assert finding["evidence"][0]["size_bytes"] == 8_053_063_680
    assert [claim["provider"] for claim in finding["evidence"]] == ["root", "lvm:other"]
    assert finding["facts"] == {"group": "guests", "size_bytes": 8_053_063_680}


def test_json_lists_planned_writes_in_the_order_of_the_plan():
    """The JSON lists the planned writes in the order in which the agent sends the writes to Placement."""
    plan = audit_document(REPORT)["plan"]
    assert [write["kind"] for write in plan["writes"]] == [
        "create-provider",
        "put-inventories",
        "put-traits",
        "put-aggregates",
    ]
    assert plan["writes"][1]["inventories"][1]["max_unit"] == 48
    assert plan["digest"] == REPORT.plan.digest
    assert plan["held_back"] == [{"provider_uuid": PROVIDER, "what": "MEMORY_MB", "why": "libvirt could not be read"}]


def test_every_kind_of_placement_write_has_a_name_in_json():
    assert set(WRITE_KINDS) == set(Write.__args__)


def test_the_report_file_leaves_out_internal_fields():
    """The report file contains all fields of a report except those that the daemon uses internally."""
    stored = report_from_json(report_to_json(REPORT))
    assert stored == json.loads(json.dumps(report_document(REPORT)))
    assert stored["summary"]["free_vcpus"] == -156
    assert stored["evacuations"][0]["status"] == "done"
    somewhere = set(stored) | set(stored["audit"]) | set(stored["audit"]["placement"])
    elsewhere = {"remembered", "heal", "lock_missed", "own_files_read", "write_results", "thin_pools", "guests"}
    assert {field.name for field in fields(REPORT)} - elsewhere <= somewhere


def test_a_report_with_nan_is_not_written_as_json():
    """JSON has no NaN, so the agent raises a `ValueError` and does not write such a number."""
    with pytest.raises(ValueError, match="JSON"):
        report_to_json(replace(REPORT, duration_ms=math.nan))


@given(
    st.text(max_size=20),
    st.sampled_from(Outcome),
    st.sampled_from(Verdict),
    st.integers(-(2**40), 2**40) | st.none(),
)
def test_a_report_is_the_same_after_writing_and_reading(text, outcome, verdict, amount):
    """A report that is written as JSON and read again has the same content, for any text or amount in it."""
    row = replace(REPORT.ledger[0], consumer_name=text, verdict=verdict, held=amount)
    report = replace(REPORT, host=text, outcome=outcome, error=text or None, ledger=(row,))
    assert report_from_json(report_to_json(report)) == report_document(report)


@given(st.text(max_size=40) | st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists).map(json.dumps))
def test_text_that_is_no_report_is_rejected(text):
    """The agent raises a `SourceInconsistent` error if a report file contains other JSON or no JSON at all."""
    with pytest.raises(SourceInconsistent):
        report_from_json(text)
