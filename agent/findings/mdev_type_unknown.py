"""mdev-type-unknown: an option enables a type of mediated device that no device of this host supports.

The rule checks the devices at the type's configured addresses, or all devices if the type has no addresses.
nova-compute does not report this mistake and just never offers the type. Only libvirt knows the types, so a check that
reads only the configuration cannot find the mistake.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, virsh
from agent.model.finding import Finding, Severity
from agent.model.host.devices import Devices
from agent.model.settings import MdevTypeChoice
from agent.model.snapshot import LIBVIRT
from agent.nested.mdev import bound_to, place_of


def _find(audit: AuditFacts) -> Findings:
    host = audit.snapshot.host.value
    if host is None or host.devices is None:
        return
    for choice in audit.settings.mdev_types:
        # Report nothing if a device that the agent could not read may offer the type.
        if choice.type_id not in _types(host.devices, choice) and not _may_be_odd(audit, host.devices, choice):
            yield _finding(audit, host.devices, choice)


def _types(devices: Devices, choice: MdevTypeChoice) -> frozenset[str]:
    """Return the types of the devices at the configured addresses, or of all devices if there are no addresses."""
    wanted = {address.lower() for address in choice.addresses}
    offered = ((parent.name, one.type_id) for parent in devices.mdev_parents for one in parent.types)
    existing = ((mdev.parent, mdev.type_id) for mdev in devices.mdevs)
    return frozenset(kind for name, kind in (*offered, *existing) if not wanted or place_of(name) in wanted)


def _may_be_odd(audit: AuditFacts, devices: Devices, choice: MdevTypeChoice) -> bool:
    bound = (bound_to(one.name, audit.settings) for one in devices.odd)
    return any(found is not None and found.type_id == choice.type_id for found in bound)


def _finding(audit: AuditFacts, devices: Devices, choice: MdevTypeChoice) -> Finding:
    at = f" at {', '.join(sorted(choice.addresses))}" if choice.addresses else ""
    types = ", ".join(sorted(_types(devices, choice)))
    return RULE.finding(
        audit,
        headline=f"{audit.host}: no device{at} offers mediated devices of type {choice.type_id}, although "
        "[devices] enabled_mdev_types lists this type",
        resource_class=choice.resource_class,
        subject=choice.type_id,
        expected=f"a device{at} that makes mediated devices of type {choice.type_id} ([devices] enabled_mdev_types)",
        actual=f"devices{at} offer only these types: {types}" if types else f"no device{at} makes mediated devices",
        facts=(("mdev_type", choice.type_id), ("offered_types", types)),
        remedies=(
            inspect("see which devices offer mediated devices", virsh(audit, "nodedev-list", "--cap", "mdev_types")),
            by_hand("if virsh does not list the card, load its driver (virsh nodedev-dumpxml shows a card's types)"),
            by_hand("if virsh lists the card, correct [devices] enabled_mdev_types or the type's device_addresses"),
        ),
    )


RULE = Rule(code="mdev-type-unknown", severity=Severity.ERROR, find=_find, rests_on=frozenset({LIBVIRT}))
