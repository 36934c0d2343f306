"""Why a finding is gone: the first reason that holds, in words that name what changed."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.booked import ALL, booked_by, booked_of
from agent.books.gone import Present, Repair, gone
from agent.model.audit import Reconfigured
from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.compared import Row
from agent.model.finding import Booked, Finding, GoneReason, Severity, Sighting
from agent.model.placement import ROOT, ProviderKey
from agent.model.report import Verdict

SEEN_AT, BEFORE, AFTER = "2026-11-21T12:00:00.000Z", "2026-11-21T11:00:00.000Z", "2026-11-21T12:00:30.000Z"
CONSUMER, HOST_PROVIDER = "c1", "p1"
LEAKED = Finding(
    code="allocation-leaked",
    severity=Severity.ERROR,
    remedy="r",
    expected="e",
    actual="Placement counts 8 VCPU",
    provider_uuid=HOST_PROVIDER,
    consumer_uuid=CONSUMER,
    rests_on=frozenset({"placement", "state"}),
)
GUEST = dataclasses.replace(LEAKED, code="guest-unknown", rests_on=frozenset({"state", "libvirt"}))
REPAIR = Repair("3f9c", AFTER, LEAKED.id, CONSUMER, "removes 8 VCPU", "alice (sudo), stocktake heal")


def sighting(finding: Finding = LEAKED, *booked: Booked, **changes: object) -> Sighting:
    made = Sighting(
        id=finding.id,
        code=finding.code,
        first_seen_at=BEFORE,
        last_seen_at=SEEN_AT,
        times=2,
        evidence_digest="d",
        finding=finding,
        booked=booked,
    )
    return dataclasses.replace(made, **changes)


def vcpu(promised: int | None = None, held: int | None = None, recorded: int | None = None) -> Booked:
    return Booked(CONSUMER, "VCPU", promised, held, recorded)


def reason(one: Sighting, **present: object) -> tuple[GoneReason, str]:
    found = gone(one, Present(**present))
    return found.reason, found.words


def booked(*now: Booked) -> dict[str, tuple[Booked, ...]]:
    return {CONSUMER: now}


BOOKS = {
    "placement no longer counts the consumer": (
        (LEAKED, vcpu(recorded=8), ()),
        (GoneReason.PLACEMENT_CHANGED, "placement: 8 VCPU -> nothing (this agent did not make this change)"),
    ),
    "placement counts less": (
        (LEAKED, vcpu(recorded=8), (vcpu(recorded=4),)),
        (GoneReason.PLACEMENT_CHANGED, "placement: 8 VCPU -> 4 VCPU (this agent did not make this change)"),
    ),
    "the instance came back": (
        (LEAKED, vcpu(recorded=8), (vcpu(recorded=8, promised=8),)),
        (GoneReason.CLOUD_CHANGED, "cloud: nothing -> 8 VCPU"),
    ),
    "the guest is gone": (
        (GUEST, vcpu(held=4), ()),
        (GoneReason.HOST_CHANGED, "host: 4 VCPU -> nothing"),
    ),
    "a book that the finding does not rest on does not count": (
        (GUEST, vcpu(held=4, recorded=1), (vcpu(recorded=9),)),
        (GoneReason.HOST_CHANGED, "host: 4 VCPU -> nothing"),
    ),
    "two books": (
        (LEAKED, vcpu(recorded=8), (vcpu(promised=8),)),
        (
            GoneReason.SEVERAL,
            "cloud: nothing -> 8 VCPU; placement: 8 VCPU -> nothing (this agent did not make this change)",
        ),
    ),
    "no amount changed, and only one book could": (
        (dataclasses.replace(GUEST, rests_on=frozenset({"lvm"})), vcpu(), ()),
        (GoneReason.HOST_CHANGED, "no longer found; before: Placement counts 8 VCPU"),
    ),
    "no amount changed, and several books could": (
        (GUEST, vcpu(held=1), (vcpu(held=1),)),
        (GoneReason.SEVERAL, "no longer found; before: Placement counts 8 VCPU"),
    ),
}


@pytest.mark.parametrize(("change", "expected"), BOOKS.values(), ids=BOOKS.keys())
def test_an_ended_finding_says_what_has_changed(change, expected):
    """The agent says whether nova, the host or Placement changed, and shows the amounts before and after."""
    finding, before, now = change
    assert reason(sighting(finding, before), booked=booked(*now)) == expected


def test_the_reason_mentions_a_change_by_another_program():
    """If another program's change in Placement ended a finding, the reason mentions that program's change."""
    before = sighting(LEAKED, vcpu(recorded=8))
    assert reason(before, wrote=frozenset({CONSUMER}))[1] == "placement: 8 VCPU -> nothing"
    assert reason(before, wrote=frozenset({"another"}))[1].endswith(" (this agent did not make this change)")


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"finding_id": "another"},
        {"consumer_uuid": None},
        {"finding_id": "root", "consumer_uuid": None},
    ],
)
def test_a_repaired_finding_shows_who_repaired_it(changes):
    """After `stocktake heal` has repaired a finding, the agent shows the user and the entry in the agent's journal."""
    repair = REPAIR._replace(**changes)
    found = gone(sighting(caused_by=("root",)), Present(repairs=(repair,)))
    assert (found.reason, found.entry_id, found.actor) == (GoneReason.HEALED, "3f9c", REPAIR.actor)
    assert found.words == "removes 8 VCPU (journal entry 3f9c, alice (sudo), stocktake heal)"


@pytest.mark.parametrize(
    "changes", [{"at": BEFORE}, {"finding_id": "another", "consumer_uuid": "another"}, {"finding_id": None}]
)
def test_an_unrelated_repair_does_not_explain_an_ended_finding(changes):
    """A repair is not shown as the reason for the end of another finding."""
    repair = REPAIR._replace(**({"consumer_uuid": None} | changes))
    assert reason(sighting(LEAKED, vcpu(recorded=8)), repairs=(repair,))[0] is GoneReason.PLACEMENT_CHANGED


def test_source_unavailable_ends_when_the_source_is_read_again():
    """The finding `source-unavailable` ends with the reason "libvirt was read again"."""
    lost = dataclasses.replace(LEAKED, code="source-unavailable", subject="libvirt", rests_on=frozenset())
    assert reason(sighting(lost)) == (GoneReason.SOURCE_BACK, "libvirt was read again")


def test_a_new_configuration_explains_an_ended_finding():
    """The agent shows a changed configuration as the reason why a finding ended."""
    changed = Reconfigured(AFTER, "the configuration changed: role owner -> observer")
    assert reason(sighting(), reconfigured=changed) == (GoneReason.CONFIGURATION_CHANGED, changed.words)
    earlier = changed._replace(at=SEEN_AT)
    assert reason(sighting(), reconfigured=earlier)[0] is not GoneReason.CONFIGURATION_CHANGED


def test_a_new_provider_uuid_explains_an_ended_finding():
    """The agent shows a changed uuid of this host's provider as the reason why a finding ended."""
    told = reason(sighting(), root_before=HOST_PROVIDER, root="p2")
    assert told == (GoneReason.IDENTITY_CHANGED, "the uuid of this host's provider changed: p1 -> p2")
    of_a_child = sighting(dataclasses.replace(LEAKED, provider_uuid="child"))
    assert reason(of_a_child, root_before=HOST_PROVIDER, root="p2")[0] is not GoneReason.IDENTITY_CHANGED


def row(key: str, name: str, recorded: int | None, place: ProviderKey = ROOT) -> Row:
    claim = Claim(
        consumer=Consumer(key=key, kind="instance"),
        cause=Cause.INSTANCE,
        resource_class=name,
        amount=recorded or 0,
        provider_key=place,
        source=Origin("placement", "allocations", key),
    )
    return Row(
        key=key,
        provider_key=place,
        resource_class=name,
        promised=None,
        held=None,
        recorded=recorded,
        verdict=Verdict.AGREED,
        cause=Cause.INSTANCE,
        claims=(claim,),
    )


def test_the_sum_of_allocations_excludes_sharing_providers():
    """The agent stores the sum of each resource class on this host; allocations on shared storage are not in it."""
    rows = (row("a", "VCPU", 2), row("b", "VCPU", 3), row("b", "DISK_GB", 9, ProviderKey("shared", "s")))
    found = booked_by(rows)
    assert found["b"] == (Booked("b", "VCPU", None, None, 3), Booked("b", "DISK_GB", None, None, 9, shared=True))
    assert found[ALL] == (Booked(ALL, "VCPU", None, None, 5),)


def test_the_allocated_amount_is_stored_with_a_finding():
    """The total amount that a finding's consumers have allocated is stored with the finding."""
    rows = (row("a", "VCPU", 2), row("b", "VCPU", 3))
    about_a = dataclasses.replace(LEAKED, consumer_uuid="a")
    of_class = dataclasses.replace(LEAKED, consumer_uuid=None, resource_class="VCPU", evidence=rows[0].claims)
    of_many = dataclasses.replace(of_class, evidence=(*rows[0].claims, *rows[1].claims))
    about_nothing = dataclasses.replace(LEAKED, consumer_uuid=None)
    noted = [
        [one.recorded for one in booked_of(f, booked_by(rows))] for f in (about_a, of_class, of_many, about_nothing)
    ]
    assert noted == [[2], [2], [5], []]


def test_an_ended_volume_finding_shows_the_freed_disk_space():
    """Someone removed an orphaned LVM volume of 20 GiB: the agent says "host: 20 GiB of DISK_GB -> nothing"."""
    volume = Claim(
        consumer=Consumer(key="vg0/c1_disk", kind="volume"),
        cause=Cause.VOLUME_ORPHANED,
        resource_class="DISK_GB",
        amount=20,
        provider_key=ROOT,
        source=Origin("lvm", "volume", "vg0/c1_disk"),
    )
    orphaned = dataclasses.replace(
        GUEST, code="volume-orphaned", evidence=(volume,), resource_class="DISK_GB", subject="vg0/c1_disk",
        rests_on=frozenset({"lvm", "state", "libvirt"}),
    )  # fmt: skip
    held = booked_of(orphaned, {"vg0/c1_disk": (Booked("vg0/c1_disk", "DISK_GB", None, 20, None),)})
    words = "host: 20 GiB of DISK_GB -> nothing"
    assert reason(sighting(orphaned, *held), booked={}) == (GoneReason.HOST_CHANGED, words)
