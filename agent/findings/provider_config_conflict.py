"""provider-config-conflict: an entry of a provider.yaml file that cannot be carried out.

What can be told from the files alone ends the start (exit 78). This is the rest:
two entries that turn out to mean one provider, and a class that this host decides
itself (scenarios 130, 132). nova-compute's audit fails then, each time.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import Rule, World
from agent.model.finding import Finding, Severity


def _find(world: World) -> Iterable[Finding]:
    for problem in world.tree.entry_problems if world.tree else ():
        if problem.is_absent:
            continue
        yield RULE.finding(
            world,
            provider_uuid=problem.provider_uuid,
            subject=" ".join(problem.origins),
            expected="what provider.yaml files add to a provider is added once, and nobody else decides it",
            actual=f"{' and '.join(problem.origins)}: {problem.why}; nothing of it is added",
        )


RULE = Rule(
    code="provider-config-conflict",
    severity=Severity.ERROR,
    remedy="correct the file (see its lines in the finding), then reload the agent (SIGHUP)",
    find=_find,
)
