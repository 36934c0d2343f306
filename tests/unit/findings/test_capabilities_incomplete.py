"""capabilities-incomplete: which part libvirt did not give, why, and what stays because of it."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.capabilities import MissingPart
from agent.model.finding import Severity
from agent.model.snapshot import LIBVIRT
from agent.sources import libvirt_capabilities as source
from tests.rigs.capabilities import UNREADABLE, capable, emulator
from tests.rigs.facts import ROOT_UUID, findings, host, settled_world, snapshot

CODE = "capabilities-incomplete"


def told(*missing, **changes):
    facts = dataclasses.replace(host(), capabilities=capable(emulator(), missing=missing, **changes))
    return findings(snapshot(libvirt=facts), CODE)


VERSION = MissingPart(part=source.VERSION, why="this function is not supported")
FEATURES = MissingPart(part=source.HOST_FEATURES, why="CPU model is not known")


def test_one_finding_names_every_part_its_reason_and_what_stays():
    (found,) = told(VERSION, FEATURES)
    assert found.actual == (
        "host CPU features missing (CPU model is not known): HW_CPU_X86_* stay as recorded;"
        " hypervisor version missing (this function is not supported): COMPUTE_NET_VIF_MODEL_IGB,"
        " COMPUTE_SOUND_MODEL_VIRTIO and COMPUTE_STORAGE_VIRTIO_FS stay as recorded"
    )
    assert (found.severity, found.provider_uuid, found.resource_class) == (Severity.WARNING, ROOT_UUID, None)
    assert dict(found.facts) == {"parts": "host CPU features, hypervisor version"}
    assert "virsh domcapabilities" in found.remedy


PARTS = {
    source.HOST_CPU: "HW_ARCH_*",
    source.HOST_FEATURES: "HW_CPU_X86_*",
    source.GUESTS: "COMPUTE_STORAGE_BUS_*",
    source.DOMAIN: "the providers of memory encryption",
    UNREADABLE.part: "what no other machine type has of COMPUTE_ARCH_*",
    source.VERSION: "COMPUTE_STORAGE_VIRTIO_FS",
    source.model_part("Westmere"): "HW_CPU_X86_*",
    "something new": "what rests on it stays as recorded",
}


@pytest.mark.parametrize(("part", "expected"), PARTS.items(), ids=PARTS.keys())
def test_what_rests_on_each_part(part, expected):
    (found,) = told(MissingPart(part=part, why="because"))
    assert found.actual.startswith(f"{part} missing (because): ")
    assert expected in found.actual


def test_the_order_of_the_parts_does_not_make_another_finding():
    first, second = told(VERSION, FEATURES), told(FEATURES, VERSION)
    assert first == second


QUIET = {
    "all parts are there": snapshot(libvirt=dataclasses.replace(host(), capabilities=capable(emulator()))),
    # libvirt probes QEMU for seconds after its start: that is no fault, and the next audit has the answer.
    "they are still being read": snapshot(**settled_world()),
    # source-unavailable says that.
    "libvirt does not answer": snapshot(lost=[LIBVIRT]),
    # A driver without the call (containers): nothing that could be mended.
    "the driver has no domain capabilities": snapshot(
        libvirt=dataclasses.replace(host(driver="LXC"), capabilities=capable(domain=None))
    ),
}


@pytest.mark.parametrize("world", QUIET.values(), ids=QUIET.keys())
def test_it_is_silent(world):
    assert findings(world, CODE) == ()
