"""guest-size-differs: a guest is defined with another number of vCPUs, or other memory, than its instance's flavor has.

The rule compares the maximum sizes in the domain's definition, not the current sizes, because a guest can get back an
unplugged vCPU or the memory that its balloon took. The rule does not compare the memory of a guest with persistent
memory, because the domain's ``<memory>`` includes persistent memory.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, amount_text
from agent.findings.base_guests import resting
from agent.model.finding import Finding, Severity
from agent.model.host.facts import Domain
from agent.model.nova import Flavor
from agent.model.occupancy import Occupancy


def _find(audit: AuditFacts) -> Findings:
    for taken, domain in resting(audit):
        differences = _differences(taken.flavor, domain)
        if differences:
            yield _finding(audit, taken, domain, differences)


def _differences(flavor: Flavor, domain: Domain) -> list[tuple[str, int, int]]:
    """Return (class, size in the flavor, size in the domain's definition) of each size that differs."""
    vcpus = domain.vcpus if domain.maximum_vcpus is None else domain.maximum_vcpus
    sizes = [("VCPU", flavor.vcpus, vcpus)]
    if not dict(flavor.extra_specs).get("hw:pmem"):
        sizes.append(("MEMORY_MB", flavor.memory_mib, domain.memory_mib))
    return [size for size in sizes if size[1] != size[2]]


def _finding(audit: AuditFacts, taken: Occupancy, domain: Domain, differences: list[tuple[str, int, int]]) -> Finding:
    instance = taken.instance
    promised = ", ".join(amount_text(name, amount) for name, amount, _ in differences)
    defined = ", ".join(amount_text(name, amount) for name, _, amount in differences)
    sizes = {name for name, _, _ in differences}
    books = (*audit.books.promised.claims, *audit.books.held.claims)
    return RULE.finding(
        audit,
        consumer_uuid=instance.uuid,
        expected=f"{promised} for instance {instance.uuid} ({instance.name}), as its flavor {taken.flavor.name} says",
        actual=f"domain {domain.name} was defined with {defined}",
        evidence=tuple(c for c in books if c.consumer.key == instance.uuid and c.resource_class in sizes),
    )


RULE = Rule(
    code="guest-size-differs",
    severity=Severity.WARNING,
    remedy="openstack server reboot --hard CONSUMER defines the guest again in its flavor's size; if the guest was "
    "made larger on purpose, resize the instance",
    find=_find,
)
