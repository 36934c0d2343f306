"""Group the hosts by the kind of their agent. A kind is a version and a role.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from agent.fleet.view import HostRow
from agent.pages.fleet.facts import FleetFacts

Kind = tuple[str, str]


def kind_of(row: HostRow) -> Kind | None:
    """Return the version and the role of the host's agent; None if no message or report of the host was read."""
    return (row.seen.agent_version, row.seen.role) if row.seen else None


def hosts_by_kind(facts: FleetFacts) -> Mapping[Kind, list[str]]:
    """Return the sorted names of the hosts by kind of agent (version and role)."""
    found: dict[Kind, list[str]] = defaultdict(list)
    for row in facts.view.rows:
        if kind := kind_of(row):
            found[kind].append(row.host)
    return {kind: sorted(names) for kind, names in found.items()}
