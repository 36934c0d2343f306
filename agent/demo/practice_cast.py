"""Make up the hosts and the guests of a practice cloud: two hypervisors on which nothing is wrong."""

from __future__ import annotations

import random

from agent.demo.cast import LARGE, SMALL, Guest, HostCast
from agent.demo.cloud import Script
from agent.model.nova import Flavor

# Seconds between two audits of an agent: few, so that a trainee sees each repair soon. nova's default is 60 s.
INTERVAL_S = 10
_TINY = Flavor(id=5, name="demo.2x20", vcpus=2, memory_mib=4096, root_gib=20, ephemeral_gib=0, swap_mib=0)
_NAMES = (
    *("shop", "mail", "wiki", "git", "cache", "queue", "auth", "metrics", "forum", "chat", "backup", "proxy", "search"),
    *("build", "ledger", "reports"),
)
#: The number of guests on the first host, and on the second.
HERE, THERE = 10, 4


def practice_script(draw: random.Random) -> Script:
    """Return the description of the practice cloud. ``draw`` picks the guests' names and sizes at random."""
    names = draw.sample(_NAMES, HERE + THERE)
    guests = [Guest(name=f"{name}-{draw.randint(1, 9)}", flavor=draw.choice((_TINY, SMALL, LARGE))) for name in names]
    hosts = (_host(1, guests[:HERE]), _host(2, guests[HERE:]))
    return Script(
        hosts=hosts,
        rows=lambda _connection: None,
        place=lambda _cloud: None,
        nova_conf=f"update_resources_interval = {INTERVAL_S}\n",
    )


def _host(number: int, guests: list[Guest]) -> HostCast:
    return HostCast(
        name=f"stocktake-practice-{number}",
        cpus=48,
        memory_mib=393216,
        disk_gib=1600,
        cpu_ratio=4.0,
        guests=tuple(guests),
    )
