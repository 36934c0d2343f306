"""guest-power-state-differs: a guest's power state contradicts its instance's vm_state.

The rule covers only the combinations that nova-compute's power sync corrects or warns about. A guest whose instance
is building, rescued, resized, suspended or in error may have any power state. The agent only reports the contradiction;
nova-compute is the program that stops or deletes guests.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_guests import resting
from agent.findings.base_remedies import by_hand, by_nova_compute, inspect, openstack, show_server, virsh
from agent.model.finding import Remedy, Severity
from agent.model.host.facts import Domain, DomainState
from agent.model.nova import Instance
from agent.model.occupancy import Occupancy
from agent.model.snapshot import LIBVIRT, STATE
from agent.text.headline import short_name

# nova's power state for each libvirt state (nova/virt/libvirt/guest.py). BLOCKED is the idle state of Xen guests;
# SHUTDOWN means that the guest is shutting down.
_POWER = {
    DomainState.NO_STATE: "no state",
    DomainState.RUNNING: "running",
    DomainState.BLOCKED: "running",
    DomainState.PAUSED: "paused",
    DomainState.SHUTDOWN: "shut down",
    DomainState.SHUTOFF: "shut down",
    DomainState.CRASHED: "crashed",
    DomainState.PMSUSPENDED: "suspended",
}
_EVERY = frozenset(_POWER.values())
_GONE = _EVERY - {"no state", "shut down"}
# For each vm_state, the power states that contradict the vm_state (nova/compute/manager.py:_sync_instance_power_state).
_WRONG = {
    "active": frozenset({"shut down", "crashed", "suspended", "paused", "no state"}),
    "stopped": _GONE - {"crashed"},
    "paused": frozenset({"shut down", "crashed"}),
    "soft-delete": _GONE,
    "deleted": _GONE,
}
_NOVA_POWER = {0: "no state", 1: "running", 3: "paused", 4: "shut down", 6: "crashed", 7: "suspended"}


def _find(audit: AuditFacts) -> Findings:
    for taken, domain in resting(audit, _is_contradicted):
        instance, power = taken.instance, _POWER[domain.state]
        known = instance.power_state
        yield RULE.finding(
            audit,
            headline=f"{short_name(instance.name)}: nova's vm_state is {instance.vm_state}, but the guest on "
            f"{audit.host} is {power}",
            consumer_uuid=instance.uuid,
            expected=f"a power state that fits vm_state {instance.vm_state} of instance {instance.uuid} "
            f"({instance.name})",
            actual=f"domain {domain.name} is {power}",
            facts=(
                ("vm_state", instance.vm_state),
                ("domain_state", domain.state.value),
                ("recorded_power_state", None if known is None else _NOVA_POWER.get(known, str(known))),
            ),
            remedies=_remedies(audit, instance),
        )


def _is_contradicted(taken: Occupancy, domain: Domain) -> bool:
    return _POWER[domain.state] in _WRONG.get(taken.instance.vm_state or "", frozenset())


def _remedies(audit: AuditFacts, instance: Instance) -> tuple[Remedy, ...]:
    return (
        *by_nova_compute(
            audit, "the power sync of nova-compute corrects the difference, unless nova.conf turns it off"
        ),
        inspect("see the guest's state in libvirt", virsh(audit, "dominfo", instance.uuid)),
        inspect("see the instance's state in nova", show_server(instance.uuid)),
        *_choices(audit, instance),
    )


def _choices(audit: AuditFacts, instance: Instance) -> tuple[Remedy, ...]:
    """Return the remedies from which the operator chooses. Nova's API accepts ``start`` only for vm_state stopped."""
    uuid, stop = instance.uuid, virsh(audit, "shutdown", instance.uuid)
    if instance.vm_state == "stopped":
        start = openstack("server", "start", uuid)
        return (
            by_hand("if the guest must run, start the instance in nova", start),
            by_hand("or shut the guest down", stop),
        )
    if instance.vm_state in ("active", "paused"):
        return (by_hand("if the guest must run, let nova start it", openstack("server", "reboot", "--hard", uuid)),)
    return (by_hand("the instance is deleted: shut the guest down", stop),)


RULE = Rule(
    code="guest-power-state-differs", severity=Severity.WARNING, find=_find, rests_on=frozenset({STATE, LIBVIRT})
)
