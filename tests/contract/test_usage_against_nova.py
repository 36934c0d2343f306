"""Nova's own code and the agent's on the same guests: sums, stats, and the use of each NUMA cell."""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
from typing import Any

import pytest

from agent.books.occupancy import occupied
from agent.demo.cell import numa_primitive
from agent.model.host.resource_view import CellPages, ViewCell
from agent.model.nova import Flavor, Instance, InstanceCell
from agent.node_record.nova_forms import topology
from agent.node_record.numa_usage import cell_usages, pin_conflicts
from agent.node_record.resource_view import resource_view
from agent.node_record.usage import usage
from tests.rigs.facts import NODE, filesystem, host, instance, settings, snapshot, state
from tests.rigs.nova_env import nova_python

CASES = 400
CELLS = (
    ViewCell(
        id=0,
        socket=0,
        cpuset=(0, 1),
        pcpuset=(2, 3, 4, 5),
        memory_mib=65536,
        siblings=((0, 1), (2, 3), (4, 5)),
        pages=(CellPages(size_kib=4, total=4000000, reserved=0), CellPages(size_kib=2048, total=512, reserved=64)),
        physnets=("foo",),
        is_tunneled=True,
    ),
    ViewCell(
        id=1,
        socket=1,
        cpuset=(6, 7),
        pcpuset=(8, 9, 10, 11),
        memory_mib=65536,
        siblings=((6, 7), (8, 9), (10, 11)),
        pages=(CellPages(size_kib=4, total=4000000, reserved=0), CellPages(size_kib=1048576, total=4, reserved=0)),
    ),
)

# Runs inside nova's environment. Prints for each case the topology with its guests ("refused" if nova raises), the
# record's figures and its stats.
NOVA_SIDE = """
import json, sys
from nova import exception, objects
from nova.compute import resource_tracker, stats
from nova.virt import hardware
objects.register_all()

def topology(case):
    host = objects.NUMATopology.obj_from_primitive(case["host"])
    try:
        for guest in case["guests"]:
            if guest["numa"] is not None:
                made = objects.InstanceNUMATopology.obj_from_primitive(guest["numa"])
                host = hardware.numa_usage_from_instance_numa(host, made)
    except exception.NovaException:
        return "refused"
    return json.loads(host._to_json())

def figures(case):
    tracker = resource_tracker.ResourceTracker.__new__(resource_tracker.ResourceTracker)
    node = objects.ComputeNode(memory_mb=case["memory_mb"], local_gb=case["local_gb"], numa_topology=None)
    node.local_gb_used = case["reserved"]["disk"] / 1024
    node.memory_mb_used, node.vcpus_used = case["reserved"]["memory"], case["reserved"]["cpus"]
    node.free_ram_mb = node.memory_mb - node.memory_mb_used
    node.free_disk_gb = node.local_gb - node.local_gb_used
    node.running_vms = 0
    tracker.compute_nodes, tracker.stats = {"n": node}, {"n": stats.Stats()}
    for guest in case["guests"]:
        tracker.stats["n"].update_stats_for_instance(guest)
        tracker._update_usage(guest["usage"], "n")
    counted = tracker.stats["n"]
    return {"stats": {key: str(value) for key, value in counted.items()}, "work": counted.calculate_workload(),
            **{name: getattr(node, name) for name in ("memory_mb_used", "vcpus_used", "local_gb_used", "free_ram_mb",
                                                      "free_disk_gb", "running_vms")}}

print(json.dumps([{"topology": topology(case), "figures": figures(case)} for case in json.load(sys.stdin)]))
"""


def some_cell(dice: random.Random, number: int) -> InstanceCell:
    policy = dice.choice([None, "shared", "dedicated", "dedicated", "mixed"])
    cell = CELLS[number] if number < len(CELLS) else CELLS[0]
    own = tuple(sorted(dice.sample(cell.pcpuset, dice.randint(1, 2)))) if policy in ("dedicated", "mixed") else ()
    if dice.random() < 0.1:
        own = (cell.cpuset[0],) if own else ()
    return InstanceCell(
        id=number,
        memory_mib=dice.choice([1, 128, 513, 2048]),
        cpuset=() if policy == "dedicated" else tuple(range(8, 8 + dice.randint(1, 3))),
        pcpuset=tuple(range(len(own))),
        pinning=tuple(enumerate(own)),
        reserved_cpus=(cell.pcpuset[-1],) if own and dice.random() < 0.1 else (),
        page_kib=dice.choice([None, None, 4, 2048, 1048576]),
        cpu_policy=policy,
        thread_policy=dice.choice([None, "prefer", "isolate", "require"]) if own else None,
    )


def some_guest(dice: random.Random, name: str) -> Instance:
    numbers = dice.sample([0, 1, 7], dice.randint(0, 2))
    return instance(
        name,
        vm_state=dice.choice(["active", "building", "stopped", "error"]),
        task_state=dice.choice([None, None, "resize_prep", "image_backup", "rescuing", "deleting"]),
        os_type=dice.choice([None, "linux"]),
        project_id=dice.choice(["p", "q"]),
        boots_from_volume=dice.random() < 0.3,
        numa=tuple(some_cell(dice, number) for number in sorted(numbers)) or None,
        flavor=Flavor(
            id=1,
            name="f",
            vcpus=dice.randint(1, 9),
            memory_mib=dice.randint(1, 5000),
            root_gib=dice.randint(0, 90),
            ephemeral_gib=dice.choice([0, 10]),
            swap_mib=dice.choice([0, 1, 512, 1023, 1024, 1536, 4097]),
        ),
    )


@dataclasses.dataclass(frozen=True)
class Case:
    """Guests on one host, and the amounts that the host reserves."""

    guests: tuple[Instance, ...]
    reserved: dict[str, int]

    @property
    def asked(self) -> dict[str, Any]:
        """The case as input for nova's code."""
        return {
            "host": topology(CELLS),
            "memory_mb": 512,
            "local_gb": 6,
            "reserved": self.reserved,
            "guests": [as_nova_has_it(guest) for guest in self.guests],
        }


def as_nova_has_it(guest: Instance) -> dict[str, Any]:
    flavor = guest.flavor
    assert flavor is not None
    return {
        "uuid": guest.uuid,
        "vm_state": guest.vm_state,
        "task_state": guest.task_state,
        "os_type": guest.os_type,
        "project_id": guest.project_id,
        "numa": None if guest.numa is None else numa_primitive(guest.numa),
        "usage": {
            "memory_mb": flavor.memory_mib,
            "vcpus": flavor.vcpus,
            "root_gb": 0 if guest.boots_from_volume else flavor.root_gib,
            "ephemeral_gb": flavor.ephemeral_gib,
            "swap": flavor.swap_mib,
        },
    }


def some_case(number: int) -> Case:
    dice = random.Random(number)
    guests = tuple(some_guest(dice, f"{number}-{one}") for one in range(dice.randint(0, 3)))
    return Case(
        guests, {"disk": dice.choice([0, 512, 1536]), "memory": dice.choice([0, 512]), "cpus": dice.choice([0, 1])}
    )


@pytest.fixture(scope="module")
def answers() -> list[tuple[Case, dict[str, Any]]]:
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


def plain(value: Any) -> Any:
    """Return the value without the lists of changed fields, and with sorted lists."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items() if key != "nova_object.changes"}
    if isinstance(value, list):
        return sorted((plain(one) for one in value), key=json.dumps)
    return value


def test_s19_s20_s21_s22_agent_and_nova_agree_on_numa_usage(answers):
    """For random guests, the agent and nova's own code calculate the same use of each NUMA cell."""
    refused = 0
    for case, theirs in answers:
        taken = occupied(state(*case.guests), NODE, frozenset()).occupancies
        clashes = pin_conflicts(CELLS, taken)
        assert bool(clashes) == (theirs["topology"] == "refused"), case
        refused += bool(clashes)
        if not clashes:
            assert plain(topology(CELLS, cell_usages(CELLS, taken))) == plain(theirs["topology"])
    assert 20 < refused < CASES - 100


def test_s1_to_s18_agent_and_nova_agree_on_usage(answers):
    """For random guests, the agent and nova's own code calculate the same use of CPUs, memory and disk."""
    for case, theirs in answers:
        chosen = settings(
            reserved_host_disk_mib=case.reserved["disk"],
            reserved_host_memory_mib=case.reserved["memory"],
            reserved_host_cpus=case.reserved["cpus"],
        )
        view = resource_view(snapshot(libvirt=host(), files=filesystem(6)), chosen, NODE)
        assert view is not None
        found = usage(occupied(state(*case.guests), NODE, frozenset()), view, chosen)
        assert {
            "memory_mb_used": found.memory_mib_used,
            "vcpus_used": found.vcpus_used,
            "local_gb_used": found.local_gib_used,
            "free_ram_mb": found.free_ram_mib,
            "free_disk_gb": found.free_disk_gib,
            "running_vms": found.running_vms,
            "work": found.current_workload,
            "stats": {key: text for key, text in found.stats if key not in ("failed_builds", "uptime")},
        } == theirs["figures"]
