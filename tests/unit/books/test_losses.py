"""How severe the finding about an unread source is, audit by audit. The clock is a number in the test."""

from __future__ import annotations

import dataclasses

import pytest

from agent.books.losses import Failed, Moment, graded, losses_after, weighty
from agent.model.finding import Finding, Loss, Severity
from agent.model.snapshot import CEPH, FILESYSTEM, LIBVIRT, LVM, PLACEMENT, STATE
from tests.rigs import facts

SETTINGS = facts.settings()
LOST = Finding(
    code="source-unavailable", severity=Severity.WARNING, remedy="r", expected="e", actual="a", subject="libvirt"
)


def life(*moments: tuple[int, tuple[Failed, ...]], boots: str = "", settings=SETTINGS):
    """Return whether the loss is an error after each audit; each moment is (seconds, the sources that failed)."""
    before, boot_before, told = (), "", []
    for number, (second, failed) in enumerate(moments):
        boot = boots[number] if boots else "a"
        before = losses_after(before, boot_before, failed, Moment(f"at {second}", second, boot), settings)
        boot_before = boot
        told.append([loss.is_error for loss in before])
    return before, told


LIBVIRT_FAILED = (Failed(LIBVIRT, denied=False),)


def test_an_outage_is_an_error_after_3_audits_and_300_s():
    """If libvirt cannot be read, the finding is a warning at first, and an error after 3 audits and 300 s."""
    _, told = life(*((second, LIBVIRT_FAILED) for second in (0, 60, 120, 299, 300, 360)))
    assert told == [[False], [False], [False], [False], [True], [True]]
    _, told = life((0, LIBVIRT_FAILED), (400, LIBVIRT_FAILED), (401, LIBVIRT_FAILED))
    assert told == [[False], [False], [True]], "two audits are not enough, however long they are apart"


def test_a_successful_read_ends_a_libvirt_outage():
    """Libvirt fails, answers, and fails again: the last failure begins a new outage."""
    losses, _ = life((0, LIBVIRT_FAILED), (60, LIBVIRT_FAILED), (120, LIBVIRT_FAILED))
    assert losses == (Loss(LIBVIRT, "at 0", 0, 3, is_error=False),)
    losses, _ = life((0, LIBVIRT_FAILED), (60, ()), (120, LIBVIRT_FAILED))
    assert losses == (Loss(LIBVIRT, "at 120", 120, 1, is_error=False),)


def test_refused_credentials_are_reported_as_an_error_at_once():
    """If Placement refuses the agent's credentials, the agent reports an error at once, not a warning first."""
    denied, failed = (Failed(PLACEMENT, denied=True),), (Failed(PLACEMENT, denied=False),)
    _, told = life((0, denied), (60, failed), (120, ()), (180, failed))
    assert told == [[True], [True], [], [False]]


def test_a_libvirt_outage_stays_an_error_after_a_reboot():
    """The agent reports an outage of libvirt as an error before and after a reboot of the host."""
    moments = tuple((second, LIBVIRT_FAILED) for second in (1000, 1100, 1300, 5))
    losses, told = life(*moments, boots="aaab")
    assert told[2:] == [[True], [True]]
    assert losses == (Loss(LIBVIRT, "at 1000", 5, 4, is_error=True),)


@pytest.mark.parametrize(
    ("settings", "source", "is_heavy"),
    [
        (SETTINGS, PLACEMENT, True),
        (SETTINGS, STATE, True),
        (SETTINGS, FILESYSTEM, True),
        (SETTINGS, LVM, False),
        (facts.lvm_settings(), LVM, True),
        (facts.lvm_settings(), FILESYSTEM, False),
        (facts.settings(images_type="rbd"), CEPH, True),
    ],
)
def test_only_an_outage_of_a_needed_source_is_an_error(settings, source, is_heavy):
    """For example, an LVM outage is only a warning if the guests' disks are not on LVM."""
    failed = (Failed(source, denied=True),)
    _, told = life((0, failed), (200, failed), (400, failed), settings=settings)
    assert told == [[is_heavy]] * 3
    assert (source in weighty(settings)) is is_heavy


def test_an_outage_continues_if_the_source_is_not_asked():
    """An audit that does not ask Placement does not end an outage of Placement."""
    failed, not_asked = (Failed(PLACEMENT, denied=False),), (Failed(PLACEMENT, denied=False, asked=False),)
    assert life((0, not_asked))[0] == ()
    losses, _ = life((0, failed), (60, not_asked), (120, not_asked))
    assert losses == (Loss(PLACEMENT, "at 0", 0, 1, is_error=False),)


def test_a_folder_finding_stays_a_warning_in_an_outage():
    """The finding about an unreadable folder stays a warning while a libvirt outage is reported as an error."""
    part = dataclasses.replace(LOST, subject="/srv/nova")
    losses = (Loss(LIBVIRT, "at 0", 0, 9, is_error=True),)
    assert [f.severity for f in graded((LOST, part), losses)] == [Severity.ERROR, Severity.WARNING]
    assert graded((LOST, part), ()) == (LOST, part)
