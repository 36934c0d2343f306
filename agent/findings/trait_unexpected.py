"""trait-unexpected: the root provider has a standard trait that this host lacks.

The scheduler sends guests to this host for the trait, and these guests cannot start. In role owner the agent removes
the trait, so the rule reports the trait only if another program sets it again. In the other roles the rule reports the
trait whenever it is set. A CUSTOM trait always belongs to the operator; OWNER_NOVA is reported as rival-writer.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, Findings, Rule
from agent.model.finding import Severity
from agent.model.owners import RIVAL
from agent.model.settings import Role


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
                subject=trait,
                expected=f"no trait {trait}, because this host does not have what the trait stands for",
                actual="the trait is on the provider again after the agent removed it"
                if was_cleared
                else "the trait is on the provider",
                facts=(("trait", trait),),
            )


RULE = Rule(
    code="trait-unexpected",
    severity=Severity.WARNING,
    remedy="find the program that sets the trait (a script, a second agent, a nova-compute with other options) and "
    "stop it; a trait of your own needs a name that begins with CUSTOM_",
    find=_find,
)
