"""write-refused: Placement permanently rejects a write. The agent still makes all writes that do not depend on it.

A finding is confirmed only if its texts, without the remedies, stay the same from audit to audit. Placement's error and
the request id may change, so they are in the text of a remedy. If an older Placement does not know a trait, the agent
writes all other traits, and the finding is only a warning.
"""

from __future__ import annotations

from agent.errors import DuplicateName, PlacementRejected, ProviderElsewhere
from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_remedies import by_hand, inspect, openstack, reload_agent, show_provider
from agent.model.finding import Finding, Remedy, Severity
from agent.model.plan import (
    CreateProvider,
    DeleteProvider,
    MoveProvider,
    PutAggregates,
    PutInventories,
    PutTraits,
    RefusedWrite,
    Write,
)
from agent.model.snapshot import PLACEMENT


def _find(audit: AuditFacts) -> Findings:
    yield from (_finding(audit, refused) for refused in audit.refused)
    wanted = frozenset().union(*(p.traits_wanted for p in (audit.tree.providers if audit.tree else ())))
    if unknown := sorted(wanted & audit.unknown_traits):
        yield _unknown_traits(audit, unknown)


def _finding(audit: AuditFacts, refused: RefusedWrite) -> Finding:
    write, error = refused.write, refused.error
    name = _name_of(audit, write)
    what, failure = _in_words(write, name)
    request_id = f" [{error.request_id}]" if error.request_id else ""
    return RULE.finding(
        audit,
        headline=f"{audit.host}: Placement rejects {what} (HTTP {error.status}), so {failure}",
        provider_uuid=write.provider_uuid,
        subject=what,
        expected=f"Placement accepts {what}",
        actual=f"Placement rejects the write with HTTP {error.status}, so {failure}",
        facts=(("provider_name", name), ("status", error.status)),
        remedies=(*_advice(refused, name), inspect(f"Placement's error: {error.message}{request_id}")),
    )


def _name_of(audit: AuditFacts, write: Write) -> str:
    if isinstance(write, CreateProvider):
        return write.name
    known = audit.view.provider(write.provider_uuid) if audit.view else None
    planned = [p.name for p in (audit.tree.providers if audit.tree else ()) if p.uuid == write.provider_uuid]
    return known.name if known else next(iter(planned), write.provider_uuid)


def _in_words(write: Write, name: str) -> tuple[str, str]:
    """Return what the agent tried to write, and the consequence of the rejection."""
    match write:
        case CreateProvider():
            return f"the new provider {name}", "neither the provider nor its children exist"
        case PutInventories(inventories=inventories):
            classes = ", ".join(i.resource_class for i in inventories) or "none"
            return (
                f"the inventory of {name} ({classes})",
                "the inventory stays as it was, and the provider's traits and new children are not written",
            )
        case PutTraits():
            return f"the traits of {name}", "the traits stay unchanged"
        case PutAggregates():
            return f"the aggregates of {name}", "the aggregates stay unchanged"
        case MoveProvider():
            return f"the new parent of {name}", "the provider keeps its old parent"
        case DeleteProvider():
            return f"the removal of {name}", "the provider is not deleted"


def _advice(refused: RefusedWrite, name: str) -> tuple[Remedy, ...]:
    provider = refused.write.provider_uuid
    if isinstance(refused.error, DuplicateName):
        other = openstack("resource", "provider", "list", "--name", name)
        return (inspect("find the other provider with this name", other), by_hand("rename or delete that provider"))
    if isinstance(refused.error, ProviderElsewhere):
        return (
            inspect("find who moved the provider out of this host's tree", show_provider(provider)),
            by_hand("move the provider back", _move_back(refused.write, name)),
            by_hand("or delete the provider", openstack("resource", "provider", "delete", provider)),
        )
    if isinstance(refused.error, PlacementRejected):
        words = (
            "find the impossible amount or name in the error, and correct this value, for example in provider.yaml or "
            "in an option"
        )
        return (by_hand(words),)
    return (inspect("see what still uses the provider", show_provider(provider)),)


def _move_back(write: Write, name: str) -> str | None:
    """Return the command that puts the provider below its parent again (microversion 1.37).

    Return None if the write names no parent.
    """
    parent = write.parent_uuid if isinstance(write, CreateProvider | MoveProvider) else None
    version = ("--os-placement-api-version", "1.37")
    return openstack(
        *version, "resource", "provider", "set", "--name", name, "--parent-provider", parent, write.provider_uuid
    )


def _unknown_traits(audit: AuditFacts, unknown: list[str]) -> Finding:
    return RULE.finding(
        audit,
        severity=Severity.WARNING,
        headline=f"{audit.host}: this Placement does not know {len(unknown)} traits of the host: {', '.join(unknown)}",
        subject="unknown traits",
        expected="Placement knows every trait that this host has",
        actual=f"Placement does not know {', '.join(unknown)}; the agent writes all other traits",
        facts=(("traits", ", ".join(unknown)),),
        remedies=(
            by_hand("upgrade Placement: its os-traits is older than this agent's"),
            reload_agent("then let the agent ask Placement again"),
        ),
    )


RULE = Rule(code="write-refused", severity=Severity.ERROR, find=_find, rests_on=frozenset({PLACEMENT}))
