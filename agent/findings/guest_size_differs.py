"""guest-size-differs: a guest's definition has more or fewer vCPUs, or another memory size, than its instance's flavor.

The rule compares the maximum sizes in the domain's definition. The current sizes may be smaller for a while: a vCPU may
be unplugged, or the balloon may have taken memory, and the guest can get both back. The rule does not compare the
memory of a guest with persistent memory, because the domain's ``<memory>`` includes persistent memory.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule, amount_text
from agent.findings.base_guests import resting
from agent.findings.base_remedies import by_hand, inspect, openstack, virsh
from agent.model.finding import Finding, Severity
from agent.model.host.facts import Domain
from agent.model.nova import Flavor
from agent.model.occupancy import Occupancy
from agent.model.snapshot import LIBVIRT, STATE
from agent.text.amounts import with_unit
from agent.text.headline import short_name


def _find(audit: AuditFacts) -> Findings:
    for taken, domain in resting(audit, lambda taken, domain: bool(_differences(taken.flavor, domain))):
        yield _finding(audit, taken, domain, _differences(taken.flavor, domain))


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
        headline=f"{short_name(instance.name)}: the guest on {audit.host} was defined with {_short(differences, 2)}"
        f"; the flavor has {_short(differences, 1)}",
        consumer_uuid=instance.uuid,
        expected=f"{promised} for instance {instance.uuid} ({instance.name}), as its flavor {taken.flavor.name} says",
        actual=f"domain {domain.name} was defined with {defined}",
        evidence=tuple(c for c in books if c.consumer.key == instance.uuid and c.resource_class in sizes),
        remedies=(
            inspect("see how the guest is defined", virsh(audit, "dominfo", instance.uuid)),
            by_hand(
                "let nova define the guest again in the flavor's size",
                openstack("server", "reboot", "--hard", instance.uuid),
            ),
            by_hand("if the guest was made larger on purpose, resize the instance to a flavor of that size"),
        ),
    )


def _short(differences: list[tuple[str, int, int]], which: int) -> str:
    return ", ".join(with_unit(each[0], int(each[which])) for each in differences)


RULE = Rule(code="guest-size-differs", severity=Severity.WARNING, find=_find, rests_on=frozenset({STATE, LIBVIRT}))
