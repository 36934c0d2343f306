"""For findings about allocations: name the allocations' providers, and the commands that remove the allocations.

heal removes allocations from this host's own provider tree only. The operator removes allocations on a sharing
provider by hand.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts, recorded_text
from agent.model.compared import Row
from agent.model.placement import ROOT
from agent.model.settings import Role

HEAL = "stocktake heal --finding FINDING"
UNSET = "openstack resource provider allocation unset --provider"


def place_of(audit: AuditFacts, rows: tuple[Row, ...]) -> str | None:
    """Return the uuid of the provider that a finding about these ledger rows names.

    This is the root provider if a row has an allocation on the root, or if no row has an allocation. Otherwise it is
    the first of the providers on which the rows have allocations.
    """
    places = _places(audit, rows)
    return audit.root_uuid if audit.root_uuid in places or not places else places[0]


def recorded_where(audit: AuditFacts, rows: tuple[Row, ...]) -> str:
    """Return the recorded amounts by provider: "8 VCPU; 1 VGPU on provider UUID". The root provider is not named."""
    texts = []
    for place in _places(audit, rows):
        some = recorded_text(row for row in rows if _place(audit, row) == place)
        texts.append(some if place == audit.root_uuid else f"{some} on provider {place}")
    return "; ".join(texts) or "nothing"


def unset_everywhere(audit: AuditFacts, rows: tuple[Row, ...]) -> str:
    """Return the commands that remove the consumer's allocations on each provider with an allocation in these rows."""
    return "; ".join(f"{UNSET} {place} CONSUMER" for place in _places(audit, rows))


def heal_first(audit: AuditFacts, rows: tuple[Row, ...], by_hand: str) -> str:
    """Return the remedy: the heal command if heal can remove any of these allocations, then the steps by hand."""
    tree = {provider.uuid for provider in audit.view.providers} if audit.view else set()
    return heal_or(audit, by_hand) if tree & set(_places(audit, rows)) else by_hand


def heal_or(audit: AuditFacts, by_hand: str) -> str:
    """Return the heal command and then the steps by hand; without the command in role observer, which refuses it."""
    return by_hand if audit.settings.role is Role.OBSERVER else f"{HEAL}; by hand: {by_hand}"


def _places(audit: AuditFacts, rows: tuple[Row, ...]) -> list[str]:
    """Return the uuids of the providers on which these rows have allocations, the root provider first."""
    found = {_place(audit, row) for row in rows if row.recorded is not None}
    return sorted(found - {""}, key=lambda place: (place != audit.root_uuid, place))


def _place(audit: AuditFacts, row: Row) -> str:
    return (audit.root_uuid or "") if row.provider_key == ROOT else row.provider_key.name
