"""Which PCI devices are free for the record's ``pci_stats``, by the cloud's rows and by libvirt's definitions. Pure.

What a newcomer would get wrong: a row that says ``allocated`` is believed only while
its owner is on this host or on a move from or to it (reconcile 4, step 10); a guest
whose definition has a device has it, whatever the rows say; and a device that nobody
owns by either is free even where its row still says otherwise.
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
    """Addresses of ``node`` whose rows name an owner that is on it, or may be, or is on its way from or to it."""
    ours = {found.id for found in state.nodes if not found.deleted and found.hypervisor_hostname == node}
    owners = {i.uuid for i in state.instances if may_be_here(i, state.host, node)}
    owners |= {m.instance_uuid for m in state.migrations if touches(m, state.host, node)}
    return frozenset(
        row.address for row in state.pci_devices if row.compute_node_id in ours and row.instance_uuid in owners
    )


def free_pools(
    host: HostFacts, settings: Settings, tree: DesiredTree | None, owned: frozenset[str] = frozenset()
) -> tuple[PciPool, ...] | None:
    """Pools of the devices that neither ``owned`` nor a guest's definition takes; None where none were listed.

    ``tree`` names the devices' providers.
    """
    if host.devices is None:
        return None
    defined = frozenset(address for domain in host.domains for address in domain.pci_addresses)
    children = tree.providers if tree else ()
    providers = {child.key.name.lower(): child.uuid for child in children if child.key.kind == PCI}
    return pools(host.devices.pci, settings.pci.specs, defined | owned, providers)
