"""guest-power-state-differs: a guest's power state contradicts its instance's vm_state.

The rule covers only the combinations that nova-compute's power sync corrects or warns about. A guest whose instance
is building, rescued, resized, suspended or in error may have any power state. nova-compute stops and reaps guests;
the agent only reports the contradiction.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_guests import resting
from agent.model.finding import Severity
from agent.model.host.facts import DomainState

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
# For each vm_state the power states that contradict it (nova/compute/manager.py:_sync_instance_power_state).
_WRONG = {
    "active": frozenset({"shut down", "crashed", "suspended", "paused", "no state"}),
    "stopped": _GONE - {"crashed"},
    "paused": frozenset({"shut down", "crashed"}),
    "soft-delete": _GONE,
    "deleted": _GONE,
}
_NOVA_POWER = {0: "no state", 1: "running", 3: "paused", 4: "shut down", 6: "crashed", 7: "suspended"}


def _find(audit: AuditFacts) -> Findings:
    for taken, domain in resting(audit):
        instance, power = taken.instance, _POWER[domain.state]
        if power not in _WRONG.get(instance.vm_state or "", frozenset()):
            continue
        known = instance.power_state
        yield RULE.finding(
            audit,
            consumer_uuid=instance.uuid,
            expected=f"power state fitting vm_state {instance.vm_state} of instance {instance.uuid} ({instance.name})",
            actual=f"domain {domain.name} is {power}",
            facts=(
                ("vm_state", instance.vm_state),
                ("domain_state", domain.state.value),
                ("recorded_power_state", None if known is None else _NOVA_POWER.get(known, str(known))),
            ),
        )


RULE = Rule(
    code="guest-power-state-differs",
    severity=Severity.WARNING,
    remedy="if nova-compute runs on this host, its power sync corrects the difference; otherwise choose the state "
    "yourself: openstack server start, stop or reboot CONSUMER",
    find=_find,
)
