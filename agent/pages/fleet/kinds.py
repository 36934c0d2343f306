"""Which hosts run an agent of a rare kind. A kind is a version and a role. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from agent.fleet.view import HostRow
from agent.pages.fleet.facts import FleetFacts

Kind = tuple[str, str]


def kind_of(row: HostRow) -> Kind | None:
    """Return the version and the role of the host's agent; None if no message or report of the host has come."""
    return (row.seen.agent_version, row.seen.role) if row.seen else None


def hosts_by_kind(facts: FleetFacts) -> Mapping[Kind, list[str]]:
    """Return the sorted names of the hosts of each kind."""
    found: dict[Kind, list[str]] = defaultdict(list)
    for row in facts.view.rows:
        if kind := kind_of(row):
            found[kind].append(row.host)
    return {kind: sorted(names) for kind, names in found.items()}


def rare_kinds(facts: FleetFacts) -> frozenset[Kind]:
    """Return the kinds that fewer than half as many hosts have as the most common kind."""
    found = hosts_by_kind(facts)
    most = max(map(len, found.values()), default=0)
    return frozenset(kind for kind, names in found.items() if 2 * len(names) < most)
