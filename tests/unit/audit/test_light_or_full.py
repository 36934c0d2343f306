"""Whether an audit reads nova's state light or in full: each reason for a full read alone causes one."""

import dataclasses
import datetime

import pytest

from agent.audit.light_or_full import (
    JUST_MOVED,
    NOT_ABOUT_THE_CLOUD,
    Beside,
    guests_changed,
    judged,
    kept,
    what_rests_on,
    why_no_light_read,
    why_not_enough,
)
from agent.findings import BUILTIN
from agent.model.audit import PERIODIC, AuditMemory, AuditRequest, Depth, FullState
from agent.model.finding import Finding, History, SeenFinding, Severity, Sighting
from agent.model.nova import LightState, Pulse, StateKind, StateSign
from agent.model.report import Verdict
from agent.model.snapshot import StateRead
from tests.rigs import facts

NOW = datetime.datetime(2026, 11, 21, 12, 0, 0)  # noqa: DTZ001 - nova's columns have no zone
OLD = NOW - datetime.timedelta(hours=1)
ROOT = facts.uuid("root")
SIGN = StateSign(parts=(("instances", frozenset({"a"})), ("migrations", frozenset())))
HOST = facts.host(facts.domain("i1"))
VIEW = facts.view(facts.allocations("i1", VCPU=1))
CONSUMERS = VIEW.consumer_uuids


def full(*instances, **changes):
    """Return a full read at rest: nothing of it requires another full read."""
    plain = FullState(
        state=facts.state(*(instances or (facts.instance("i1", updated_at=OLD),)), now=NOW),
        sign=SIGN,
        consumers=CONSUMERS,
        node_uuid=ROOT,
        domains=HOST.domains,
        allocations=VIEW.allocations,
    )
    return dataclasses.replace(plain, **changes)


def light(sign=SIGN):
    return LightState(sign=sign, service=None, now=NOW, pulse=Pulse(now=NOW, heartbeat=NOW))


def judge(last=None, found=None, **changes):
    asked = {"view": VIEW, "consumers": CONSUMERS, "node_uuid": ROOT, "is_due": False} | changes
    return judged(last or full(), found or light(), **asked)


def test_an_unchanged_host_needs_no_full_nova_read():
    """If nova's digest, the guests and the allocations are unchanged, the agent does no full read of nova."""
    assert judge() == ("", False)


CHANGED_SIGN = StateSign(parts=(("instances", frozenset({"b"})), ("migrations", frozenset())))
CHANGES = {
    "a part of the sign": {"found": light(CHANGED_SIGN)},
    "the allocations": {"last": full(allocations=())},
    "Placement is unread": {"view": None},
    "the consumers": {"last": full(consumers=frozenset())},
    "the host's uuid": {"last": full(node_uuid=None)},
}
WITHOUT_A_CHANGE = {
    "a change in the last audit": {"last": full(saw_change=True)},
    "no earlier sign": {"last": full(sign=None)},
    "an unsettled sign": {"last": full(sign=dataclasses.replace(SIGN, is_settled=False))},
    "the schedule": {"is_due": True},
    "a migration under way": {
        "last": full(state=facts.state(facts.instance("i1"), migrations=(facts.migration(status="running"),)))
    },
    "a task": {"last": full(facts.instance("i1", task_state="rebuilding", updated_at=OLD))},
    "a hidden instance": {"last": full(facts.instance("i1", hidden=True, updated_at=OLD))},
    "the rest of a move": {"last": full(facts.instance("i1", old_flavor=facts.FLAVOR_A, updated_at=NOW))},
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_makes_an_audit_read_nova_in_full(change):
    """If a digest of nova's rows has changed, for example, the agent reads all of nova's rows."""
    found = judge(**change)
    assert found.why
    assert found.saw_change


@pytest.mark.parametrize("change", WITHOUT_A_CHANGE.values(), ids=WITHOUT_A_CHANGE)
def test_a_full_nova_read_can_happen_without_a_change(change):
    """During a migration, for example, the agent reads all nova rows even if none has changed."""
    found = judge(**change)
    assert found.why
    assert not found.saw_change


@pytest.mark.parametrize(
    "last",
    [
        full(facts.instance("i1", old_flavor=facts.FLAVOR_A, updated_at=NOW - JUST_MOVED)),
        full(state=facts.state(facts.instance("i1"), migrations=(facts.migration(status="error"),))),
        full(facts.instance("i1", hidden=True, deleted=True, updated_at=OLD)),
    ],
    ids=["an old rest of a move", "a failed migration", "a deleted hidden instance"],
)
def test_rows_of_an_old_operation_cause_no_full_nova_read(last):
    """Rows that an old resize has left in nova's database, for example, are no reason for a full read."""
    assert judge(last) == ("", False)


def test_the_first_digest_of_nova_rows_is_not_a_change():
    """A digest of nova's rows that has no earlier one to compare with is not reported as a change."""
    more = StateSign(parts=(*SIGN.parts, ("other instances 0", (1, 2))))
    assert more.changed_since(SIGN) == ()


@pytest.mark.parametrize(
    ("request_changes", "memory_changes"),
    [
        ({"depth": Depth.FULL}, {}),
        ({"reasons": (PERIODIC, "libvirt")}, {}),
        ({}, {"full_state": None}),
        ({}, {"full_state": full(state=facts.state(kind=StateKind.NONE))}),
        ({}, {"recheck_recorded": True}),
        ({}, {"full_state": full(rests="finding x depends on rows of nova's database")}),
    ],
    ids=["a command", "an event", "the first audit", "no cloud", "allocations are due", "a finding"],
)
def test_some_audits_do_not_begin_with_a_digest_of_nova_rows(request_changes, memory_changes):
    """A periodic audit may first read a digest of nova's rows.

    An audit for a libvirt event or a command, for example, may not.
    """
    request = AuditRequest(**{"reasons": (PERIODIC,)} | request_changes)
    memory = AuditMemory(**{"full_state": full(), "recheck_recorded": False} | memory_changes)
    assert why_no_light_read(request, memory)


def test_a_periodic_audit_may_skip_the_full_nova_read():
    """If a timer starts the audit and the agent knows all nova rows, the agent first reads only a digest of them."""
    memory = AuditMemory(full_state=full(), recheck_recorded=False)
    assert why_no_light_read(AuditRequest(reasons=(PERIODIC,)), memory) == ""


def test_changed_guests_cause_a_full_nova_read():
    """The agent reads all nova rows if the guests in libvirt have changed, or if libvirt cannot be read."""
    assert not guests_changed(full(), facts.host(facts.domain("i1")))
    assert guests_changed(full(), facts.host())
    assert guests_changed(full(), None)
    assert guests_changed(full(domains=None), HOST)


def finding(code="volume-foreign", **changes):
    plain = Finding(code=code, severity=Severity.WARNING, remedy="", expected="", actual="")
    return dataclasses.replace(plain, **changes)


def seen(found, *, confirmed=True):
    return SeenFinding(finding=found, confirmed=confirmed, first_seen_at="")


def test_a_write_or_a_new_finding_needs_a_full_nova_read():
    """Before it writes to Placement or reports a new finding, the agent reads all nova rows."""
    known = finding()
    sighting = Sighting(id=known.id, code=known.code, first_seen_at="", last_seen_at="", times=2, evidence_digest="")
    memory = AuditMemory(history=History(sightings=(sighting,)))

    assert why_not_enough([known], memory, is_writing=False) == ""
    assert why_not_enough([known], memory, is_writing=True)
    assert why_not_enough([], memory, is_writing=False)
    assert why_not_enough([known, finding("cpu-offline")], memory, is_writing=False)


def test_findings_about_nova_rows_cause_a_full_nova_read():
    """As long as a finding is unconfirmed or depends on nova's rows, every audit reads all nova rows."""
    assert what_rests_on([seen(finding())], ()) == ""
    assert what_rests_on([seen(finding(), confirmed=False)], ())
    assert what_rests_on([seen(finding(consumer_uuid="c"))], ())
    assert what_rests_on([seen(finding("compute-node-orphaned"))], ())


def test_a_migrating_instance_causes_a_full_nova_read():
    """While an instance migrates, its rows soon change, so the next audit reads all nova rows."""
    moving = facts.instance("i1", task_state="migrating")
    world = facts.snapshot(nova=facts.state(moving), placement=VIEW, libvirt=HOST)
    rows = facts.decided(world).rows

    assert {row.verdict for row in rows} >= {Verdict.SETTLING}
    assert what_rests_on((), rows)


def test_finding_codes_listed_as_unrelated_to_nova_exist():
    """The agent has a list of finding codes that do not depend on nova; each code in this list exists."""
    assert {rule.code for rule in BUILTIN} >= NOT_ABOUT_THE_CLOUD


def test_the_agent_keeps_the_old_nova_rows_after_a_digest_read():
    """An audit reads only a digest of nova's rows, not the rows themselves.

    The agent keeps the rows that an earlier audit read.
    """
    last = full(saw_change=True)
    beside = Beside(node_uuid=ROOT, host=None, view=None, rests="something")
    after = kept(last, StateRead(why_full="", sign=CHANGED_SIGN), last.state, beside)

    assert after == dataclasses.replace(last, saw_change=False, rests="something")
    assert kept(last, StateRead(), None, beside) is None


def test_a_full_nova_read_is_kept_for_later_audits():
    """The agent keeps nova's rows and their digest from a full read, and later audits compare with them."""
    how = StateRead(why_full="due", sign=CHANGED_SIGN, consumers=CONSUMERS, saw_change=True)
    beside = Beside(node_uuid=ROOT, host=HOST, view=VIEW)
    after = kept(None, how, full().state, beside)

    assert after == full(sign=CHANGED_SIGN, saw_change=True)


def test_a_new_nova_row_causes_another_full_nova_read():
    """A full read shows a new instance. Nova may still be changing it, so the next audit reads all rows again."""
    how = StateRead(why_full="due", sign=SIGN, consumers=CONSUMERS)
    beside = Beside(node_uuid=ROOT, host=HOST, view=VIEW)
    came = full(facts.instance("i1", updated_at=OLD), facts.instance("i2", updated_at=OLD)).state

    assert judge(kept(full(), how, came, beside)).why == "the last audit saw a change that may not have been finished"
    assert judge(kept(full(), how, full().state, beside)) == ("", False)
