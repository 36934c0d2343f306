"""What findings on allocations share: on which providers the rows are, and how that is said and undone.

heal takes from this host's own tree alone: what lies on a sharing provider goes by hand.
"""

from __future__ import annotations

from agent.findings.base import World, recorded_text
from agent.model.compared import Row
from agent.model.placement import ROOT

HEAL = "stocktake heal --finding FINDING"
UNSET = "openstack resource provider allocation unset --provider"


def place_of(world: World, rows: tuple[Row, ...]) -> str | None:
    """The one provider that all of these rows are on, our root where it is among several."""
    places = _places(world, rows)
    return world.root_uuid if world.root_uuid in places or not places else places[0]


def recorded_where(world: World, rows: tuple[Row, ...]) -> str:
    """What Placement records: "8 VCPU; 1 VGPU on provider UUID"; our root needs no name."""
    texts = []
    for place in _places(world, rows):
        some = recorded_text(row for row in rows if _place(world, row) == place)
        texts.append(some if place == world.root_uuid else f"{some} on provider {place}")
    return "; ".join(texts) or "nothing"


def unset_everywhere(world: World, rows: tuple[Row, ...]) -> str:
    """Commands that take these rows, and nothing else, from the consumer."""
    return "; ".join(f"{UNSET} {place} CONSUMER" for place in _places(world, rows))


def heal_first(world: World, rows: tuple[Row, ...], by_hand: str) -> str:
    """The remedy: heal where it can do anything about these rows, then what to do by hand."""
    tree = {provider.uuid for provider in world.view.providers} if world.view else set()
    return f"{HEAL}; by hand: {by_hand}" if tree & set(_places(world, rows)) else by_hand


def _places(world: World, rows: tuple[Row, ...]) -> list[str]:
    """Uuids of the providers with something recorded, the root first."""
    found = {_place(world, row) for row in rows if row.recorded is not None}
    return sorted(found - {""}, key=lambda place: (place != world.root_uuid, place))


def _place(world: World, row: Row) -> str:
    return (world.root_uuid or "") if row.provider_key == ROOT else row.provider_key.name
