"""pmem-namespace-missing: a configured pmem namespace name matches no namespace that ndctl lists, or more than one."""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, line
from agent.model.finding import Severity
from agent.model.snapshot import PMEM
from agent.resources.demand import pmem_class


def _find(audit: AuditFacts) -> Findings:
    if not audit.snapshot.fresh(PMEM):
        return
    listed = [namespace.name for namespace in audit.snapshot.stored.pmem_namespaces]
    for label in audit.settings.pmem_labels:
        for name in label.namespaces:
            times = listed.count(name)
            if times == 1:
                continue
            found = f"{times} namespaces" if times else "no devdax namespace"
            yield RULE.finding(
                audit,
                headline=f"{audit.host}: [libvirt] pmem_namespaces has namespace {name} for label {label.label}, but "
                f"ndctl lists {found} of this name",
                resource_class=pmem_class(label.label),
                subject=name,
                expected=f"one namespace {name} in devdax mode, for label {label.label} ([libvirt] pmem_namespaces)",
                actual=f"ndctl lists {found} named {name}; Placement's inventory of persistent memory stays unchanged",
                facts=(("namespace", name), ("label", label.label), ("listed", times)),
                remedies=(
                    inspect("see the namespaces, disabled ones too", line("ndctl", "list", "-X", "-i")),
                    by_hand(
                        "enable the namespace, set its mode to devdax, rename it, or correct [libvirt] pmem_namespaces"
                    ),
                ),
            )


RULE = Rule(code="pmem-namespace-missing", severity=Severity.ERROR, find=_find, rests_on=frozenset({PMEM}))
