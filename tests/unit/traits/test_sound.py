"""Which sound cards the host offers."""

from __future__ import annotations

import pytest

from agent.model.snapshot import LIBVIRT
from agent.traits import sound
from agent.traits.base import Wish
from tests.rigs.capabilities import capable, world
from tests.rigs.facts import settings, snapshot

ALWAYS = frozenset(f"COMPUTE_SOUND_MODEL_{name}" for name in ("SB16", "ES1370", "PCSPK", "AC97", "ICH6", "ICH9", "USB"))
VIRTIO = frozenset({"COMPUTE_SOUND_MODEL_VIRTIO"})


def versions(libvirt, qemu):
    return world(capable(), libvirt_version=libvirt, hypervisor_version=qemu)


WORLDS = {
    "new enough": (versions(10004000, 8002000), Wish(wanted=ALWAYS | VIRTIO)),
    "an older libvirt": (versions(10003000, 9000000), Wish(wanted=ALWAYS, unwanted=VIRTIO)),
    "an older QEMU": (versions(11000000, 8001005), Wish(wanted=ALWAYS, unwanted=VIRTIO)),
    "capabilities not known yet": (world(None, hypervisor_version=0), Wish(wanted=ALWAYS)),
    "the hypervisor's version not told": (versions(11000000, 0), Wish(wanted=ALWAYS)),
    "no libvirt": (snapshot(lost=[LIBVIRT]), Wish(wanted=ALWAYS)),
}


@pytest.mark.parametrize(("facts", "expected"), WORLDS.values(), ids=WORLDS.keys())
def test_only_the_virtio_sound_trait_depends_on_versions(facts, expected):
    """The virtio sound trait needs libvirt 10.4 and QEMU 8.2. The agent sets the other sound traits on every host."""
    assert sound.wish(facts, settings()) == expected
