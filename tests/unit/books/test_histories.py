"""Two processes audit the same host: the merged history has what both know."""

from __future__ import annotations

import dataclasses

from agent.books.histories import merged
from agent.model.finding import History, Sighting

T1, T2, T3, T4 = (f"2026-11-21T12:0{minute}:00.000Z" for minute in range(1, 5))


def one(name: str = "a", **changes: object) -> Sighting:
    made = Sighting(id=name, code="c", first_seen_at=T2, last_seen_at=T2, times=1, evidence_digest="d", stands_since=T2)
    return dataclasses.replace(made, **changes)


def history(*sightings: Sighting, read_until: int = 100, **changes: object) -> History:
    return History(sightings=sightings, boot="this", read_until=read_until, **changes)


def test_a_merge_keeps_the_first_and_the_last_sighting():
    """A merge of the histories of two processes keeps the earlier first_seen_at and the later last_seen_at."""
    ours = history(one(first_seen_at=T3, last_seen_at=T3, times=1, stands_since=T3))
    theirs = history(one(first_seen_at=T1, last_seen_at=T4, times=2, confirmed=True, stands_since=T1), read_until=160)
    (found,) = merged(ours, theirs).sightings
    assert (found.first_seen_at, found.last_seen_at, found.times) == (T1, T4, 2)
    assert (found.confirmed, found.stands_since) == (True, T1)


def test_a_merge_takes_the_audit_count_of_the_newer_history():
    """If the evidence of a finding has changed, a merge takes the audit count of the newer of two histories."""
    theirs = history(one(times=3, evidence_digest="old"), read_until=50)
    (found,) = merged(history(one(times=1)), theirs).sightings
    assert (found.times, found.evidence_digest) == (1, "d")


def test_a_merge_keeps_an_unchecked_finding_confirmed():
    """If a finding is confirmed in one history and unchecked in the newer one, a merge keeps it confirmed."""
    newer = history(one(times=0, unknown_because=("placement",)), read_until=160)
    older = history(one(times=2, confirmed=True))
    for found in (merged(newer, older), merged(older, newer)):
        (sighting,) = found.sightings
        assert (sighting.times, sighting.confirmed, sighting.unknown_because) == (0, True, ("placement",))


def test_a_merged_history_does_not_contain_an_ended_finding():
    """The merged history does not contain an ended finding that the stored history still contains."""
    ours, theirs = history(one("a")), history(one("b"), one("c"))
    assert [s.id for s in merged(ours, theirs).sightings] == ["a", "b", "c"]
    assert [s.id for s in merged(ours, theirs, frozenset({"b"})).sightings] == ["a", "c"]


def test_a_finding_that_another_process_missed_has_count_0():
    """If a later audit of another process missed a finding, the finding's audit count becomes 0."""
    ours = history(one(times=2, counted_at=100, confirmed=True))
    (found,) = merged(ours, history(read_until=160)).sightings
    assert (found.times, found.confirmed) == (0, True)


def test_a_merge_keeps_audit_count_1_from_the_newer_history():
    """If only the newer of two histories contains a finding, a merge keeps the finding's audit count of 1."""
    ours = history(one(times=1, counted_at=100))
    assert merged(ours, history(read_until=40)) == ours
    theirs = history(one(times=1, counted_at=160), read_until=160)
    assert merged(history(), theirs).sightings == theirs.sightings


def test_a_finding_in_only_one_history_loses_its_audit_count():
    """One history counted a finding in two audits, and the other history lacks it.

    The merged history counts it 0 times.
    """
    long = history(one(times=2, counted_at=160, confirmed=True), read_until=160)
    for found in (merged(long, history()), merged(history(), long)):
        assert [(s.times, s.confirmed) for s in found.sightings] == [(0, True)]


def test_a_finding_that_this_process_missed_has_audit_count_0():
    """If this process's audit misses a finding that another process saw before, the audit count becomes 0."""
    theirs = history(one(times=1, counted_at=100))
    (found,) = merged(history(read_until=160), theirs).sightings
    assert found.times == 0


def test_a_merge_ignores_audit_counts_from_before_a_reboot():
    """When the agent merges two histories of findings, it ignores audit counts from before a reboot."""
    theirs = dataclasses.replace(history(one(times=1, counted_at=900), read_until=900), boot="earlier")
    (found,) = merged(history(), theirs).sightings
    assert found.times == 0
    ours = history(one("b", times=2))
    assert merged(ours, dataclasses.replace(history(read_until=900), boot="earlier")) == ours


def test_a_merged_history_keeps_the_newer_of_two_counts():
    """Two processes counted a finding's audits, one process after the other.

    The merged history keeps the newer count.
    """
    older = history(one(first_seen_at=T1, last_seen_at=T2, times=3, counted_at=90, stands_since=T1))
    newer = history(one(first_seen_at=T1, last_seen_at=T4, times=1, counted_at=160, stands_since=T4), read_until=160)
    for found in (merged(newer, older), merged(older, newer)):
        (sighting,) = found.sightings
        assert (sighting.times, sighting.counted_at, sighting.stands_since) == (1, 160, T4)
        assert (sighting.first_seen_at, sighting.last_seen_at) == (T1, T4)


def test_a_merge_keeps_the_agents_own_provider_uuid():
    """A merge with another process's history keeps the agent's own provider uuid and settings digest."""
    ours = history(root_uuid="ours", settings_digest="ours")
    found = merged(ours, history(read_until=200, root_uuid="theirs", settings_digest="theirs"))
    assert (found.root_uuid, found.settings_digest, found.read_until) == ("ours", "ours", 200)
    of_another_boot = dataclasses.replace(history(read_until=9999), boot="earlier")
    assert merged(ours, of_another_boot).read_until == 100
