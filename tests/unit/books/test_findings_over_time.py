"""Laws of findings over time, for any order of audits, losses, partial reads, crashes, reboots, commands, failed saves.

The model in this file decides by itself what each audit could check, and counts by itself how many audits in a row saw
a finding. The agent's functions must agree with the model. STOCKTAKE_FINDING_LIVES sets the number of lives.
"""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.audit.history import _content
from agent.books.checks import Checks
from agent.books.confirm import AuditReads, Confirmed, confirm
from agent.books.histories import merged
from agent.guards.base import GuardedFinding
from agent.guards.confirmed import GUARD
from agent.host_files.finding_rows import rows_of, sighting_of, with_text
from agent.host_files.last_report import with_last_report
from agent.model.finding import Finding, FindingState, History, SeenFinding, Severity
from agent.render.documents import Document, finding_document
from agent.repairs.base import Scene
from tests.rigs import facts

LIVES = int(os.environ.get("STOCKTAKE_FINDING_LIVES", "0"))
NEEDED, INTERVAL_S = 2, 60
SOURCES = ("placement", "state", "libvirt", "lvm")


def about(code: str, number: int, *rests_on: str, recorded: bool = False) -> Finding:
    """Return one of the findings that may exist in a life."""
    return Finding(
        code=code,
        severity=Severity.WARNING,
        remedy="r",
        expected="e",
        actual="1",
        consumer_uuid=f"c{number}",
        provider_uuid="p",
        subject=f"/srv/{number}" if "lvm" in rests_on else "",
        rests_on=frozenset(rests_on),
        rests_on_recorded=recorded,
    )


POOL = (
    about("allocation-leaked", 1, "placement", "state", recorded=True),
    about("allocation-missing", 2, "placement", "state", "libvirt", recorded=True),
    about("consumer-unknown", 3, "placement", "state", recorded=True),
    about("guest-unknown", 4, "state", "libvirt"),
    about("volume-orphaned", 5, "lvm", "state", "libvirt"),
    about("source-unavailable", 6),
    # A finding that an older version of the agent saved: it rests on everything.
    about("cpu-offline", 7),
)


@dataclass(frozen=True)
class Audit:
    """One audit: what is there (number of the finding: its numbers), what it could not read, who audits, and when.

    ``restart``: the daemon crashed before this audit. ``unsaved``: if the daemon audits, it cannot write findings.json.
    """

    there: dict[int, int]
    lost: frozenset[str] = frozenset()
    parts: frozenset[int] = frozenset()
    cached: bool = False
    records: frozenset[int] = frozenset()
    by_command: bool = False
    after_s: int = INTERVAL_S
    restart: bool = False
    reboot: bool = False
    unsaved: bool = False

    def checks(self, finding: Finding) -> bool:
        """Return whether this audit can check the finding, by the model's own reckoning."""
        number = POOL.index(dataclasses.replace(finding, actual="1"))
        if finding.code == "source-unavailable":
            return True
        rests_on = finding.rests_on or frozenset(SOURCES)
        read = not rests_on & self.lost and number not in self.parts
        allocations = not finding.rests_on_recorded or not self.cached
        # An audit that found such a finding has read the consumer's record.
        return read and allocations and (number not in self.records or number in self.there)


audits = st.builds(
    Audit,
    there=st.dictionaries(st.integers(0, len(POOL) - 1), st.integers(1, 2)),
    lost=st.frozensets(st.sampled_from(SOURCES), max_size=2) | st.just(frozenset()),
    parts=st.frozensets(st.integers(0, len(POOL) - 1), max_size=1),
    cached=st.sampled_from([False, False, False, True]),
    records=st.just(frozenset()) | st.just(frozenset({2})),
    by_command=st.sampled_from([False, False, True]),
    after_s=st.sampled_from([1, INTERVAL_S, INTERVAL_S, 4 * INTERVAL_S]),
    restart=st.sampled_from([False, False, True]),
    reboot=st.sampled_from([False, False, False, False, True]),
    unsaved=st.sampled_from([False, False, True]),
)


@dataclass
class Life:
    """The daemon's history, the two files, and what the model knows about each live finding.

    ``is_merged``: the daemon knows what ``saved`` (findings.json) has. ``is_complete``: ``saved`` lacks no finding.
    ``ended``: the findings that the daemon's audits ended since its last save.
    """

    memory: History = field(default_factory=History)
    saved: History = field(default_factory=History)
    report: Document | None = None
    is_merged: bool = True
    ended: frozenset[str] = frozenset()
    is_complete: bool = True
    now_s: int = 1000
    boot: int = 0
    started: dict[str, str] = field(default_factory=dict)
    confirmed: set[str] = field(default_factory=set)
    streaks: dict[str, tuple[str, int, str]] = field(default_factory=dict)
    ended_by_command: frozenset[str] = frozenset()

    def save(self, history: History) -> None:
        """Write the file, and read it again as a new process would."""
        rows = json.loads(json.dumps(list(rows_of(history.sightings))))
        sightings = tuple(with_text(sighting_of(row), row) for row in rows)
        self.saved = dataclasses.replace(history, sightings=sightings)

    def loaded(self) -> History:
        """Return what a process loads from both files."""
        return with_last_report(self.saved, self.report)

    def restarted(self) -> None:
        """Let a new daemon load the files. The model forgets what no file has."""
        self.memory, self.is_merged, self.ended = self.loaded(), True, frozenset()
        # What a command checked and ended is gone for the next process too.
        for finding_id in self.ended_by_command:
            self.forget(finding_id)
        if not self.is_complete:
            self.started = {one.id: one.first_seen_at for one in self.memory.sightings}
            self.confirmed = {one.id for one in self.memory.sightings if one.confirmed}

    def run(self, audit: Audit) -> None:
        """Run the audit, and check the laws."""
        self.now_s += audit.after_s
        self.boot += audit.reboot
        far = audit.after_s > 3 * INTERVAL_S or audit.reboot
        if audit.reboot:
            self.report = None
        if audit.restart or audit.reboot:
            self.restarted()
        if audit.by_command:
            before = self.loaded()
        else:
            before = self.memory if self.is_merged else merged(self.memory, self.loaded(), self.ended)
        found = [dataclasses.replace(POOL[n], actual=str(says)) for n, says in audit.there.items()]
        told = confirm(before, found, self.reads(audit))
        ended = frozenset(sighting.id for sighting in told.gone)
        if audit.by_command:
            self.ended_by_command |= ended
        else:
            self.ended_by_command = frozenset()
        self.check(audit, before, told, far=far)
        self.keep(audit, before, told)

    def keep(self, audit: Audit, before: History, told: Confirmed) -> None:
        """Keep the audit's history as the agent does: in the daemon's memory and in the files."""
        if audit.by_command:
            self.save(told.history)
            self.is_merged = False
            return
        is_due = not (self.is_merged and self.is_complete) or audit.restart
        is_due = is_due or _content(before) != _content(told.history)
        self.memory, self.is_merged = told.history, True
        self.ended |= {sighting.id for sighting in told.gone}
        self.report = reported(told)
        if is_due:
            self.is_complete = not audit.unsaved
        if is_due and not audit.unsaved:
            self.save(told.history)
            self.ended = frozenset()

    def reads(self, audit: Audit) -> AuditReads:
        parts = {f"c{number + 1}": "libvirt" for number in audit.parts}
        return AuditReads(
            now=f"2026-11-21T12:00:00.{self.now_s:06d}Z",
            confirm_audits=NEEDED,
            checks=Checks(
                unread=audit.lost,
                parts=parts,
                recorded_is_fresh=not audit.cached,
                unrecorded=frozenset(f"c{number + 1}" for number in audit.records),
            ),
            at=self.now_s,
            boot=str(self.boot),
            apart_s=10.0,
            within_s=3.0 * INTERVAL_S,
        )

    def check(self, audit: Audit, before: History, told: Confirmed, *, far: bool) -> None:
        there = {POOL[number].id: str(says) for number, says in audit.there.items()}
        live = {seen.finding.id: seen for seen in told.findings}
        pool = {finding.id: finding for finding in POOL}
        known = {sighting.id for sighting in before.sightings}
        for finding_id, finding in pool.items():
            checked = audit.checks(finding)
            if finding_id in known and finding_id not in live:
                assert checked, "a finding ended although the audit could not check it"
                assert finding_id not in there, "a finding ended although it was found"
            if checked and finding_id not in there:
                assert finding_id not in live, "a finding stays although the audit checked it and did not find it"
            if checked and finding_id in there:
                assert finding_id in live, "a finding that was checked and found is missing"
            if finding_id in live:
                first = {sighting.id: sighting.first_seen_at for sighting in before.sightings}
                assert live[finding_id].first_seen_at == first.get(finding_id, self.reads(audit).now)
                self.check_live(live[finding_id], audit, there, far=far)
            else:
                self.streaks.pop(finding_id, None)
            if finding_id not in live and not audit.by_command:
                # What a command ended is live until the daemon's own audit has checked it.
                self.forget(finding_id)
        assert {sighting.id for sighting in told.gone} == known - live.keys()

    def forget(self, finding_id: str) -> None:
        self.started.pop(finding_id, None)
        self.confirmed.discard(finding_id)

    def check_live(self, seen: SeenFinding, audit: Audit, there: dict[str, str], *, far: bool) -> None:
        finding_id, checked = seen.finding.id, audit.checks(seen.finding)
        assert (seen.state is FindingState.UNKNOWN) is not checked
        assert bool(seen.unknown_because) is not checked
        if not audit.by_command:
            assert self.started.setdefault(finding_id, seen.first_seen_at) == seen.first_seen_at, "first_seen_at moved"
        if not audit.by_command:
            assert seen.confirmed or finding_id not in self.confirmed, "a finding is not confirmed any more"
            self.confirmed |= {finding_id} if seen.confirmed else set()
        says = there.get(finding_id) if checked else None
        before, now = self.streaks.get(finding_id, ("", 0, "")), self.reads(audit).now
        self.streaks[finding_id] = counted(before, says, now, far=far)
        _, streak, since = self.streaks[finding_id]
        assert seen.times <= streak, "the count is higher than the number of audits in a row that found it"
        assert seen.times == 0 or seen.stands_since >= since, "the age is that of an earlier row of audits"
        if refusal_of(seen) is None:
            assert streak >= NEEDED, "heal would act on a finding that too few audits in a row found"


def reported(told: Confirmed) -> Document:
    """Return what report.json has of the daemon's audit."""
    findings = [finding_document(seen) for seen in told.findings]
    return {"audit": {"boot": told.history.boot, "read_until": told.history.read_until, "findings": findings}}


def counted(streak: tuple[str, int, str], says: str | None, now: str, *, far: bool) -> tuple[str, int, str]:
    """Return the numbers of the finding, how many audits in a row found them, and since when.

    ``says`` is None if the audit at ``now`` did not find the finding.
    """
    was, times, since = streak
    if says is None:
        return (was, 0, now)
    return (says, times + 1, since) if times and was == says and not far else (says, 1, now)


def refusal_of(seen: SeenFinding) -> str | None:
    """Return why the guard ``confirmed`` refuses to heal the finding, None if it does not."""
    scene = Scene(
        snapshot=facts.snapshot(),
        settings=facts.settings(confirm_audits=NEEDED),
        subject=None,  # type: ignore[arg-type] - the guard reads only settings
        rows=(),
        findings=(seen,),
        identity=None,
        persisted=None,
        records=(),
        now="",
    )
    return GUARD.refuses(GuardedFinding(scene=scene, seen=seen, repair=None))


@settings(**({"max_examples": LIVES, "deadline": None} if LIVES else {"deadline": None}))
@given(st.lists(audits, min_size=1, max_size=12))
def test_a_finding_ends_only_in_an_audit_that_can_check_it(days):
    """Crashes, reboots and lost sources come at random; a finding ends only in an audit that can check it."""
    life = Life()
    for day in days:
        life.run(day)
