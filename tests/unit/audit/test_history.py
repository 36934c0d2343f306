"""When the history of findings is loaded, merged and saved."""

from __future__ import annotations

import contextlib
import dataclasses
from types import SimpleNamespace

import pytest

from agent.audit.history import consumers_of, save_history, saved, with_history
from agent.audit.remember import Found
from agent.audit.report import _outcome
from agent.books.checks import Checks
from agent.books.confirm import AuditReads, confirm, not_checked
from agent.daemon.worker import crash_report
from agent.errors import LockHeld
from agent.findings import BUILTIN
from agent.model.audit import AuditMemory, AuditRequest, Publish
from agent.model.finding import Booked, Finding, FindingState, History, Loss, Severity, Sighting
from agent.model.report import Outcome
from agent.model.settings import Role
from tests.rigs import facts

NOW = "2026-11-21T12:00:00.000Z"
LEAKED = Finding(
    code="allocation-leaked",
    severity=Severity.ERROR,
    remedy="r",
    expected="e",
    actual="8 VCPU",
    consumer_uuid="leaked",
    rests_on=frozenset({"placement", "state"}),
    rests_on_recorded=True,
)
SEVERAL = dataclasses.replace(LEAKED, code="consumer-on-several-providers", consumer_uuid="several")
VOLUME = dataclasses.replace(LEAKED, code="volume-foreign", consumer_uuid=None, rests_on_recorded=False)


class Store:
    """A history store of another process and ours; ``theirs`` is what the other process saved last."""

    def __init__(self, history: History = History(), *, works: bool = True) -> None:  # noqa: B008
        self.history = history
        self.theirs: History | None = None
        self.saved: list[History] = []
        self.works = works

    def load(self) -> History:
        return self.history

    def changed(self) -> History | None:
        theirs, self.theirs = self.theirs, None
        return theirs

    def save(self, history: History) -> bool:
        self.saved += [history] if self.works else []
        return self.works


def history(*findings: Finding, now: str = NOW, **changes: object) -> History:
    known = confirm(History(), findings, AuditReads(now=now, confirm_audits=2, boot="this", at=100)).history
    return dataclasses.replace(known, **changes)


def seen_again(before: History) -> History:
    """Return the history after one more audit that counted nothing new."""
    later = dataclasses.replace(before.sightings[0], last_seen_at=NOW)
    return dataclasses.replace(before, sightings=(later,), read_until=160)


def task(store: Store, *, publish: Publish = Publish.BY_ROLE, lock=contextlib.nullcontext):
    parts = SimpleNamespace(history=store, lock=SimpleNamespace(hold=lock))
    return SimpleNamespace(
        parts=parts, settings=facts.settings(), request=AuditRequest(reasons=("test",), publish=publish)
    )


def test_the_first_audit_checks_consumers_of_saved_findings():
    """After a restart the agent reads again the consumers of the findings that an earlier process saved."""
    memory = with_history(task(Store(history(LEAKED, SEVERAL, VOLUME))), AuditMemory(suspects=("old",)))
    assert memory.suspects == ("old", "several", "leaked")
    assert memory.reported == ("several", "leaked")
    assert consumers_of(history(VOLUME).sightings) == ()


def test_a_saved_finding_without_severity_gets_a_default():
    """A finding that was saved without a severity gets the default severity of its finding code."""
    old = Sighting(id="5f0f", code="over-capacity", first_seen_at=NOW, last_seen_at=NOW, times=2, evidence_digest="d")
    loaded = with_history(task(Store(History(sightings=(old,)))), AuditMemory()).history
    assert loaded is not None
    (found,) = loaded.sightings
    rule = next(rule for rule in BUILTIN if rule.code == "over-capacity")
    assert found.finding is not None
    assert (found.finding.id, found.finding.severity, found.finding.rests_on) == ("5f0f", rule.severity, rule.rests_on)
    assert found.confirmed, "two sightings confirm a finding in this configuration"


def test_an_audit_loads_findings_another_process_saved():
    """A command and the daemon audit one host: the next audit knows the findings that the other process saved."""
    store = Store(history(LEAKED))
    memory = with_history(task(store), AuditMemory())
    assert with_history(task(store), memory) == memory
    store.theirs = history(LEAKED, SEVERAL, read_until=160)
    later = with_history(task(store), memory)
    assert later.history is not None
    assert {s.code for s in later.history.sightings} == {LEAKED.code, SEVERAL.code}
    assert later.unsaved_history


def test_findings_are_not_saved_if_only_timestamps_changed():
    """New timestamps alone do not make the agent save its findings again; a new finding, for example, does."""
    store, before = Store(), history(LEAKED, now="2026-11-21T11:00:00.000Z")
    memory = AuditMemory(history=before, audits=1)
    only_times = seen_again(before)
    assert save_history(task(store), memory, before, only_times, frozenset()).history is only_times
    assert store.saved == []
    for change in (
        history(LEAKED, SEVERAL),
        dataclasses.replace(only_times, losses=(Loss("libvirt", NOW, 1, 1),)),
        dataclasses.replace(only_times, root_uuid="p2"),
        dataclasses.replace(only_times, sightings=(dataclasses.replace(only_times.sightings[0], stands_since=NOW),)),
        dataclasses.replace(only_times, settings_digest="new"),
        History(),
    ):
        save_history(task(store), memory, before, change, frozenset())
        assert store.saved.pop() == change
    lost = dataclasses.replace(only_times, losses=(Loss("libvirt", NOW, 1, 1),))
    longer = dataclasses.replace(only_times, losses=(Loss("libvirt", NOW, 1, 2),))
    save_history(task(store), memory, lost, longer, frozenset())
    assert store.saved == [], "only the count of a loss changed"


def test_the_first_audit_of_a_process_saves_its_findings():
    """The first audit saves the history of findings even if nothing changed. A dry run never saves it."""
    store, known = Store(), history(LEAKED)
    save_history(task(store), AuditMemory(history=known, audits=0), known, known, frozenset())
    assert store.saved == [known]
    dry = task(store, publish=Publish.NEVER)
    save_history(dry, AuditMemory(history=known, audits=1), known, History(), frozenset())
    assert len(store.saved) == 1


@pytest.mark.parametrize("failure", ["lock", "disk"])
def test_a_failed_save_of_findings_is_repeated(failure):
    """A lock or a disk error prevents the agent from saving its findings; its next audit saves them."""

    @contextlib.contextmanager
    def held():
        raise LockHeld("/run/lock", "is held")
        yield

    store, known = Store(works=failure != "disk"), history(LEAKED)
    chosen = task(store, lock=held if failure == "lock" else contextlib.nullcontext)
    memory = save_history(chosen, AuditMemory(history=known, audits=1), History(), known, frozenset({"gone"}))
    assert (memory.unsaved_history, memory.ended) == (True, frozenset({"gone"}))
    store.works = True
    after = save_history(task(store), memory, known, known, memory.ended)
    assert (after.unsaved_history, after.ended, store.saved) == (False, frozenset(), [known])


def test_a_save_merges_the_findings_of_two_processes():
    """Two processes save findings in one file. A save merges the findings of both, and omits those that have ended."""
    store = Store()
    store.theirs = history(LEAKED, SEVERAL)
    ended = frozenset({history(SEVERAL).sightings[0].id})
    memory = saved(task(store).parts, AuditMemory(history=history(LEAKED, VOLUME), ended=ended))
    assert memory.history is not None
    assert {s.code for s in memory.history.sightings} == {LEAKED.code, VOLUME.code}
    assert store.saved == [memory.history]


def test_an_unchecked_finding_prevents_the_outcome_clean():
    """The outcome of an audit is not "clean" while an earlier finding cannot be checked."""
    unknown = not_checked(history(LEAKED).sightings)
    acted = SimpleNamespace(snapshot=facts.snapshot(), decision=SimpleNamespace(rival=None), error=None)
    assert _outcome(Role.OWNER, acted, Found(live=unknown)) is Outcome.FINDINGS
    assert _outcome(Role.OWNER, acted, Found(live=())) is Outcome.CLEAN


def test_a_crashed_audit_reports_earlier_findings_as_unknown():
    """An exception ends the audit before it checks the findings, so the report gives them the state unknown."""
    memory = AuditMemory(history=history(LEAKED))
    report = crash_report(AuditRequest(reasons=("test",)), facts.settings(), memory, RuntimeError("a bug"), NOW)
    (seen,) = report.findings
    assert (seen.finding, seen.state, seen.unknown_because) == (LEAKED, FindingState.UNKNOWN, ("placement", "state"))


def test_a_crashed_audits_report_masks_passwords():
    """A database URL in the exception's text appears in the agent's report without its user and password."""
    error = RuntimeError("cannot connect to mysql+pymysql://nova:hunter2@cell-db/nova")
    report = crash_report(AuditRequest(reasons=("test",)), facts.settings(), AuditMemory(), error, NOW)
    assert report.error == "RuntimeError: cannot connect to mysql+pymysql://***@cell-db/nova"


def test_a_shared_storage_finding_needs_the_sharing_provider():
    """A finding about shared storage cannot be checked if the sharing provider was not read."""
    noted = (Booked("leaked", "DISK_GB", None, None, 8, shared=True),)
    assert Checks(shared_is_read=False).missing(LEAKED, noted) == ("placement",)
    assert Checks(shared_is_read=False).missing(LEAKED, (noted[0]._replace(shared=False),)) == ()
    assert Checks().missing(LEAKED, noted) == ()
