"""Which video cards the host offers."""

from __future__ import annotations

import pytest

from agent.model.snapshot import LIBVIRT
from agent.traits import graphics
from agent.traits.base import Wish
from tests.rigs.capabilities import UNREADABLE, capable, emulator, world
from tests.rigs.facts import settings, snapshot

ALL = frozenset({"BOCHS", "CIRRUS", "GOP", "NONE", "QXL", "VGA", "VIRTIO", "VMVGA", "XEN"})


def traits(names):
    return frozenset(f"COMPUTE_GRAPHICS_MODEL_{name}" for name in names)


def cards(*names, arch="x86_64"):
    return emulator(arch, video_models=frozenset(names))


TOLD = {
    "as QEMU tells": (capable(cards("vga", "cirrus", "none")), {"VGA", "CIRRUS", "NONE"}),
    "any architecture": (capable(cards("vga"), cards("virtio", "ramfb", arch="aarch64")), {"VGA", "VIRTIO"}),
    "no emulator runs": (capable(), set()),
}


@pytest.mark.parametrize(("capabilities", "expected"), TOLD.values(), ids=TOLD.keys())
def test_graphics_traits_match_the_video_models_of_libvirt(capabilities, expected):
    """The agent sets a graphics trait for each video model that libvirt offers, and removes the other ones."""
    told = graphics.wish(world(capabilities), settings())
    assert told == Wish(wanted=traits(expected), unwanted=traits(ALL - expected))


@pytest.mark.parametrize("facts", [world(None), world(capable(domain=None)), snapshot(lost=[LIBVIRT])])
def test_graphics_traits_stay_if_capabilities_are_unknown(facts):
    """The agent leaves the graphics traits unchanged if libvirt's capabilities could not be read."""
    assert graphics.wish(facts, settings()) == Wish()


def test_no_graphics_trait_is_removed_after_a_partial_answer():
    """The agent removes no graphics trait if a part of libvirt's capabilities could not be read."""
    told = graphics.wish(world(capable(cards("vga"), missing=(UNREADABLE,))), settings())
    assert told == Wish(wanted=traits({"VGA"}))
