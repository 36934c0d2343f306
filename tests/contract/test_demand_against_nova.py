"""The resources that nova's scheduler requests from Placement for a flavor equal those the agent counts as promised."""

from __future__ import annotations

import json
import random
import subprocess
from typing import Any

from agent.demo.cell import flavor_primitive
from agent.model.nova import Flavor
from agent.resources.demand import demand
from tests.rigs.nova_env import nova_python

CASES = 500
# Sets of extra specs that nova's API accepts together.
CPUS: tuple[dict[str, str], ...] = (
    {},
    {"hw:cpu_policy": "shared"},
    {"hw:cpu_policy": "dedicated"},
    {"hw:cpu_policy": "dedicated", "hw:emulator_threads_policy": "isolate"},
    {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "0-1"},
    {"hw:cpu_policy": "mixed", "hw:cpu_dedicated_mask": "^0"},
    {"resources:VCPU": "2"},
    {"resources:VCPU": "0"},
    {"resources:PCPU": "4"},
    {"resources_CPUS:VCPU": "3"},
)
MORE: tuple[dict[str, str], ...] = (
    {"resources:VGPU": "1"},
    {"resources1:VGPU": "1", "resources2:VGPU": "1", "group_policy": "none"},
    {"resources:CUSTOM_GOLD": "7", "trait:CUSTOM_T": "required"},
    {"resources:MEMORY_MB": "0"},
    {"resources:MEMORY_MB": "99"},
    {"resources1:DISK_GB": "3"},
    {"resources:DISK_GB": "0"},
    {"hw:pmem": "4GB, small,small"},
    {"quota:cpu_shares": "8"},
)
NOVA_SIDE = """
import json, sys
from nova import objects
from nova.scheduler import utils
objects.register_all()
print(json.dumps([dict(utils.resources_from_flavor_and_bfv(objects.Flavor.obj_from_primitive(case["flavor"]),
    case["volume"])) for case in json.load(sys.stdin)]))
"""


def some_case(number: int) -> tuple[Flavor, bool]:
    dice = random.Random(number)
    specs: dict[str, str] = dict(dice.choice(CPUS))
    for more in dice.sample(MORE, dice.randint(0, 3)):
        specs.update(more)
    return (
        Flavor(
            id=1,
            name="f",
            vcpus=4,
            memory_mib=dice.choice([128, 2048]),
            root_gib=dice.choice([0, 5]),
            ephemeral_gib=dice.choice([0, 10]),
            swap_mib=dice.choice([0, 1, 512, 1024, 1025]),
            extra_specs=tuple(sorted(specs.items())),
        ),
        dice.random() < 0.5,
    )


def test_the_demand_of_a_flavor_equals_the_request_of_nova():
    """For 500 random flavors, the agent calculates the resources that nova's scheduler asks Placement for."""
    cases = [some_case(number) for number in range(CASES)]
    asked: list[dict[str, Any]] = [{"flavor": flavor_primitive(flavor), "volume": volume} for flavor, volume in cases]
    done = subprocess.run(
        [str(nova_python()), "-W", "ignore", "-c", NOVA_SIDE],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout.splitlines()[-1])
    for (flavor, volume), expected in zip(cases, theirs, strict=True):
        assert demand(flavor, boots_from_volume=volume) == expected, flavor.extra_specs
