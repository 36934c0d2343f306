"""Decide which PCI devices are free for the record's ``pci_stats``.

Two sources decide: nova's ``pci_devices`` rows and libvirt's domain definitions. A row that names an instance as owner
counts only while the instance is or may be on the node, or moves from or to the node. A device in a guest's definition
is in use, whatever the rows say. If neither source names an owner, the device is free, whatever the row's status is.
"""

from __future__ import annotations

from agent.books.occupancy import may_be_here, touches
from agent.model.books import DesiredTree
from agent.model.host.devices import PciPool
from agent.model.host.facts import HostFacts
from agent.model.nova import NovaState
from agent.model.settings import Settings
from agent.nested.pci_view import KIND as PCI
from agent.node_record.pci_pools import pools


def owned_addresses(state: NovaState, node: str) -> frozenset[str]:
    """Return the addresses of PCI devices that nova gave to instances of ``node``.

    These are the instances that are or may be on the node, and those that move from or to the node.
    """
    of_this_node = {found.id for found in state.nodes if not found.deleted and found.hypervisor_hostname == node}
    owners = {i.uuid for i in state.instances if may_be_here(i, state.host, node)}
    owners |= {m.instance_uuid for m in state.migrations if touches(m, state.host, node)}
    return frozenset(
        row.address for row in state.pci_devices if row.compute_node_id in of_this_node and row.instance_uuid in owners
    )


def free_pools(
    host: HostFacts, settings: Settings, tree: DesiredTree | None, owned: frozenset[str] = frozenset()
) -> tuple[PciPool, ...] | None:
    """Return the pools of the host's free PCI devices; None if the host's devices are unknown.

    ``owned``: the addresses of devices that nova gave to instances (``owned_addresses``). These devices are not free,
    and devices in a guest's libvirt definition are not free. ``tree`` contains the providers of the devices.
    """
    if host.devices is None:
        return None
    defined = frozenset(address for domain in host.domains for address in domain.pci_addresses)
    children = tree.providers if tree else ()
    providers = {child.key.name.lower(): child.uuid for child in children if child.key.kind == PCI}
    return pools(host.devices.pci, settings.pci.specs, defined | owned, providers)
