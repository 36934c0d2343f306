"""pci-device-lost: a consumer has an allocation on a device that this host no longer offers to the cloud.

The device's provider stays, with the allocated amount as its total, because Placement refuses to remove a class in
use. Once the allocation is removed, the agent deletes the provider. The exception is a used one-time-use device: its
provider records the use and stays until the operator lowers ``reserved`` or deletes the provider.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_pci import view_of
from agent.findings.base_remedies import by_hand, inspect, openstack, show_server, wait
from agent.model.finding import Finding, Remedy, Severity
from agent.model.placement import Allocation, Inventory, Provider
from agent.model.snapshot import LIBVIRT, PLACEMENT
from agent.nested.pci_view import PciView
from agent.text.headline import short_name


def _find(audit: AuditFacts) -> Findings:
    view = view_of(audit)
    if view is None or not audit.settings.pci.report_in_placement:
        return
    for name, provider in view.gone.items():
        for allocation in view.allocations.get(provider.uuid, ()):
            yield _finding(audit, provider, allocation, name.lower(), _where(audit, name.lower()))
        if (spent := view.spent(provider)) and not view.held(provider):
            yield _spent(audit, provider, spent, name.lower(), _where(audit, name.lower()))
    for address, provider, left, held in _short(view):
        for allocation in view.allocations[provider.uuid]:
            why = f"the host now offers only {left} devices of this provider, but {held} are allocated"
            yield _finding(audit, provider, allocation, address, why)


def _short(view: PciView) -> Iterable[tuple[str, Provider, int, int]]:
    """Yield (address, provider, number of devices, allocated amount) wherever the amount exceeds the number."""
    for address, offer in view.offers.items():
        provider = view.of(address)
        if provider is None or address in view.frozen:
            continue
        held = sum(view.held(provider).values())
        if held > len(offer.matches):
            yield address, provider, len(offer.matches), held


def _where(audit: AuditFacts, address: str) -> str:
    host = audit.snapshot.host.value
    devices = host.devices.pci if host and host.devices else ()
    if any(address in (device.address, device.parent_address) for device in devices):
        return "libvirt lists the device, and [pci] device_spec does not name it"
    return "libvirt does not list the device"


def _finding(audit: AuditFacts, provider: Provider, allocation: Allocation, address: str, why: str) -> Finding:
    return RULE.finding(
        audit,
        headline=f"{_name(audit, allocation.consumer_uuid)}: has {allocation.amount} {allocation.resource_class} of "
        f"PCI device {address}, which {audit.host} no longer offers",
        provider_uuid=provider.uuid,
        consumer_uuid=allocation.consumer_uuid,
        resource_class=allocation.resource_class,
        expected=f"[pci] device_spec must offer device {address} until no consumer has it allocated",
        actual=f"{allocation.consumer_uuid} has this device allocated ({allocation.amount} "
        f"{allocation.resource_class}); {why}",
        facts=(("address", address), ("amount", allocation.amount)),
        rests_on_recorded=True,
        remedies=_remedies(allocation.consumer_uuid),
    )


def _spent(audit: AuditFacts, provider: Provider, spent: Inventory, address: str, why: str) -> Finding:
    return RULE.finding(
        audit,
        headline=f"{audit.host}: one-time-use PCI device {address} was used and is not offered any more; its provider "
        "stays",
        provider_uuid=provider.uuid,
        resource_class=spent.resource_class,
        expected=f"this host offers device {address}, or Placement has no provider of the device",
        actual=f"the one-time-use device was used ({spent.reserved} {spent.resource_class} of {provider.name} is "
        f"reserved); {why}; the agent keeps the provider, because a new provider would offer the device as unused",
        facts=(("address", address), ("amount", spent.reserved)),
        rests_on_recorded=True,
        remedies=_of_spent(provider.uuid),
    )


def _name(audit: AuditFacts, consumer: str) -> str:
    instances = audit.state.instances if audit.state else ()
    return short_name(next((i.name for i in instances if i.uuid == consumer), consumer))


def _remedies(consumer: str) -> tuple[Remedy, ...]:
    return (
        inspect("see which instance has the device, and on which host the instance is", show_server(consumer)),
        by_hand("if the device still works, put its entry of [pci] device_spec back"),
        by_hand("if the device is dead, move the instance to another host", openstack("server", "migrate", consumer)),
    )


def _of_spent(provider: str) -> tuple[Remedy, ...]:
    delete = openstack("resource", "provider", "delete", provider)
    return (
        wait("if the device or its entry of [pci] device_spec comes back, do nothing"),
        by_hand(
            "if the device is gone for good, or if you allow another guest to use it, delete the device's provider",
            delete,
        ),
    )


RULE = Rule(code="pci-device-lost", severity=Severity.ERROR, find=_find, rests_on=frozenset({PLACEMENT, LIBVIRT}))
