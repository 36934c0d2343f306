"""The time that ``why`` takes to decide: one host's tree, a whole cloud, and deliberately hard requests.

    .venv/bin/python -m benchmarks.why

The world is 1,000 trees of five providers (a root, two PFs, two NUMA cells), a tenth of them full, and one sharing
provider per fifty trees. Budget: 50 ms for one host, with all values in memory.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable

from agent.model.placement import Inventory, Provider
from agent.model.resource_request import OfferedProvider, OfferedProviders, RequestGroup, ResourceRequest
from agent.why.answer import why
from benchmarks.table import Row, print_table

TREES = 1000
HOSTS_OF_A_SHARE = 50
BUDGET_MS = 50.0
ROUNDS = 15


def _provider(uuid: str, root: str, parent: str | None, stock: dict[str, int], used: dict[str, int], **wanted):
    inventories = tuple(Inventory(resource_class=name, total=total, max_unit=total) for name, total in stock.items())
    provider = Provider(uuid=uuid, name=uuid, parent_uuid=parent, generation=1, inventories=inventories, **wanted)
    return OfferedProvider(provider=provider, root_uuid=root, used=tuple(sorted(used.items())))


def _tree(number: int) -> list[OfferedProvider]:
    root = f"host-{number:04}"
    used = {"VCPU": 48 if number % 10 == 0 else number % 40, "MEMORY_MB": 1024 * (number % 100)}
    shared = frozenset({f"aggregate-{number // HOSTS_OF_A_SHARE}"})
    found = [_provider(root, root, None, {"MEMORY_MB": 262144, "VCPU": 48}, used, aggregates=shared)]
    for index in range(2):
        traits = frozenset({"CUSTOM_PHYSNET_A" if index else "CUSTOM_PHYSNET_B"})
        found.append(_provider(f"{root}-pf{index}", root, root, {"SRIOV_NET_VF": 8}, {}, traits=traits))
        found.append(_provider(f"{root}-numa{index}", root, root, {"PCPU": 24}, {"PCPU": number % 24}))
    return found


def _cloud(trees: int) -> OfferedProviders:
    providers = [provider for number in range(trees) for provider in _tree(number)]
    for number in range(-(-trees // HOSTS_OF_A_SHARE)):
        marks = {
            "traits": frozenset({"MISC_SHARES_VIA_AGGREGATE"}),
            "aggregates": frozenset({f"aggregate-{number}"}),
        }
        uuid = f"share-{number}"
        providers.append(_provider(uuid, uuid, None, {"DISK_GB": 100_000}, {}, **marks))
    return OfferedProviders(providers=tuple(providers), is_whole=True)


def _boot(vcpus: int) -> ResourceRequest:
    """Return a request for a guest with two ports on different networks."""
    ports = tuple(
        RequestGroup(
            suffix=f"_port{n}", resources=(("SRIOV_NET_VF", 1),), required=(frozenset({f"CUSTOM_PHYSNET_{n}"}),)
        )
        for n in "AB"
    )
    disk = RequestGroup(resources=(("DISK_GB", 20), ("MEMORY_MB", 4096), ("VCPU", vcpus)))
    return ResourceRequest(groups=(disk, *ports), group_policy="isolate")


def _packing(seed: int) -> tuple[ResourceRequest, OfferedProviders]:
    """Return a bin packing of 24 groups into 12 providers, all different, with almost no room to spare."""
    rng = random.Random(seed)
    rooms = [rng.randint(100, 200) for _ in range(12)]
    shares = [rng.uniform(0.5, 1.5) for _ in range(24)]
    amounts = [int(share * (sum(rooms) - 5) / sum(shares)) for share in shares]
    root = _provider("root", "root", None, {}, {})
    children = [_provider(f"child-{n}", "root", "root", {"VGPU": room}, {}) for n, room in enumerate(rooms)]
    asked = tuple(RequestGroup(suffix=f"{n}", resources=(("VGPU", amount),)) for n, amount in enumerate(amounts))
    return ResourceRequest(groups=asked, group_policy="none"), OfferedProviders(providers=(root, *children))


def _hardest() -> tuple[ResourceRequest, OfferedProviders]:
    """Return the slowest of 40 packings."""

    def cost(problem: tuple[ResourceRequest, OfferedProviders]) -> float:
        started = time.process_time()
        why(*problem)
        return time.process_time() - started

    return max((_packing(seed) for seed in range(40)), key=cost)


def _alike(providers: int, groups: int, policy: str) -> tuple[ResourceRequest, OfferedProviders]:
    """Return one group too many for identical providers: the server tries providers ** groups choices."""
    root = _provider("root", "root", None, {}, {})
    children = [_provider(f"child-{n}", "root", "root", {"VGPU": 3}, {}) for n in range(providers)]
    asked = tuple(RequestGroup(suffix=f"{n}", resources=(("VGPU", 2),)) for n in range(groups))
    return ResourceRequest(groups=asked, group_policy=policy), OfferedProviders(providers=(root, *children))


def _measured(what: str, call: Callable[[], object], budget: float | None) -> Row:
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        call()
        times.append((time.process_time() - started) * 1000)
    median = statistics.median(times)
    measured = f"{median:.2f} ms (CPU; {min(times):.2f} to {max(times):.2f})"
    told = "" if budget is None else f"{budget:.0f} ms"
    return Row(what, measured, told, met=None if budget is None else median <= budget)


def _said(request: ResourceRequest, world: OfferedProviders) -> str:
    answer = why(request, world)
    return "fits" if answer.fits else answer.trees[0].obstacles[0].constraint.value


def main() -> int:
    host, cloud = _cloud(1), _cloud(TREES)
    cases = [
        ("one host, fits", _boot(8), _cloud(2), BUDGET_MS),
        ("one host, 64 VCPU of 48", _boot(64), host, BUDGET_MS),
        (f"{TREES} trees of 5 providers, nine of ten fit", _boot(8), cloud, None),
        (f"{TREES} trees of 5 providers, none fits", _boot(64), cloud, None),
        ("24 groups among 12 providers, all different, hardest of 40", *_hardest(), BUDGET_MS),
        ("13 groups among 12 providers, all alike, isolate", *_alike(12, 13, "isolate"), BUDGET_MS),
        ("13 groups among 12 providers, all alike, none", *_alike(12, 13, "none"), BUDGET_MS),
    ]
    rows = [
        _measured(f"{what}: {_said(request, world)}", lambda request=request, world=world: why(request, world), budget)
        for what, request, world, budget in cases
    ]
    return print_table("why", rows)


if __name__ == "__main__":
    sys.exit(main())
