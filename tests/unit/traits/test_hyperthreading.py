"""Whether cores are shared, by the siblings of the NUMA cells."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.host.facts import Cell, Cpu
from agent.model.snapshot import LIBVIRT
from agent.traits import hyperthreading
from agent.traits.base import Wish
from tests.rigs.capabilities import capable, world
from tests.rigs.facts import host, settings, snapshot

TRAIT = frozenset({"HW_CPU_HYPERTHREADING"})
SET, CLEARED, SILENT = Wish(wanted=TRAIT), Wish(unwanted=TRAIT), Wish()


def cell(number, *siblings):
    return Cell(id=number, memory_mib=512, siblings=siblings)


CELLS = {
    "no core is shared": ((cell(0, (0,), (1,)),), CLEARED),
    "one core of the second cell": ((cell(0, (0,), (1,)), cell(1, (2,), (3, 7))), SET),
    "cells without siblings": ((cell(0), cell(1)), CLEARED),
    "no cells": ((), SILENT),
}


@pytest.mark.parametrize(("cells", "expected"), CELLS.values(), ids=CELLS.keys())
def test_a_core_with_two_threads_sets_the_hyperthreading_trait(cells, expected):
    """The agent sets HW_CPU_HYPERTHREADING if libvirt shows a core with two threads."""
    assert hyperthreading.wish(world(capable(), cells=cells), settings()) == expected


@pytest.mark.parametrize("facts", [world(None, cells=(cell(0, (0, 1)),)), snapshot(lost=[LIBVIRT])])
def test_the_hyperthreading_trait_stays_without_capabilities(facts):
    """The agent leaves HW_CPU_HYPERTHREADING unchanged if libvirt's capabilities could not be read."""
    assert hyperthreading.wish(facts, settings()) == SILENT


SLEEPING = (Cpu(id=0, online=True), Cpu(id=1, online=False))
ASLEEP = {
    "a dedicated CPU sleeps": (True, (1,), ((0,),), SILENT),
    "it sleeps, another core is shared": (True, (1,), ((0, 2),), SET),
    "no dedicated CPU sleeps: an administrator took it out": (True, (0,), ((0,),), CLEARED),
    "nobody sends CPUs to sleep": (False, (1,), ((0,),), CLEARED),
    "no dedicated CPUs": (True, None, ((0,),), CLEARED),
}


@pytest.mark.parametrize(("power", "dedicated", "siblings", "expected"), ASLEEP.values(), ids=ASLEEP.keys())
def test_hyperthreading_stays_if_nova_switched_a_cpu_off(power, dedicated, siblings, expected):
    """The siblings of a dedicated CPU that nova switched off are not visible.

    The agent then keeps HW_CPU_HYPERTHREADING.
    """
    asleep = dataclasses.replace(host(), capabilities=capable(), cells=(cell(0, *siblings),), cpus=SLEEPING)
    chosen = settings(cpu_power_management=power, cpu_dedicated_set=dedicated)
    assert hyperthreading.wish(snapshot(libvirt=asleep), chosen) == expected
