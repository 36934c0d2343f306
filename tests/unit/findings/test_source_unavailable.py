"""source-unavailable: what could not be read, and what that keeps as it is."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.host import OddDomain
from agent.model.snapshot import FILESYSTEM, IMAGES, LIBVIRT, LVM, PLACEMENT, STATE
from agent.model.storage import StorageFacts
from tests.rigs.facts import INSTANCES, ROOT_UUID, findings, good, host, settings, settled_world, snapshot, state, uuid

CODE = "source-unavailable"
CONSEQUENCE = {
    PLACEMENT: "nothing is written",
    STATE: "nothing is concluded about guests; reserved is not lowered",
    LIBVIRT: "VCPU, PCPU and MEMORY_MB stay as they are",
    LVM: "DISK_GB of a volume group stays as it is",
    FILESYSTEM: "DISK_GB of a file system stays as it is",
}


@pytest.mark.parametrize(("source", "consequence"), CONSEQUENCE.items(), ids=CONSEQUENCE.keys())
def test_it_says_why_and_what_follows(source, consequence):
    (found,) = findings(snapshot(**settled_world(), lost=[source]), CODE)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, None, None)
    assert found.actual == f"{source}: no answer within 5 s; {consequence}"
    assert found.expected == "an answer that can be read"
    assert found.severity is Severity.WARNING
    assert not found.rests_on_recorded
    assert "tries again at the next audit" in found.remedy


def test_each_source_has_a_finding_of_its_own():
    found = findings(snapshot(lost=CONSEQUENCE), CODE)
    assert len({f.id for f in found}) == 5


def test_a_domain_that_is_not_understood():
    odd = OddDomain(uuid=uuid("odd"), name="odd", reason="<vcpu> is missing")
    (found,) = findings(snapshot(libvirt=dataclasses.replace(host(), odd_domains=(odd,))), CODE)
    assert found.actual == (
        f"domain {uuid('odd')} (odd): <vcpu> is missing; what it uses is unknown; reserved is not lowered"
    )


def test_a_row_that_does_not_parse():
    (found,) = findings(snapshot(nova=state(unreadable=("instance 7: flavor is NULL",))), CODE)
    assert found.actual == ("instance 7: flavor is NULL; this consumer is unknown: nothing is concluded about it")


def _with_images(**facts):
    world = snapshot(**settled_world())
    return dataclasses.replace(world, storage=(*world.storage, good(IMAGES, StorageFacts(**facts))))


@pytest.mark.parametrize("reserves", [True, False])
def test_a_part_that_a_source_could_not_read_is_told(reserves):
    stale = _with_images(unread=((f"{INSTANCES}/_base", "ESTALE: Stale file handle"),))
    (found,) = findings(stale, CODE, settings(reserve_image_cache=reserves))
    assert found.actual == (
        f"images: {INSTANCES}/_base: ESTALE: Stale file handle; "
        "the image cache's reserve is not lowered; what lies there is not told"
    )


def test_a_cache_to_reserve_for_that_is_nowhere_is_told_and_no_other():
    (found,) = findings(_with_images(), CODE, settings(reserve_image_cache=True))
    assert found.actual.startswith(f"images: {INSTANCES}: there is no such folder; ")
    assert findings(_with_images(), CODE, settings()) == ()


def test_it_is_silent_where_all_was_read():
    assert findings(snapshot(**settled_world()), CODE) == ()


def test_the_same_trouble_is_the_same_finding_whatever_the_message():
    first, second = (findings(snapshot(lost=[LVM]), CODE)[0] for _ in range(2))
    assert dataclasses.replace(first, actual="lvm: something else").id == second.id
