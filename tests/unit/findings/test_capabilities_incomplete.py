"""capabilities-incomplete: which part libvirt did not return, why, and what stays unchanged because of that."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.host.capabilities import MissingPart, Part
from agent.model.snapshot import LIBVIRT
from tests.rigs.capabilities import capable, emulator
from tests.rigs.facts import ROOT_UUID, findings, host, settled_world, snapshot

CODE = "capabilities-incomplete"


def told(*missing, **changes):
    facts = dataclasses.replace(host(), capabilities=capable(emulator(), missing=missing, **changes))
    return findings(snapshot(libvirt=facts), CODE)


VERSION = MissingPart(part=Part.VERSION, why="this function is not supported")
FEATURES = MissingPart(part=Part.HOST_FEATURES, why="CPU model is not known")


def test_one_finding_lists_all_missing_capabilities():
    """If libvirt's answer lacks the CPU features and the version, one finding lists these two capabilities."""
    (found,) = told(VERSION, FEATURES)
    assert found.actual == (
        "libvirt's answer lacks host CPU features (CPU model is not known): in Placement, the agent does not change"
        " HW_CPU_X86_*; libvirt's answer lacks hypervisor version (this function is not supported): in Placement, the"
        " agent does not change COMPUTE_NET_VIF_MODEL_IGB, COMPUTE_SOUND_MODEL_VIRTIO and COMPUTE_STORAGE_VIRTIO_FS"
    )
    assert (found.severity, found.provider_uuid, found.resource_class) == (Severity.WARNING, ROOT_UUID, None)
    assert dict(found.facts) == {"parts": "host CPU features, hypervisor version"}
    assert "virsh -c qemu:///system domcapabilities" in found.remedy


PARTS = {
    "host CPU": (Part.HOST_CPU, "", "HW_ARCH_*"),
    "host CPU features": (Part.HOST_FEATURES, "", "HW_CPU_X86_*"),
    "guests": (Part.GUESTS, "", "COMPUTE_STORAGE_BUS_*"),
    "domain capabilities": (Part.DOMAIN, "", "the providers of memory encryption"),
    "domain capabilities of x86_64 q35": (
        Part.MACHINE,
        "x86_64 q35",
        "(but the agent still adds traits of the machine types in libvirt's answer)",
    ),
    "hypervisor version": (Part.VERSION, "", "COMPUTE_STORAGE_VIRTIO_FS"),
    "features of CPU model Westmere": (Part.MODEL_FEATURES, "Westmere", "HW_CPU_X86_*"),
}


def test_the_table_contains_every_part_of_the_capabilities():
    """The table PARTS in this test file contains every part of libvirt's capabilities."""
    assert {part for part, _, _ in PARTS.values()} == set(Part)


@pytest.mark.parametrize("name", PARTS)
def test_the_finding_shows_what_a_missing_capability_affects(name):
    """For each capability that libvirt's answer lacks, the finding shows the affected traits or providers."""
    part, detail, expected = PARTS[name]
    (found,) = told(MissingPart(part=part, why="because", detail=detail))
    assert found.actual.startswith(f"libvirt's answer lacks {name} (because): ")
    assert expected in found.actual


def test_the_order_of_missing_capabilities_does_not_matter():
    """libvirt's answer lacks two capabilities. The finding is the same for each order of the two."""
    first, second = told(VERSION, FEATURES), told(FEATURES, VERSION)
    assert first == second


QUIET = {
    "all parts are there": snapshot(libvirt=dataclasses.replace(host(), capabilities=capable(emulator()))),
    # libvirt probes QEMU for seconds after its start: that is no fault, and the next audit has the answer.
    "they are still being read": snapshot(**settled_world()),
    # source-unavailable reports this case.
    "libvirt does not answer": snapshot(lost=[LIBVIRT]),
    # A driver that lacks the call (containers): the operator could repair nothing.
    "the driver has no domain capabilities": snapshot(
        libvirt=dataclasses.replace(host(driver="LXC"), capabilities=capable(domain=None))
    ),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_complete_or_unread_capabilities_cause_no_finding(world):
    """If libvirt's capabilities were not read, the agent does not report them as incomplete."""
    assert findings(world, CODE) == ()
