"""trait-unexpected: the root provider has a standard trait that this host lacks.

The scheduler sends guests that require the trait to this host, and these guests cannot start. In role owner the agent
removes the trait, and reports the trait only if another program sets the trait again. In the other roles the agent
always reports the trait.

This finding is not about CUSTOM traits, because they belong to the operator. It is not about OWNER_NOVA either: this
trait shows that nova-compute writes the provider too, which is the finding rival-writer.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, openstack
from agent.model.finding import Severity
from agent.model.owners import RIVAL
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, PLACEMENT


def _find(audit: AuditFacts) -> Findings:
    if audit.root is None or audit.tree is None:
        return
    against = audit.root.traits & audit.tree.root.traits_unwanted
    was_cleared = audit.settings.role is Role.OWNER
    if was_cleared:
        against &= audit.cleared
    for trait in sorted(against - {RIVAL}):
        if not trait.startswith("CUSTOM_"):
            yield RULE.finding(
                audit,
                headline=f"{audit.host}: its provider has trait {trait}, but the trait does not apply to this host",
                subject=trait,
                expected=f"no trait {trait}, because the trait does not apply to this host",
                actual="the trait is on the provider again after the agent removed it"
                if was_cleared
                else "the trait is on the provider",
                facts=(("trait", trait),),
                remedies=(
                    inspect(
                        "see the provider's traits", openstack("resource", "provider", "trait", "list", audit.root_uuid)
                    ),
                    by_hand(_FIND),
                    by_hand("if you set the trait on purpose, use a name that begins with CUSTOM_"),
                ),
            )


_FIND = "find the program that sets the trait (a script, a second agent, a nova-compute with other options) and stop it"

RULE = Rule(code="trait-unexpected", severity=Severity.WARNING, find=_find, rests_on=frozenset({PLACEMENT, LIBVIRT}))
