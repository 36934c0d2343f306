"""source-unavailable: a source that could not be read, and what stays unchanged because of that."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.host.device_spec import PciSettings
from agent.model.host.facts import OddDomain
from agent.model.host.storage import StorageFacts
from agent.model.settings import PmemLabel
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGE_CACHE, IMAGES, LIBVIRT, LVM, PLACEMENT, PMEM, STATE
from agent.nested import BUILTIN as FAMILIES
from agent.resources import BUILTIN as RESOURCES
from tests.rigs.facts import (
    INSTANCES,
    ROOT_UUID,
    classes_from,
    decided,
    failed,
    findings,
    good,
    host,
    inventory,
    lvm_settings,
    root,
    settings,
    settled_world,
    snapshot,
    state,
    uuid,
    view,
    wanted_root,
)
from tests.rigs.nested import child, mdev_type, standing

CODE = "source-unavailable"
LVM_IMAGES = lvm_settings()
PMEM_LABELS = settings(pmem_labels=(PmemLabel(label="4GB", namespaces=("ns_0",)),))
BIG = "CUSTOM_PMEM_NAMESPACE_4GB"
LIBVIRTS = ", ".join(sorted(classes_from(LIBVIRT, "MEMORY_MB", "PCPU", "VCPU")))
CONSEQUENCE = {
    "placement": (PLACEMENT, settings(), "nothing is written"),
    "state": (
        STATE,
        settings(),
        "the agent compares no guest with nova, and does not lower the reserved amount of any class",
    ),
    "libvirt": (
        LIBVIRT,
        settings(),
        f"{LIBVIRTS} stay as they are; the agent keeps traits that depend on libvirt, and does not lower the reserved "
        "amount of any class",
    ),
    "lvm": (LVM, LVM_IMAGES, "DISK_GB stays as it is"),
    "lvm, beside": (LVM, settings(volume_groups=("vg0",)), "nothing that the agent writes depends on this source now"),
    "filesystem": (FILESYSTEM, settings(), "DISK_GB stays as it is"),
    "filesystem, beside": (FILESYSTEM, LVM_IMAGES, "nothing that the agent writes depends on this source now"),
    "ceph": (CEPH, settings(images_type="rbd"), "DISK_GB stays as it is"),
    "images": (IMAGES, settings(), "the agent does not report guests' files"),
    "images, the cache reserved": (
        IMAGES,
        settings(reserve_image_cache=True),
        "the agent does not lower the reserved amount of DISK_GB; the agent does not report guests' files",
    ),
    "pmem": (PMEM, PMEM_LABELS, f"{BIG} stays as it is"),
    "pmem without a label": (PMEM, settings(), "nothing that the agent writes depends on this source now"),
}
BEFORE = view(provider=root(inventory(BIG, 1)))


def losing(source, **changes):
    """Return a world in which only that source was not read; a storage source is added if the plain world lacks it."""
    world = snapshot(**settled_world(**changes), lost=[source])
    if any(reading.source == source for reading in world.readings):
        return world
    return dataclasses.replace(world, storage=(*world.storage, failed(source)))


@pytest.mark.parametrize(("source", "chosen", "consequence"), CONSEQUENCE.values(), ids=CONSEQUENCE.keys())
def test_a_failed_source_is_reported_with_the_consequence(source, chosen, consequence):
    """If the agent cannot read a source, the finding shows the error and what the agent therefore does not do."""
    (found,) = (f for f in findings(losing(source, placement=BEFORE), CODE, chosen) if f.subject == source)
    assert (found.provider_uuid, found.consumer_uuid, found.resource_class) == (ROOT_UUID, None, None)
    assert found.actual == f"{source}: no answer within 5 s; {consequence}"
    assert found.expected == "an answer that can be read"
    assert found.severity is Severity.WARNING
    assert not found.rests_on_recorded
    assert "tries again at the next audit" in found.remedy


def test_source_unavailable_shows_the_unchanged_classes():
    """If Placement cannot be read, the finding `source-unavailable` shows which resource classes stay unchanged."""
    (found,) = findings(losing(PLACEMENT), CODE)
    assert dict(found.facts) == {"frozen": "nothing is written; DISK_GB, MEMORY_MB, VCPU stay"}


@pytest.mark.parametrize(("source", "chosen", "consequence"), list(CONSEQUENCE.values())[1:], ids=list(CONSEQUENCE)[1:])
def test_the_fact_frozen_shows_the_effect_of_a_failed_source(source, chosen, consequence):
    """The finding's fact `frozen` shows the effect of a failed source, for example `DISK_GB stays as it is`."""
    (found,) = (f for f in findings(losing(source, placement=BEFORE), CODE, chosen) if f.subject == source)
    assert dict(found.facts) == {"frozen": consequence}


CHOICES = {
    "file system": settings(reserve_image_cache=True),
    "lvm": lvm_settings(reserve_image_cache=True),
    "ceph": settings(images_type="rbd", reserve_image_cache=True),
    "pmem": PMEM_LABELS,
    "mdev": settings(mdev_types=(mdev_type("nvidia-11"),)),
    "pci": settings(pci=PciSettings(report_in_placement=True)),
}
READ_AS = {IMAGE_CACHE: IMAGES}


@pytest.mark.parametrize("chosen", CHOICES.values(), ids=CHOICES.keys())
def test_a_failed_source_lists_all_resources_not_updated(chosen):
    """If a source cannot be read, the finding lists every resource that the agent therefore does not update."""
    needed = {source for resource in RESOURCES for source in resource.needs(chosen) | resource.reserve_needs(chosen)}
    needed |= {source for family in FAMILIES if family.is_configured(chosen) for source in family.needs(chosen)}
    for source in sorted({READ_AS.get(source, source) for source in needed}):
        decision = decided(losing(source, placement=BEFORE), chosen)
        (found,) = (f for f in decision.findings if f.code == CODE and f.subject == source)
        told = found.actual.removeprefix(f"{source}: no answer within 5 s; ")
        assert told != "nothing that the agent writes depends on this source now", source
        because = f"{source} could not be read"
        frozen = [f.name for f in wanted_root(decision).frozen if f.why == because]
        frozen += [f"{family.name} providers" for family in decision.tree.frozen_families if family.why == because]
        assert [name for name in frozen if name not in told] == [], source


def test_source_unavailable_shows_unchanged_child_providers():
    """If libvirt cannot be read, the finding `source-unavailable` shows which child providers stay unchanged."""
    standing_child = standing(child("amd_sev", inventory("MEM_ENCRYPTION_CONTEXT", 16)))
    (found,) = findings(losing(LIBVIRT, placement=standing_child), CODE)
    assert f"{LIBVIRTS}, memory-encryption providers stay as they are" in found.actual
    (found,) = findings(losing(LIBVIRT), CODE, CHOICES["mdev"])
    assert f"{LIBVIRTS}, mdev providers stay as they are" in found.actual


def test_each_source_that_could_not_be_read_has_its_own_finding():
    found = findings(snapshot(lost=(PLACEMENT, STATE, LIBVIRT, LVM, FILESYSTEM)), CODE)
    assert len({f.id for f in found}) == 5


def test_an_invalid_guest_definition_is_reported():
    """If a guest's definition in libvirt is invalid, the finding shows the guest and the reason."""
    odd = OddDomain(uuid=uuid("odd"), name="odd", reason="<vcpu> is missing")
    (found,) = findings(snapshot(libvirt=dataclasses.replace(host(), odd_domains=(odd,))), CODE)
    assert found.actual == (
        f"domain {uuid('odd')} (odd): <vcpu> is missing; "
        "the agent does not know what the guest uses, so the agent lowers no reserved amount in Placement"
    )


def test_one_unreadable_row_does_not_make_nova_unavailable():
    """If one row of nova's database is unreadable, the agent does not report the database as unavailable."""
    assert findings(snapshot(nova=state(unreadable=("instance 7: flavor is NULL",))), CODE) == ()


def _with_images(**facts):
    world = snapshot(**settled_world())
    return dataclasses.replace(world, storage=(*world.storage, good(IMAGES, StorageFacts(**facts))))


@pytest.mark.parametrize("reserves", [True, False])
def test_an_unreadable_image_folder_is_reported(reserves):
    """If an image folder cannot be read, the finding shows its path, the error and the consequence."""
    stale = _with_images(unread=((f"{INSTANCES}/_base", "ESTALE: Stale file handle"),))
    (found,) = findings(stale, CODE, settings(reserve_image_cache=reserves))
    kept = "the agent does not lower the reserved amount of DISK_GB; " if reserves else ""
    end = f"{kept}the agent does not report the files in this path"
    assert found.actual == f"images: {INSTANCES}/_base: ESTALE: Stale file handle; {end}"


def test_a_missing_image_folder_is_reported():
    """If the agent reserves disk space for the image cache, it reports a missing image folder."""
    (found,) = findings(_with_images(), CODE, settings(reserve_image_cache=True))
    assert found.actual.startswith(f"images: {INSTANCES}: there is no such folder; ")
    assert findings(_with_images(), CODE, settings()) == ()


def test_no_source_is_unavailable_after_a_full_audit():
    """If every source was read, the agent reports no source as unavailable."""
    assert findings(snapshot(**settled_world()), CODE) == ()


def test_a_new_error_of_a_source_keeps_the_finding_id():
    """If a source fails again with a different error, the finding keeps its ID."""
    first, second = (findings(snapshot(lost=[LVM]), CODE)[0] for _ in range(2))
    assert dataclasses.replace(first, actual="lvm: something else").id == second.id
