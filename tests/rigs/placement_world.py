"""A whole world of providers written into a Placement on SQLite, in place of its providers.

The world is written as rows, not by the API. A world of thirty providers takes some 150 requests, that is 1.5 seconds,
and these tests need hundreds of worlds. The questions then go to the real server. Meanwhile it must serve no requests;
between requests it keeps no provider in memory.
"""

import contextlib
import sqlite3
import uuid as uuids
from collections.abc import Iterable, Mapping

from agent.demo.placement import PlacementServer
from agent.model.resource_request import OfferedProvider, OfferedProviders

_EMPTIED = (
    "allocations",
    "inventories",
    "resource_provider_traits",
    "resource_provider_aggregates",
    "placement_aggregates",
    "resource_providers",
)
_INVENTORY_FIELDS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")


def replace_world(server: PlacementServer, world: OfferedProviders) -> None:
    """Replace all providers of the server by the world's. The server must know the world's classes and traits."""
    with contextlib.closing(sqlite3.connect(server.folder / "placement.sqlite", timeout=30)) as base, base:
        for table in _EMPTIED:
            base.execute(f"DELETE FROM {table}")
        classes = dict(base.execute("SELECT name, id FROM resource_classes").fetchall())
        traits = dict(base.execute("SELECT name, id FROM traits").fetchall())
        numbers = {offered.provider.uuid: number for number, offered in enumerate(world.providers, 1)}
        _write_providers(base, world.providers, numbers)
        _write_stock(base, world.providers, numbers, classes)
        _write_marks(base, world.providers, numbers, traits)


def _write_providers(base: sqlite3.Connection, offered: Iterable[OfferedProvider], numbers: Mapping[str, int]) -> None:
    base.executemany(
        "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id, parent_provider_id)"
        " VALUES (?, ?, ?, 0, ?, ?)",
        [
            (numbers[p.uuid], p.uuid, p.name, numbers[o.root_uuid], numbers.get(p.parent_uuid or ""))
            for o in offered
            for p in [o.provider]
        ],
    )


def _write_stock(
    base: sqlite3.Connection,
    offered: Iterable[OfferedProvider],
    numbers: Mapping[str, int],
    classes: Mapping[str, int],
) -> None:
    for one in offered:
        number = numbers[one.provider.uuid]
        base.executemany(
            f"INSERT INTO inventories (resource_provider_id, resource_class_id, {', '.join(_INVENTORY_FIELDS)})"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (number, classes[i.resource_class], *(getattr(i, field) for field in _INVENTORY_FIELDS))
                for i in one.provider.inventories
            ],
        )
        base.executemany(
            "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) VALUES (?, ?, ?, ?)",
            [(number, str(uuids.uuid4()), classes[name], amount) for name, amount in one.used],
        )


def _write_marks(
    base: sqlite3.Connection,
    offered: Iterable[OfferedProvider],
    numbers: Mapping[str, int],
    traits: Mapping[str, int],
) -> None:
    aggregates = sorted({a for one in offered for a in one.provider.aggregates})
    known = {aggregate: number for number, aggregate in enumerate(aggregates, 1)}
    base.executemany("INSERT INTO placement_aggregates (id, uuid) VALUES (?, ?)", [(n, a) for a, n in known.items()])
    for one in offered:
        number = numbers[one.provider.uuid]
        base.executemany(
            "INSERT INTO resource_provider_aggregates (resource_provider_id, aggregate_id) VALUES (?, ?)",
            [(number, known[aggregate]) for aggregate in one.provider.aggregates],
        )
        base.executemany(
            "INSERT INTO resource_provider_traits (resource_provider_id, trait_id) VALUES (?, ?)",
            [(number, traits[trait]) for trait in one.provider.traits],
        )
