"""For findings about allocations: name the allocations' providers, and build the remedies that remove the allocations.

heal removes only allocations in this host's own provider tree. The operator removes allocations on a sharing provider
by hand.
"""

from __future__ import annotations

from agent.findings.base import AuditFacts
from agent.findings.base_headlines import recorded
from agent.findings.base_remedies import heal, unset
from agent.model.compared import Row
from agent.model.finding import Remedy
from agent.model.placement import ROOT


def place_of(audit: AuditFacts, rows: tuple[Row, ...]) -> str | None:
    """Return the uuid of the provider for a finding about these rows (amounts by consumer and resource class).

    This is the root provider if a row has an allocation on the root, or if no row has an allocation. Otherwise it is
    the first of the providers on which the rows have allocations. Return None if no row has an allocation and the root
    provider is unknown.
    """
    places = _places(audit, rows)
    return audit.root_uuid if audit.root_uuid in places or not places else places[0]


def counted_where(audit: AuditFacts, rows: tuple[Row, ...]) -> str:
    """Return a text about what Placement counts, by provider: "8 VCPU, 80 GiB here, and 1 VGPU on provider UUID".

    "here" is the root provider.
    """
    texts = []
    for place in _places(audit, rows):
        some = recorded(row for row in rows if _place(audit, row) == place)
        texts.append(f"{some} here" if place == audit.root_uuid else f"{some} on provider {place}")
    return ", and ".join(texts) or "nothing"


def unset_here(audit: AuditFacts, rows: tuple[Row, ...]) -> str | None:
    """Return the command that removes one consumer's allocations; None if the consumer has no allocation.

    ``rows`` are the ledger rows of this consumer. Each row names a provider.
    """
    return unset(rows[0].key, _places(audit, rows))


def heal_here(audit: AuditFacts, rows: tuple[Row, ...], words: str) -> tuple[Remedy, ...]:
    """Return the remedy ``stocktake heal`` if a row's allocation is in this host's own provider tree; else ``()``."""
    tree = {provider.uuid for provider in audit.view.providers} if audit.view else set()
    return (heal(words),) if tree & set(_places(audit, rows)) else ()


def _places(audit: AuditFacts, rows: tuple[Row, ...]) -> list[str]:
    """Return the uuids of the providers on which these rows have allocations, the root provider first."""
    found = {_place(audit, row) for row in rows if row.recorded is not None}
    return sorted(found - {""}, key=lambda place: (place != audit.root_uuid, place))


def _place(audit: AuditFacts, row: Row) -> str:
    return (audit.root_uuid or "") if row.provider_key == ROOT else row.provider_key.name
