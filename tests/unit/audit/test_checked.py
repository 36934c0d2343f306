"""What an audit could check: no loss of a source ends a finding that is still there, for each finding code."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest

from agent.audit.checked import checks_of, with_writes
from agent.books.booked import booked_by
from agent.books.checks import WRITES
from agent.books.confirm import AuditReads, confirm
from agent.errors import PlacementUnavailable, WritesRefused
from agent.model.audit import AuditMemory, AuditRequest, Publish, WrittenProvider
from agent.model.finding import FindingState, History, SeenFinding
from agent.model.host.facts import OddDomain
from agent.model.plan import EVERYTHING, Plan
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE, Snapshot
from tests.rigs import facts
from tests.rigs.finding_worlds import PLANTED, Planted

WRITTEN = WrittenProvider(provider_uuid=facts.ROOT_UUID, inventories=())
# Findings that rest on less than their rule needs to find them again: while the second source is unread, they are
# unknown too, because the audit cannot say that they are gone.
ALSO = {
    ("allocation-leaked", LIBVIRT),
    ("allocation-stale-move", LIBVIRT),
    ("consumer-unknown", LIBVIRT),
    ("migration-finished-but-counted", LIBVIRT),
}
# Findings about reads that failed, and about writes: their worlds cannot lose a source, or have none to lose.
OF_THEIR_OWN = {"source-unavailable", "source-stale", "write-refused"}


def audit(planted: Planted, role: Role, before: History = History(), **moment: object) -> dict[str, SeenFinding]:  # noqa: B008
    """Return the live findings of one audit of the world, by id; after ``before``."""
    return {seen.finding.id: seen for seen in told(planted, role, before, **moment).findings}


def told(planted: Planted, role: Role, before: History, now: str = "1"):
    chosen = dataclasses.replace(planted.settings, role=role)
    task = SimpleNamespace(settings=chosen, owns=lambda: role is Role.OWNER)
    memory = AuditMemory(written=planted.written or WRITTEN, audits=1, history=before)
    decision = planted.decision(role)
    reads = AuditReads(now=now, confirm_audits=2, checks=checks_of(task, memory, planted.world))
    return confirm(before, decision.findings, reads, booked_by(decision.rows))


def fully_read(world: Snapshot) -> Snapshot:
    """Return the world as a daemon's audit reads it: with fresh allocations, usages and sharing providers."""
    view = world.placement.value
    if view is None:
        return world
    whole = dataclasses.replace(view, allocations_fresh=True, usages_are_read=True, shared_is_read=True)
    return dataclasses.replace(world, placement=dataclasses.replace(world.placement, value=whole))


@pytest.mark.parametrize("code", sorted(PLANTED.keys() - OF_THEIR_OWN))
def test_a_finding_becomes_unknown_if_its_source_is_lost(code):
    """While a source of a finding, for example nova, cannot be read, the finding is kept with the state unknown."""
    losses = 0
    for make in PLANTED[code]:
        planted = make()
        planted = dataclasses.replace(planted, world=fully_read(planted.world))
        for role in Role:
            first = told(planted, role, History())
            mine = [seen.finding for seen in first.findings if seen.finding.code == code and not seen.unknown_because]
            for source in [reading.source for reading in planted.world.readings if reading.ok and mine]:
                blind = dataclasses.replace(planted, world=facts.without(planted.world, source))
                after = audit(blind, role, first.history, now="2")
                again = audit(planted, role, told(blind, role, first.history, now="2").history, now="3")
                for finding in mine:
                    losses += 1
                    seen = after[finding.id]
                    expected = source in finding.rests_on or (code, source) in ALSO or is_leftover(code, role)
                    assert (seen.state is FindingState.UNKNOWN) is expected, (source, role, seen.unknown_because)
                    assert (source in seen.unknown_because) is expected
                    assert (again[finding.id].first_seen_at, again[finding.id].state) != ("3", FindingState.UNKNOWN)
                    assert again[finding.id].first_seen_at == "1"
    assert losses


def is_leftover(code: str, role: Role) -> bool:
    """In role observer, any unread source may have what the agent's own consumer stands for."""
    return code == "companion-leftover" and role is Role.OBSERVER


def checks(world: Snapshot, role: Role = Role.OWNER, **memory: object):
    task = SimpleNamespace(settings=facts.settings(role=role), owns=lambda: role is Role.OWNER)
    return checks_of(task, AuditMemory(**({"written": WRITTEN, "audits": 1} | memory)), world)


def finding_of(code: str, **about: object):
    planted = PLANTED[code][0]()
    (found, *_) = [f for f in planted.decision(Role.OWNER).findings if f.code == code]
    return dataclasses.replace(found, **about)


def test_a_leak_finding_can_end_without_libvirt():
    """A finding `allocation-leaked` can end while libvirt cannot be read, if its allocation is gone from Placement."""
    leaked = finding_of("allocation-leaked")
    blind = facts.without(fully_read(PLANTED["allocation-leaked"][0]().world), LIBVIRT)
    assert checks(blind).missing(leaked) == (LIBVIRT,)
    empty = dataclasses.replace(blind.placement.value, allocations=())
    freed = dataclasses.replace(blind, placement=dataclasses.replace(blind.placement, value=empty))
    assert checks(freed).missing(leaked) == ()


def test_only_findings_about_an_unreadable_guest_are_unchecked():
    """The agent cannot parse one libvirt domain, and still checks the findings about all other guests."""
    odd = OddDomain(uuid=facts.uuid("i1"), name="i1", reason="no name")
    world = facts.snapshot(libvirt=dataclasses.replace(facts.host(), odd_domains=(odd,)))
    unknown = finding_of("guest-unknown", consumer_uuid=facts.uuid("i1"))
    assert checks(world).missing(unknown) == (LIBVIRT,)
    assert checks(world).missing(dataclasses.replace(unknown, consumer_uuid=facts.uuid("i2"))) == ()


def test_an_invalid_nova_row_affects_only_its_instance():
    """The agent cannot parse the row of one instance, and still checks the findings about other instances."""
    state = dataclasses.replace(facts.state(), unreadable=(f"instance {facts.uuid('i1')}: no vm_state",))
    found = checks(facts.snapshot(nova=state))
    unknown = finding_of("guest-unknown", consumer_uuid=facts.uuid("i1"))
    assert found.missing(unknown) == (STATE,)
    assert found.missing(dataclasses.replace(unknown, consumer_uuid=facts.uuid("i2"))) == ()


def test_findings_about_an_unreadable_folder_are_unknown():
    """The agent has no permission to read a folder, so it cannot check a finding about a file in this folder."""
    files = dataclasses.replace(facts.filesystem(16), unread=(("/srv/nova", "Permission denied"),))
    found = checks(facts.snapshot(files=files))
    leftover = finding_of("image-leftover", subject="/srv/nova/a")
    assert found.missing(leftover) == ("filesystem",)
    assert found.missing(dataclasses.replace(leftover, subject="/srv/nova2/a")) == ()


def test_a_finding_is_unknown_if_allocations_were_not_read():
    """A finding about a consumer on several providers is unknown if the consumer's allocations were not read."""
    several = finding_of("consumer-on-several-providers")
    world = fully_read(PLANTED["consumer-on-several-providers"][0]().world)
    unread = dataclasses.replace(world.placement.value, consumers=())
    unread = dataclasses.replace(world, placement=dataclasses.replace(world.placement, value=unread))
    history = confirm(History(), [several], AuditReads(now="1", confirm_audits=2)).history
    assert checks(unread, history=history).missing(several) == (PLACEMENT,)
    assert checks(world, history=history).missing(several) == ()


@pytest.mark.parametrize(
    ("role", "publish", "attempts", "held", "error", "expected"),
    [
        (Role.OWNER, Publish.BY_ROLE, 1, False, None, ()),
        (Role.OWNER, Publish.BY_ROLE, 0, False, None, ()),
        (Role.OWNER, Publish.BY_ROLE, 1, False, WritesRefused("one"), ()),
        (Role.OWNER, Publish.BY_ROLE, 0, True, None, (WRITES,)),
        (Role.OWNER, Publish.BY_ROLE, 1, False, PlacementUnavailable("no answer"), (WRITES,)),
        (Role.OWNER, Publish.NEVER, 0, False, None, (WRITES,)),
        (Role.OBSERVER, Publish.BY_ROLE, 0, False, None, ()),
        (Role.OBSERVER, Publish.NEVER, 0, False, None, (WRITES,)),
    ],
)
def test_write_refused_is_unknown_if_no_write_was_possible(role, publish, attempts, held, error, expected):
    """A dry run, for example, writes nothing, so it cannot check the finding `write-refused`."""
    task = SimpleNamespace(
        settings=facts.settings(role=role),
        request=AuditRequest(reasons=("test",), publish=publish),
        may_publish=lambda: role is not Role.OBSERVER and publish is Publish.BY_ROLE,
    )
    plan = Plan.nothing(facts.ROOT_UUID, EVERYTHING, "why") if held else Plan()
    found = with_writes(checks(facts.snapshot()), task, plan, attempts, error)
    assert found.missing(finding_of("write-refused")) == expected


def test_a_usage_finding_is_not_checked_without_usages():
    """Without the usages from Placement, the agent cannot check whether `usage-unlisted` still exists."""
    unlisted = finding_of("usage-unlisted", rests_on_recorded=False)
    view = dataclasses.replace(facts.view(), usages_are_read=False)
    assert checks(facts.snapshot(placement=view)).missing(unlisted) == (PLACEMENT,)
    read = dataclasses.replace(view, usages_are_read=True)
    assert checks(facts.snapshot(placement=read)).missing(unlisted) == ()


def test_a_restarted_agent_cannot_check_for_overwritten_values():
    """A restarted agent does not know which values it wrote, so it cannot check if a value was overwritten."""
    unexpected = finding_of("trait-unexpected")
    world = facts.snapshot(libvirt=dataclasses.replace(facts.host(), capabilities=None))
    assert WRITES in checks(world, written=None).missing(unexpected)
    overwritten = finding_of("rival-writer", facts=(("overwrote", True),))
    assert checks(facts.snapshot(), audits=0).missing(overwritten) == (WRITES,)
    assert checks(facts.snapshot(), audits=1).missing(overwritten) == ()
