"""What stays as it is while a source gives no answer that can be used: for every finding about a source."""

from __future__ import annotations

from agent.findings.base import World
from agent.model.snapshot import IMAGE_CACHE, IMAGES, LIBVIRT, PLACEMENT, STATE
from agent.nested import BUILTIN as FAMILIES
from agent.nested.base import children
from agent.provider_tree.desired import classes_of
from agent.resources import BUILTIN as RESOURCES

# What follows beside inventories and children: those say themselves what they rest on (needs, reserve_needs).
_BESIDE = {
    PLACEMENT: "nothing is written",
    STATE: "nothing is concluded about guests; reserved is not lowered",
    LIBVIRT: "traits that rest on it stay; reserved is not lowered",
    IMAGES: "guests' files are not told",
}
# What is asked for by a name of its own, and is read together with others.
_PARTS = {IMAGES: frozenset({IMAGE_CACHE})}


def consequence(source: str, world: World) -> str:
    """What stays, in Placement and in our reports, while that source cannot be read."""
    lost = frozenset({source}) | _PARTS.get(source, frozenset())
    stays = (*_classes(lost, world), *_children(lost, world))
    verb = "stay as they are" if len(stays) > 1 else "stays as it is"
    texts = [f"{', '.join(stays)} {verb}"] if stays else []
    texts.extend(reserves(lost, world))
    texts.extend([_BESIDE[source]] if source in _BESIDE else ())
    return "; ".join(texts) or "nothing that is written rests on it now"


def _classes(lost: frozenset[str], world: World) -> list[str]:
    """Classes of the root whose total is not known."""
    resources = (resource for resource in RESOURCES if resource.needs(world.settings) & lost)
    return sorted({name for resource in resources for name in classes_of(resource, world.snapshot)})


def _children(lost: frozenset[str], world: World) -> list[str]:
    """Families that somebody asked for, or that have a child in Placement."""
    observed = children(world.view, world.root.name) if world.root else {}
    return [
        f"{family.name} providers"
        for family in sorted(FAMILIES, key=lambda family: family.name)
        if family.is_configured(world.settings) and family.needs(world.settings) & lost
        if family.is_asked_for(world.settings)
        or any(family.knows(child, name, world.settings) for name, child in observed.items())
    ]


def reserves(lost: frozenset[str], world: World) -> list[str]:
    """Classes that are published, with a reserve that may be too low without it."""
    kept = (
        resource
        for resource in RESOURCES
        if resource.reserve_needs(world.settings) & lost and not resource.needs(world.settings) & lost
    )
    names = sorted({name for resource in kept for name in classes_of(resource, world.snapshot)})
    return [f"reserved of {', '.join(names)} is not lowered"] if names else []
