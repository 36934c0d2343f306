"""Decorators that cache the last result of a pure function, and the list of every cache of the process.

Several parts of one audit call a function with equal arguments, and so do consecutive audits of an unchanged host.
Each cache of these decorators has one entry and compares the arguments instead of hashing thousands of values. The
comparison is fast because unchanged parts of the facts are the same objects from read to read.

``CACHES`` is complete: tests/architecture/test_caches.py fails if a module has a cache, or state at module level, that
is not in this list. State that belongs to an object (a client, a source, a worker) is not listed.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from types import MappingProxyType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: Each cache or state at module level, by ``module.name``, with a description of the values that it keeps.
CACHES = MappingProxyType(
    {
        # Caches with one entry, the last result. So the audits of an unchanged host do not repeat the work.
        "agent.books.booked.booked_by": "each consumer's amounts according to nova, the host and Placement",
        "agent.books.image_ledger._owned_files": "the files below instances_path, each with its owner",
        "agent.books.image_ledger._resizing": "the instances that may still need their folder UUID_resize",
        "agent.books.image_ledger._store_rows": "who uses how many bytes of the file system of instances_path",
        "agent.books.image_ledger._users": "which guest uses which file as a disk",
        "agent.books.storage_ledger._rows": "who uses how many bytes of the volume groups",
        "agent.books.uncovered.uncovered": "amounts in use that Placement does not count, for messages to the broker",
        "agent.bus.finding_sums._sums": "how many findings there are, and the sums of their amounts, for messages to "
        "the broker",
        "agent.bus.host_state._guests": "the number of guests, for messages to the broker",
        "agent.bus.host_state._resources": "the inventories with their usage, for messages to the broker",
        "agent.bus.host_state._traits_digest": "a digest of all traits, for messages to the broker",
        "agent.findings.consumer_on_several_providers._spread": "consumers that use a resource class in several trees",
        "agent.model.host.device_match.matched": "which device_spec applies to which PCI device",
        "agent.model.own_consumers.own_consumers": "the uuids of the consumers that the agent itself creates",
        "agent.model.placement._consumers": "the consumers with an allocation on the tree",
        "agent.model.snapshot._stored": "the facts of all storage sources, joined into one object",
        "agent.model.snapshot._used_on_root": "the resource classes with allocations on the root provider",
        "agent.nested.pci_offers._conflicts": "the PCI devices whose device_spec entries contradict each other",
        "agent.nested.pci_offers._survey": "the PCI devices, grouped by the provider that offers them",
        "agent.nested.pci_view.pci_view": "the PCI devices, their specs and their providers in Placement",
        "agent.node_record.overcommit._guest_files": "the guests' disk files that the agent must measure",
        "agent.node_record.overcommit._over_commit": "the bytes that guests may still write into their disk files",
        "agent.node_record.pci_pools.pools": "the pools of free PCI devices",
        "agent.pages.render._environment": "the templates of HTML pages, for commands only: the daemon makes no page",
        "agent.provider_tree.diff._used": "the resource classes with allocations on each provider",
        "agent.render.documents._ledger_text": "the table of each consumer's amounts, as JSON text",
        "agent.render.documents._storage_text": "the list of what uses the storage, as JSON text",
        "agent.resources.guests.expected_here": "the uuids of the instances that may have a guest on this host",
        "agent.resources.store_doubt._wanted": "the paths of guests' disks that must be on the disk store",
        "agent.resources.volumes._owners": "the owners of the logical volumes",
        "agent.resources.volumes._users": "which guest uses which volume as a disk",
        # Caches with many entries: an audit needs one entry for each flavor, instance or finding.
        "agent.model.finding._id": "the ids of findings",
        "agent.resources.demand.demand": "the amounts that each flavor requests",
        "agent.sources.nova.documents._context": "parsed migration contexts",
        "agent.sources.nova.documents._flavors": "parsed flavors",
        "agent.sources.nova.documents._numa": "parsed NUMA topologies",
        "agent.sources.nova.sign_tables.signs_of": "the SQL statement for a checksum of one host's rows",
        "agent.sources.nova.tables._once_per_host": "the SQL statements for one host",
        "agent.sources.storage.lvm_json.parse_storage": "the parsed report of lvs",
        # Values that a process computes only once, and actions that it performs only once.
        "agent.cmd.wiring._boot_id": "the id of the machine's current boot",
        "agent.demo.cell.tables": "the tables of the demo's cell database",
        "agent.sources.libvirt.connection.register_event_loop": "libvirt's event loop is registered once",
        "agent.sources.libvirt.connection.silence": "libvirt's error handler is replaced once",
        # Not caches: each value applies to the calls inside one ``with`` block.
        "agent.cmd.logs._audit_id": "the id of the current audit, for its log lines",
        "agent.placement.http.transport._bound": "the maximum size of a response",
        "agent.placement.http.transport._ends_at": "the time at which the current request must end",
    }
)


def for_equal_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Return the last result again if the arguments equal those of the last call. Arguments must be immutable."""
    return _cached(function, operator.eq)


def for_the_same_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Return the last result again if the arguments are the same objects as in the last call, whatever their values."""
    return _cached(function, lambda old, new: all(map(operator.is_, old, new)))


_Arguments = tuple[object, ...]


def _cached(function: Callable[P, R], are_alike: Callable[[_Arguments, _Arguments], bool]) -> Callable[P, R]:
    last: list[tuple[_Arguments, R]] = []

    @functools.wraps(function)
    def asked(*args: P.args, **kwargs: P.kwargs) -> R:
        if kwargs:
            raise TypeError(f"{function.__name__} takes positional arguments only")
        kept = last[0] if last else None  # read once: another thread may replace the entry at any time
        if kept is not None and len(kept[0]) == len(args) and are_alike(kept[0], args):
            return kept[1]
        answer = function(*args, **kwargs)
        last[:] = [(args, answer)]
        return answer

    return asked
