"""Which findings are confirmed: seen in two audits in a row, with equal evidence, and a fresh *recorded* if needed."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.checks import Checks
from agent.books.confirm import AuditReads, confirm, confirmed_now, not_checked
from agent.model.finding import Finding, FindingState, History, Severity

FIRST, SECOND, THIRD = "2026-11-21T12:00:00Z", "2026-11-21T12:01:00Z", "2026-11-21T12:02:00Z"
PLAIN = Finding(code="volume-foreign", severity=Severity.WARNING, remedy="r", expected="e", actual="3 GiB")
RECORDED = dataclasses.replace(PLAIN, code="allocation-leaked", consumer_uuid="c1", rests_on_recorded=True)
CHANGED = {"actual": "4 GiB"}


def look(history, *findings, **how):
    usual = {"now": FIRST, "fresh": True, "at": 2, "unread": ()} | how
    seen = AuditReads(
        now=usual["now"],
        confirm_audits=usual["at"],
        checks=Checks(unread=frozenset(usual["unread"]), recorded_is_fresh=usual["fresh"]),
        at=usual.get("second", 0),
        boot=usual.get("boot", "this"),
        apart_s=usual.get("apart_s", 0.0),
        within_s=usual.get("within_s"),
    )
    return confirm(history, findings, seen)


def after(*audits, at=2):
    """Return the last of these audits; each audit is (findings, whether *recorded* was fresh)."""
    history = History()
    for number, (findings, fresh) in enumerate(audits):
        told = look(history, *findings, now=(FIRST, SECOND, THIRD)[min(number, 2)], fresh=fresh, at=at)
        history = told.history
    return told


def confirmed(told):
    return [seen.confirmed for seen in told.findings]


OTHER = dataclasses.replace(PLAIN, **CHANGED)
RECORDED_CHANGED = dataclasses.replace(RECORDED, **CHANGED)
COUNTING = {
    "first sight": ([([PLAIN], True)], [False]),
    "two in a row": ([([PLAIN], True)] * 2, [True]),
    "and it stays so": ([([PLAIN], True)] * 5, [True]),
    "gone in between": ([([PLAIN], True), ([], True), ([PLAIN], True)], [False]),
    "other evidence begins anew": ([([PLAIN], True), ([OTHER], True)], [False]),
    "other evidence, twice": ([([PLAIN], True), ([OTHER], True), ([OTHER], True)], [True]),
    "a confirmed one with new evidence stays confirmed": ([([PLAIN], True)] * 2 + [([OTHER], True)], [True]),
    "what rests on other books needs no fresh allocations": ([([PLAIN], False)] * 2, [True]),
    "recorded, fresh both times": ([([RECORDED], True)] * 2, [True]),
    "recorded, stale the second time": ([([RECORDED], True), ([RECORDED], False)], [False]),
    "recorded, stale in between": ([([RECORDED], True), ([RECORDED], False), ([RECORDED], True)], [False]),
    "recorded, confirmed, then stale": ([([RECORDED], True)] * 2 + [([RECORDED], False)], [True]),
    "recorded, new evidence from a stale reading": (
        [([RECORDED], True)] * 2 + [([RECORDED_CHANGED], False)],
        [True],
    ),
    "recorded, new evidence once stale and once fresh": (
        [([RECORDED], True), ([RECORDED_CHANGED], False), ([RECORDED_CHANGED], True)],
        [False],
    ),
}


@pytest.mark.parametrize(("audits", "expected"), COUNTING.values(), ids=COUNTING.keys())
def test_two_audits_with_equal_evidence_confirm_a_finding(audits, expected):
    """A finding is confirmed if two audits in a row saw it with the same evidence."""
    assert confirmed(after(*audits)) == expected


def since(told):
    return [seen.stands_since for seen in told.findings]


def test_a_findings_age_restarts_when_its_evidence_changes():
    """The field stands_since restarts, for example, if the amount in the finding changes; first_seen_at stays."""
    assert since(after(([PLAIN], True), ([PLAIN], True), ([PLAIN], True))) == [FIRST]
    changed = after(([PLAIN], True), ([OTHER], True), ([OTHER], True))
    assert since(changed) == [SECOND]
    assert [seen.first_seen_at for seen in changed.findings] == [FIRST]
    stale = after(([RECORDED], True), ([RECORDED_CHANGED], False), ([RECORDED_CHANGED], True))
    assert since(stale) == [THIRD]


def test_a_findings_age_restarts_after_an_unread_source():
    """A finding's age (stands_since) restarts if an audit could not read Placement; first_seen_at is unchanged."""
    first = look(History(), RECORDED).history
    unread = look(first, now=SECOND, unread=("placement",)).history
    again = look(unread, RECORDED, now=THIRD)
    assert (since(again), [seen.first_seen_at for seen in again.findings]) == ([THIRD], [FIRST])


@pytest.mark.parametrize(("at", "expected"), [(1, [True]), (2, [True]), (3, [False])])
def test_a_finding_needs_the_configured_number_of_audits(at, expected):
    """A finding that two audits saw is confirmed if confirm_audits is 1 or 2, and not if it is 3."""
    assert confirmed(after(([PLAIN], True), ([PLAIN], True), at=at)) == expected


def test_cached_allocations_alone_cause_no_new_finding():
    """Before the agent reports a new finding from cached allocations, it reads the allocations again."""
    told = look(History(), RECORDED, PLAIN, fresh=False)
    assert [seen.finding.code for seen in told.findings] == ["volume-foreign"]
    assert [sighting.code for sighting in told.history.sightings] == ["volume-foreign"]
    assert told.recheck_recorded


@pytest.mark.parametrize(("finding", "fresh"), [(RECORDED, True), (PLAIN, False)])
def test_allocations_are_not_read_again_without_need(finding, fresh):
    """The agent reads Placement's allocations again only if they are cached and a new finding depends on them."""
    assert not look(History(), finding, fresh=fresh).recheck_recorded


def test_allocations_are_read_anew_for_an_unconfirmed_finding():
    """While a finding is unconfirmed, the next audit reads the allocations of the finding's consumer anew."""
    once = look(History(), RECORDED, PLAIN)
    assert once.unconfirmed_recorded == ("c1",)
    assert look(once.history, RECORDED, PLAIN).unconfirmed_recorded == ()


def test_first_seen_at_stays_until_a_finding_ends():
    """The agent's history keeps first_seen_at while audits see the finding, and forgets a finding that has ended."""
    told = after(([PLAIN, RECORDED], True), ([PLAIN], True))
    (sighting,) = told.history.sightings
    assert (sighting.id, sighting.first_seen_at, sighting.last_seen_at, sighting.times) == (PLAIN.id, FIRST, SECOND, 2)
    assert [seen.first_seen_at for seen in told.findings] == [FIRST]


def test_the_agent_counts_audits_only_up_to_confirm_audits():
    """The agent counts how many audits saw a finding.

    The agent stops at confirm_audits: with confirm_audits = 2, the count is 2 after five audits.
    """
    told = after(*[([PLAIN], True)] * 5)
    assert [sighting.times for sighting in told.history.sightings] == [2]


def test_findings_are_listed_in_a_fixed_order():
    """The agent's list of findings does not depend on the order in which an audit found them."""
    findings = [
        PLAIN,
        RECORDED,
        dataclasses.replace(PLAIN, subject="vg0/x"),
        dataclasses.replace(PLAIN, subject="vg0/y"),
    ]
    forward, backward = look(History(), *findings), look(History(), *reversed(findings))
    assert forward == backward
    assert len({sighting.id for sighting in forward.history.sightings}) == 4


def test_a_lost_source_makes_a_confirmed_finding_unknown():
    """An audit cannot read a source of a confirmed finding; the agent keeps it with the state unknown."""
    confirmed_one = look(look(History(), PLAIN, now=FIRST).history, PLAIN, now=SECOND)
    blind = look(confirmed_one.history, now=THIRD, unread=("lvm", "state"))
    (seen,) = blind.findings
    assert (seen.state, seen.confirmed, seen.times, seen.finding) == (FindingState.UNKNOWN, True, 0, PLAIN)
    assert (seen.first_seen_at, seen.last_seen_at) == (FIRST, SECOND)
    assert seen.unknown_because == ("lvm", "state")
    (again,) = look(blind.history, PLAIN, now="2026-11-21T12:03:00Z").findings
    assert (again.first_seen_at, again.confirmed, again.times) == (FIRST, True, 1)
    assert again.state is FindingState.CONFIRMED
    gone = look(confirmed_one.history, now=THIRD)
    assert (gone.history.sightings, [sighting.id for sighting in gone.gone]) == ((), [PLAIN.id])


def test_a_finding_can_end_while_an_unrelated_source_is_down():
    """A finding that does not depend on Placement can end while Placement cannot be read."""
    finding = dataclasses.replace(PLAIN, rests_on=frozenset({"lvm", "state"}))
    known = look(History(), finding).history
    assert look(known, unread=("placement",)).findings == ()
    (seen,) = look(known, unread=("placement", "lvm")).findings
    assert seen.unknown_because == ("lvm",)


def test_a_finding_keeps_its_text_while_a_source_is_unread():
    """While nova cannot be read, a finding that depends on nova keeps the text from an earlier audit."""
    finding = dataclasses.replace(PLAIN, rests_on=frozenset({"lvm", "state"}))
    known = look(History(), finding).history
    other = dataclasses.replace(finding, actual="half of the truth")
    (seen,) = look(known, other, unread=("state",)).findings
    assert (seen.state, seen.finding) == (FindingState.UNKNOWN, finding)


def test_a_confirmed_finding_stays_confirmed_after_a_change():
    """If the amount in a finding changes, the finding stays confirmed and its audit count restarts at 1."""
    states, history = [], History()
    for finding in (PLAIN, PLAIN, OTHER):
        told = look(history, finding)
        history = told.history
        states += [(seen.state, seen.times) for seen in told.findings]
    assert states == [(FindingState.SEEN, 1), (FindingState.CONFIRMED, 2), (FindingState.CONFIRMED, 1)]


def test_an_audit_that_ended_early_makes_findings_unknown():
    """An audit that ended early has checked nothing, so each known finding gets the state unknown."""
    history = look(look(History(), PLAIN, now=FIRST).history, PLAIN, now=SECOND).history
    (seen,) = not_checked(history.sightings)
    assert (seen.state, seen.confirmed, seen.last_seen_at) == (FindingState.UNKNOWN, True, SECOND)
    assert seen.unknown_because == ("libvirt", "placement", "state")


def test_a_finding_about_allocations_causes_allocation_reads():
    """As long as a finding about allocations exists, each audit reads the allocations again."""
    of_no_consumer = dataclasses.replace(RECORDED, code="over-capacity", consumer_uuid=None)
    told = look(History(), of_no_consumer)
    assert (told.awaits_recorded, told.unconfirmed_recorded) == (True, ())
    told = look(told.history, of_no_consumer)
    assert [seen.confirmed for seen in told.findings] == [True]
    assert told.awaits_recorded is True
    assert look(History(), RECORDED).unconfirmed_recorded == ("c1",)
    assert look(History(), PLAIN).awaits_recorded is False


# (seconds of the audits, which of them confirm): audits count if they are at least 10 s and at most 180 s apart.
SPACED = {
    "at once": ([0, 0], [False, False]),
    "after 9 s": ([0, 9], [False, False]),
    "after 10 s": ([0, 10], [False, True]),
    "hurried looks in between take nothing away": ([0, 3, 6, 9, 12], [False, False, False, False, True]),
    "after three intervals": ([0, 180], [False, True]),
    "after more than that it counts as the first": ([0, 181], [False, False]),
    "and the next one confirms": ([0, 181, 241], [False, False, True]),
    "weeks later": ([0, 20, 2_000_000], [False, True, False]),
    "the clock of this start went back": ([100, 50], [False, False]),
}


@pytest.mark.parametrize(("seconds", "expected"), SPACED.values(), ids=SPACED.keys())
def test_two_audits_10_to_180_s_apart_confirm_a_finding(seconds, expected):
    """Two audits confirm a finding only if the second audit runs 10 to 180 seconds after the first."""
    history, told = History(), []
    for second in seconds:
        seen = look(history, PLAIN, second=second, apart_s=10.0, within_s=180.0)
        history = seen.history
        told += [finding.times >= 2 for finding in seen.findings]
    assert told == expected


def test_a_confirmed_finding_stays_confirmed_after_a_reboot():
    """After a reboot of the host, a confirmed finding is still confirmed.

    Only its number of audits starts again at 1.
    """
    before = look(look(History(), PLAIN, second=100).history, PLAIN, second=160)
    assert confirmed(before) == [True]
    (after_it,) = look(before.history, PLAIN, second=170, boot="another").findings
    assert (after_it.confirmed, after_it.times, after_it.first_seen_at) == (True, 1, FIRST)


def test_a_sighting_10_to_180_s_ago_confirms_a_finding():
    """A finding that is seen now counts as confirmed if an audit 10 to 180 seconds ago also saw it."""
    history = look(History(), PLAIN, second=100, apart_s=10.0, within_s=180.0).history

    def now(second):
        seen = AuditReads(
            now=SECOND,
            confirm_audits=2,
            at=second,
            boot="this",
            apart_s=10.0,
            within_s=180.0,
        )
        return confirmed_now([PLAIN], history, seen)

    assert [bool(now(second)) for second in (105, 110, 280, 281)] == [False, True, True, False]


@pytest.mark.parametrize(
    ("code", "rests_on", "checks", "because"),
    [
        ("consumer-unknown", {"placement", "state"}, Checks(unrecorded=frozenset({"c1"})), ("placement",)),
        ("allocation-leaked", {"placement", "state"}, Checks(holders=frozenset({"c1"})), ("libvirt",)),
        ("allocation-leaked", {"placement", "state"}, Checks(recorded_is_fresh=False), ("placement",)),
        ("allocation-leaked", {"placement", "state"}, Checks(shared_is_read=False), ("placement",)),
        ("guest-unknown", {"state", "libvirt"}, Checks(parts={"c1": "libvirt"}), ("libvirt",)),
        ("guest-unknown", {"state", "libvirt"}, Checks(rows="row of c1: bad"), ("state",)),
        ("guest-unknown", {"state", "libvirt"}, Checks(recorded_is_fresh=False), ()),
        ("state-row-unreadable", {"state"}, Checks(rows="row of c1: bad"), ()),
        ("allocation-leaked", {"placement", "state"}, Checks(), ()),
    ],
)
def test_a_finding_without_text_stays_until_it_is_checked(code, rests_on, checks, because):
    """An old history file has a finding without its text. The finding ends only after an audit has checked it."""
    without_text = dataclasses.replace(PLAIN, code=code, rests_on=frozenset(rests_on), saved_id="5f0f")
    assert checks.missing(without_text) == because
