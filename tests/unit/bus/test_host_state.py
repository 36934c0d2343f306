"""The document that schedulers and watchers receive: which book counts what, and null for unknown values."""

import json
from dataclasses import replace

import pytest

from agent.bus.host_state import Sending, host_state, state_of
from agent.model.finding import FindingState
from agent.model.heal import HealProgress
from agent.model.plan import Plan
from agent.model.report import AuditReport, InventoryRow, LedgerRow, Outcome, SourceStatus, Verdict
from agent.model.usage import CellUsage
from tests.rigs.reports import PROVIDER, REPORT

SENDING = Sending(at="2026-11-21T10:00:05.000Z", interval_s=60.0, agent_version="1.2.3")

KEYS = {
    *("schema_version", "host", "at", "interval_s", "agent_version", "audit_id", "audited_at", "node", "provider_uuid"),
    *("role", "published", "outcome", "error", "sources_lost", "resources", "guests", "findings", "traits_digest"),
    *("numa", "severities", "confirmed", "unknown", "unknown_since", "causes_by_code", "leaked", "missing"),
    *("uncovered", "oldest_by_code", "oldest_at", "worst", "held_back", "heal", "resources_left_out"),
}
RESOURCE_KEYS = {
    *("provider", "provider_uuid", "resource_class", "total", "reserved", "allocation_ratio", "min_unit", "max_unit"),
    *("step_size", "used", "free", "causes"),
}


def row(key: str, cause: str, resource_class: str = "VCPU", **changes: object) -> LedgerRow:
    values = {
        "consumer_uuid": key, "consumer_key": key, "consumer_name": key, "consumer_kind": "instance", "cause": cause,
        "provider": "compute-17", "provider_uuid": PROVIDER, "resource_class": resource_class, "promised": None,
        "held": None, "recorded": None, "verdict": Verdict.AGREED, "source": "nova instances x",
    }  # fmt: skip
    return LedgerRow(**{**values, **changes})


def resource(report: AuditReport, name: str) -> dict:
    (found,) = [one for one in host_state(report, SENDING)["resources"] if one["resource_class"] == name]
    return found


def test_host_state_has_exactly_the_documented_keys():
    """The host state is the JSON document that the agent sends to schedulers and watchers."""
    document = host_state(REPORT, SENDING)
    assert document.keys() == KEYS
    assert document["schema_version"] == 1
    assert all(one.keys() == RESOURCE_KEYS for one in document["resources"])
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def same(*rows: InventoryRow) -> tuple[InventoryRow, ...]:
    """Return rows whose recorded inventory equals the wanted one, where one is wanted."""
    return tuple(replace(row, recorded=row.wanted or row.recorded) for row in rows)


def sources(*lost: str) -> tuple[SourceStatus, ...]:
    well = SourceStatus(name="", ok=True, age_s=0.0, duration_ms=1.0, error=None)
    return tuple(replace(well, name=name, ok=name not in lost) for name in ("placement", "libvirt"))


SAME = same(*REPORT.inventory)
OTHER = (replace(SAME[0], recorded=replace(SAME[0].wanted, total=1)), *SAME[1:])
FOREIGN_CLASS = (*SAME, replace(SAME[0], wanted=None))


@pytest.mark.parametrize(
    ("changes", "published"),
    [
        ({"inventory": SAME}, True),
        ({"inventory": FOREIGN_CLASS}, True),
        ({"inventory": OTHER, "published": True}, True),
        ({"inventory": OTHER}, False),
        # A companion's quiet audit has nothing to write, and the inventory is nova-compute's.
        ({"inventory": OTHER, "plan": Plan(), "role": "companion"}, False),
        ({"inventory": SAME, "error": "refused"}, False),
        ({"inventory": SAME, "sources": sources("placement")}, False),
        ({"inventory": SAME, "sources": sources("libvirt")}, False),
    ],
)
def test_published_means_that_placement_has_the_inventory(changes, published):
    """The field `published` is true if Placement has the inventory that the agent wants."""
    well = {"sources": sources(), "error": None, "published": False}
    assert host_state(replace(REPORT, **{**well, **changes}), SENDING)["published"] is published


def test_the_free_amount_may_be_negative():
    """Nothing is reserved, so the field `free` is total times allocation_ratio minus used: 48 x 4.0 - 204 = -12."""
    # 48 × 4.0 − 204 used
    assert resource(REPORT, "VCPU") == {
        "provider": "compute-17", "provider_uuid": PROVIDER, "resource_class": "VCPU", "total": 48, "reserved": 0,
        "allocation_ratio": 4.0, "min_unit": 1, "max_unit": 48, "step_size": 1, "used": 204, "free": -12.0,
        "causes": {"instance": {"promised": 4, "held": 4, "recorded": 204}},
    }  # fmt: skip


def test_used_and_free_are_null_if_usage_is_unknown():
    """If the agent does not know the usage of a resource class, the fields `used` and `free` are null, not zero."""
    assert (resource(REPORT, "DISK_GB")["used"], resource(REPORT, "DISK_GB")["free"]) == (None, None)


def test_host_state_has_a_sum_for_each_kind_of_use():
    """The host state has one sum each for instances, incoming migrations and guests unknown to nova."""
    rows = (
        row("a", "instance", promised=4, held=4, recorded=4),
        row("b", "instance", promised=2, held=0),
        row("c", "migration-in", promised=8, recorded=8),
        row("d", "foreign-guest", held=3, consumer_kind="domain"),
    )
    assert resource(replace(REPORT, ledger=rows), "VCPU")["causes"] == {
        "instance": {"promised": 6, "held": 4, "recorded": 4},
        "migration-in": {"promised": 8, "held": None, "recorded": 8},
        "foreign-guest": {"promised": None, "held": 3, "recorded": None},
    }


def test_each_guest_is_counted_once_in_the_host_state():
    """The field `guests` counts a guest once, even if the ledger has several rows for the guest."""
    rows = (
        row("a", "instance", held=4),
        row("a", "instance", "MEMORY_MB", held=512),
        row("b", "instance", promised=4),
        row("c", "foreign-guest", held=1, consumer_kind="domain"),
        row("vg/lv", "foreign-volume", "DISK_GB", held=8, consumer_kind="volume"),
        row("host", "host-reserved", "MEMORY_MB", held=512, consumer_kind="host"),
    )
    assert host_state(replace(REPORT, ledger=rows), SENDING)["guests"] == 2


def test_the_number_of_guests_is_null_if_libvirt_is_unreadable():
    lost = (SourceStatus(name="libvirt", ok=False, age_s=1.0, duration_ms=1.0, error="refused"),)
    document = host_state(replace(REPORT, sources=lost), SENDING)
    assert (document["guests"], document["sources_lost"]) == (None, ["libvirt"])


@pytest.mark.parametrize("outcome", [Outcome.UNREADABLE, Outcome.CRASHED])
def test_the_host_state_message_has_nulls_after_a_failed_audit(outcome):
    """The agent's message with the host's state has null for resources, guests and findings if the audit failed."""
    silent = replace(REPORT, outcome=outcome, inventory=(), ledger=(), findings=(), traits=())
    document = host_state(silent, SENDING)
    assert {document[name] for name in ("resources", "guests", "findings", "traits_digest")} == {None}
    assert document["outcome"] == outcome.value


def test_host_state_has_the_number_of_findings_of_each_code():
    twice = (REPORT.findings[0], REPORT.findings[0])
    assert host_state(replace(REPORT, findings=twice), SENDING)["findings"] == {"volume-foreign": 2}


def test_the_traits_digest_ignores_the_order_of_traits():
    """The field `traits_digest` is the same for the same wanted traits in any order."""
    (trait,) = REPORT.traits
    other = replace(trait, trait="CUSTOM_FAST")
    unwanted = replace(trait, trait="CUSTOM_OLD", wanted=False)
    digest = lambda *traits: host_state(replace(REPORT, traits=traits), SENDING)["traits_digest"]  # noqa: E731
    assert digest(trait, other) == digest(other, trait) == digest(other, trait, unwanted)
    assert len({digest(trait), digest(other), digest(trait, other), digest()}) == 4


def test_host_state_shows_free_amounts_of_each_numa_cell():
    """The host state has the CPUs, memory and huge pages of each NUMA cell, and how much of them is free."""
    usage = CellUsage(id=0, cpus=3, memory_mib=2048, pinned=(2,), pages=((2048, 100),))
    assert host_state(replace(REPORT, cell_usages=(usage,)), SENDING)["numa"] == [
        {
            "id": 0, "vcpus": 2, "vcpus_used": 3, "pcpus": 1, "pcpus_free": 0, "memory_mib": 131_072,
            "memory_mib_free": 129_024,
            "pages": [{"size_kib": 2048, "total": 256, "reserved": 64, "free": 92}],
        }
    ]  # fmt: skip


def test_free_amounts_of_a_numa_cell_are_null_if_unknown():
    """If the agent does not know what guests use in a NUMA cell, the cell's free amounts are null, not zero."""
    (cell,) = host_state(REPORT, SENDING)["numa"]
    assert (cell["vcpus_used"], cell["pcpus_free"], cell["memory_mib_free"], cell["pages"][0]["free"]) == (None,) * 4


def test_an_audit_with_equal_results_keeps_the_host_state():
    """The agent summarizes the last audit in a message, the host state.

    A later audit with the same results does not change the content of the host state.
    """
    later = replace(REPORT, audit_id="other", started_at="2026-11-21T10:01:00.000Z", duration_ms=99.0, reasons=("x",))
    assert state_of(later) == state_of(REPORT)
    assert state_of(replace(REPORT, ledger=(*REPORT.ledger, row("z", "instance", held=1)))) != state_of(REPORT)


def test_host_state_shows_the_worst_finding():
    """The host state has the worst finding, and the number of findings of each severity."""
    document = host_state(REPORT, SENDING)
    assert (document["severities"], document["held_back"]) == ({"warning": 1}, 1)
    assert document["worst"]["code"] == "volume-foreign"
    # The report has no state source, so the agent could not look for leaks.
    assert document["leaked"] is None


def test_the_field_leaked_is_null_if_libvirt_was_not_read():
    """Without libvirt the agent cannot look for leaked allocations, so the field `leaked` is null."""

    def leaked(*unread):
        one = REPORT.sources[0]
        read = [replace(one, name=name, ok=name not in unread) for name in ("placement", "state", "libvirt")]
        return host_state(replace(REPORT, sources=tuple(read)), SENDING)["leaked"]

    assert (leaked(), leaked("libvirt")) == ({}, None)


def test_host_state_keeps_findings_after_a_failed_audit():
    """After a failed audit the host state still has the earlier findings, and counts them as `unknown`."""
    unknown = replace(REPORT.findings[0], state=FindingState.UNKNOWN)
    failed = replace(REPORT, outcome=Outcome.UNREADABLE, inventory=(), ledger=(), traits=(), findings=(unknown,))
    document = host_state(failed, SENDING)
    assert (document["findings"], document["unknown"]) == ({"volume-foreign": 1}, {"volume-foreign": 1})
    assert document["resources"] is None


@pytest.mark.parametrize(
    ("heal", "expected"),
    [
        (None, None),
        (HealProgress(enabled=True, waiting=2), {"enabled": True, "waiting": 2}),
        (HealProgress(enabled=True, waiting=None), {"enabled": True, "waiting": None}),
    ],
)
def test_host_state_has_the_number_of_waiting_repairs(heal, expected):
    """The field `heal` tells whether automatic repair is enabled and how many findings wait for their repair."""
    assert host_state(replace(REPORT, heal=heal), SENDING)["heal"] == expected


def test_a_huge_host_state_omits_some_resources():
    """The host state has at most 64 KiB. The agent leaves out resources of child providers, and says how many."""
    child = replace(REPORT.inventory[1], provider="c" * 200, provider_uuid="child")
    large = replace(REPORT, inventory=(*(child,) * 1000, *REPORT.inventory), error="x" * 100_000)
    document = host_state(large, SENDING)
    assert 60_000 < len(json.dumps(document)) <= 64 * 1024
    assert document["resources_left_out"] + len(document["resources"]) == 1002
    assert [row["provider_uuid"] for row in document["resources"][:3]] == [PROVIDER, PROVIDER, "child"]
