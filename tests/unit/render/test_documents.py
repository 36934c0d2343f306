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


def test_the_json_documents_have_every_key_of_the_stable_format():
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


def test_a_leaked_allocation_in_json_has_null_amounts_for_nova_and_libvirt():
    agreed, leaked = ledger_rows(REPORT)
    assert (agreed["consumer_uuid"], agreed["promised"], agreed["verdict"]) == (GUEST, 4, "agreed")
    assert (leaked["consumer_uuid"], leaked["promised"], leaked["held"], leaked["recorded"]) == (
        LEAKED,
        None,
        None,
        200,
    )


def test_free_capacity_can_be_negative_and_is_null_if_usage_is_unknown():
    disk, vcpu = inventory_rows(REPORT.inventory)
    assert vcpu["free"] == 48 * 4.0 - 204 == -12
    assert (disk["used"], disk["free"], disk["recorded_total"]) == (None, None, None)
    assert disk["reserved"] == 8


def test_the_expected_total_is_null_for_an_inventory_that_only_placement_has():
    row = InventoryRow(provider="p", provider_uuid=PROVIDER, wanted=None, recorded=VCPU, used=0)
    (shown,) = inventory_rows((row,))
    assert (shown["resource_class"], shown["total"], shown["recorded_total"]) == ("VCPU", None, 48)


def test_the_evidence_for_an_unknown_volume_contains_the_exact_size_in_bytes():
    (finding,) = audit_document(REPORT)["findings"]
    assert finding["evidence"][0]["size_bytes"] == 8_053_063_680
    assert [claim["provider"] for claim in finding["evidence"]] == ["root", "lvm:other"]
    assert finding["facts"] == {"group": "guests", "size_bytes": 8_053_063_680}


def test_the_plan_document_lists_the_writes_in_order_and_the_plan_digest():
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


def test_every_kind_of_placement_write_has_a_name_in_json_documents():
    assert set(WRITE_KINDS) == set(Write.__args__)


def test_the_report_file_lacks_only_report_fields_internal_to_the_daemon():
    stored = report_from_json(report_to_json(REPORT))
    assert stored == json.loads(json.dumps(report_document(REPORT)))
    assert stored["summary"]["free_vcpus"] == -156
    assert stored["evacuations"][0]["status"] == "done"
    somewhere = set(stored) | set(stored["audit"]) | set(stored["audit"]["placement"])
    elsewhere = {"remembered", "heal", "lock_missed", "own_files_read", "write_results", "thin_pools", "guests"}
    assert {field.name for field in fields(REPORT)} - elsewhere <= somewhere


def test_writing_a_report_with_a_nan_value_raises_value_error():
    with pytest.raises(ValueError, match="JSON"):
        report_to_json(replace(REPORT, duration_ms=math.nan))


@given(
    st.text(max_size=20),
    st.sampled_from(Outcome),
    st.sampled_from(Verdict),
    st.integers(-(2**40), 2**40) | st.none(),
)
def test_a_report_read_from_json_equals_the_report_that_was_written(text, outcome, verdict, amount):
    row = replace(REPORT.ledger[0], consumer_name=text, verdict=verdict, held=amount)
    report = replace(REPORT, host=text, outcome=outcome, error=text or None, ledger=(row,))
    assert report_from_json(report_to_json(report)) == report_document(report)


@given(st.text(max_size=40) | st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists).map(json.dumps))
def test_reading_text_that_is_not_a_report_raises_source_inconsistent(text):
    with pytest.raises(SourceInconsistent):
        report_from_json(text)
