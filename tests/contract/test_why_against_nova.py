"""Nova's own code and the agent's on the same host and guest: whether the guest's cells, pinned CPUs and pages fit."""

from __future__ import annotations

import json
import random
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest

from agent.model.host.resource_view import CellPages, ViewCell
from agent.model.resource_request import RequestGroup, ResourceRequest
from agent.model.usage import CellUsage
from agent.node_record.nova_forms import topology
from agent.why.host_room import LARGE, cell_rooms, guest_shape, host_obstacles
from tests.rigs.nova_env import nova_python

CASES = 1500
MEMORY_MIB = 8192

# Runs inside nova's environment. Prints for each case whether the guest fits.
NOVA_SIDE = """
import json, sys
from nova import exception, objects
from nova.conf import CONF
from nova.virt import hardware
objects.register_all()
CONF([], project="nova", default_config_files=[])

def guest(case):
    count, cpus, pinned = case["cells"], case["cpus"] // case["cells"], case["pinned"] // case["cells"]
    policy = "mixed" if cpus and pinned else "dedicated" if pinned else None
    cells = []
    for number in range(count):
        first = number * (cpus + pinned)
        cells.append(objects.InstanceNUMACell(
            id=number, cpuset=set(range(first, first + cpus)), pcpuset=set(range(first + cpus, first + cpus + pinned)),
            memory=case["memory_mib"] // count, cpu_policy=policy, cpu_thread_policy=None,
            pagesize={"large": -2}.get(case["page"], case["page"])))
    return objects.InstanceNUMATopology(cells=cells)

def fits(case):
    host = objects.NUMATopology.obj_from_primitive(case["host"])
    limits = objects.NUMATopologyLimits(cpu_allocation_ratio=case["ratios"][0], ram_allocation_ratio=case["ratios"][1])
    try:
        return hardware.numa_fit_instance_to_host(host, guest(case), {}, limits=limits) is not None
    except exception.MemoryPageSizeNotSupported:
        return False

print(json.dumps([fits(case) for case in json.load(sys.stdin)]))
"""


@dataclass(frozen=True)
class Case:
    """One host with its current use, and one guest."""

    cells: tuple[ViewCell, ...]
    usages: tuple[CellUsage, ...]
    ratios: tuple[float, float]
    count: int
    page: int | str | None
    amounts: dict[str, int]

    @property
    def asked(self) -> dict[str, Any]:
        """The case as input for nova's code."""
        return {
            "host": topology(self.cells, self.usages),
            "ratios": self.ratios,
            "cells": self.count,
            "page": self.page,
            "cpus": self.amounts.get("VCPU", 0),
            "pinned": self.amounts.get("PCPU", 0),
            "memory_mib": self.amounts["MEMORY_MB"],
        }

    @property
    def ours(self) -> bool:
        """Return whether the agent finds no obstacle for the guest."""
        request = ResourceRequest(groups=(RequestGroup(resources=tuple(sorted(self.amounts.items()))),))
        rooms = cell_rooms(self.cells, self.usages, *self.ratios)
        return not host_obstacles(guest_shape(request, self.count, self.page), rooms)


def some_cell(dice: random.Random, number: int) -> ViewCell:
    first = number * 8
    huge = dice.choice([0, 512, 1024])
    pages = (CellPages(size_kib=4, total=(MEMORY_MIB - 2 * huge) * 256, reserved=0),)
    if huge:
        pages += (CellPages(size_kib=2048, total=huge, reserved=dice.choice([0, 16])),)
    return ViewCell(
        id=number,
        socket=number,
        cpuset=tuple(range(first, first + 4)),
        pcpuset=tuple(range(first + dice.choice([0, 4]), first + 8)),
        memory_mib=MEMORY_MIB,
        siblings=tuple((cpu, cpu + 1) for cpu in range(first, first + 8, 2)),
        pages=() if dice.random() < 0.2 else pages,
    )


def some_usage(dice: random.Random, cell: ViewCell) -> CellUsage:
    return CellUsage(
        id=cell.id,
        cpus=dice.choice([0, 0, 0, 3, 6, 8]),
        memory_mib=dice.choice([0, 1024, 4096, 8000]),
        pinned=tuple(sorted(dice.sample(cell.pcpuset, dice.choice([0, 0, 1, 3])))),
        pages=tuple((p.size_kib, dice.randint(0, p.total - p.reserved)) for p in cell.pages),
    )


def some_case(number: int) -> Case:
    dice = random.Random(number)
    cells = tuple(some_cell(dice, one) for one in range(dice.randint(1, 3)))
    count = dice.choice([1, 1, 1, 2, 3])
    kind = dice.choice(["floating", "floating", "pinned", "both"])
    amounts = {"MEMORY_MB": count * dice.choice([64, 64, 513, 1024, 2048, 4096, 7000, 8192])}
    if kind != "pinned":
        amounts["VCPU"] = count * dice.choice([1, 1, 2, 4, 5])
    if kind != "floating":
        amounts["PCPU"] = count * dice.choice([1, 1, 2, 4, 5])
    return Case(
        cells=cells,
        usages=tuple(some_usage(dice, cell) for cell in cells),
        ratios=(dice.choice([1.0, 2.0, 4.0]), dice.choice([1.0, 1.5])),
        count=count,
        page=dice.choice([None, None, None, None, 4, 2048, LARGE, 1048576]),
        amounts=amounts,
    )


@pytest.fixture(scope="module")
def answers() -> list[tuple[Case, bool]]:
    """Return every case with nova's answer."""
    cases = [some_case(number) for number in range(CASES)]
    done = subprocess.run(
        [str(nova_python()), "-W", "ignore", "-c", NOVA_SIDE],
        input=json.dumps([case.asked for case in cases]),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(zip(cases, json.loads(done.stdout.splitlines()[-1]), strict=True))


def test_why_and_nova_agree_on_numa_fit(answers):
    """For random guests, `stocktake why` and nova's own code agree on whether the guest fits the host's NUMA cells."""
    assert [(case, theirs) for case, theirs in answers if case.ours != theirs] == []
    # Both answers must be frequent, or the comparison would prove little.
    assert CASES // 5 < sum(theirs for _, theirs in answers) < CASES * 4 // 5
