"""source-unavailable: something could not be read; what depends on it keeps its last published value."""

from __future__ import annotations

from collections.abc import Iterable

from agent.findings.base import Rule, World
from agent.model.finding import Finding, Severity
from agent.model.host import OddDomain
from agent.model.snapshot import IMAGE_CACHE, IMAGES, LIBVIRT, PLACEMENT, STATE
from agent.nested import BUILTIN as FAMILIES
from agent.nested.base import children
from agent.resources import BUILTIN as RESOURCES
from agent.stages.desired import classes_of

# What follows beside inventories and children: those say themselves what they rest on (needs, reserve_needs).
_BESIDE = {
    PLACEMENT: "nothing is written",
    STATE: "nothing is concluded about guests; reserved is not lowered",
    LIBVIRT: "traits that rest on it stay; reserved is not lowered",
    IMAGES: "guests' files are not told",
}
# What is asked for by a name of its own, and is read together with others.
_PARTS = {IMAGES: frozenset({IMAGE_CACHE})}
_PART = "what lies there is not told"


def _find(world: World) -> Iterable[Finding]:
    for reading in world.snapshot.readings:
        if reading.error is not None:
            yield _finding(world, reading.source, str(reading.error), consequence(reading.source, world))
    for path, why in _unread_parts(world):
        yield _finding(world, path, f"{IMAGES}: {path}: {why}", "; ".join((*_cache_reserve(world), _PART)))
    host = world.snapshot.host.value
    for odd in host.odd_domains if host else ():
        yield _odd(world, odd)


def consequence(source: str, world: World) -> str:
    """What stays, in Placement and in our reports, while that source cannot be read."""
    lost = frozenset({source}) | _PARTS.get(source, frozenset())
    stays = (*_classes(lost, world), *_children(lost, world))
    verb = "stay as they are" if len(stays) > 1 else "stays as it is"
    texts = [f"{', '.join(stays)} {verb}"] if stays else []
    texts.extend(_reserves(lost, world))
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


def _reserves(lost: frozenset[str], world: World) -> list[str]:
    """Classes that are published, with a reserve that may be too low without it."""
    kept = (
        resource
        for resource in RESOURCES
        if resource.reserve_needs(world.settings) & lost and not resource.needs(world.settings) & lost
    )
    names = sorted({name for resource in kept for name in classes_of(resource, world.snapshot)})
    return [f"reserved of {', '.join(names)} is not lowered"] if names else []


def _cache_reserve(world: World) -> list[str]:
    return [] if world.snapshot.fresh(IMAGE_CACHE) else _reserves(frozenset({IMAGE_CACHE}), world)


def _unread_parts(world: World) -> Iterable[tuple[str, str]]:
    """What a source could not read although it answered, and a cache to reserve for that is nowhere."""
    snapshot, settings = world.snapshot, world.settings
    parts = [part for reading in snapshot.storage if reading.value for part in reading.value.unread]
    if settings.reserve_image_cache and snapshot.fresh(IMAGES) and not snapshot.fresh(IMAGE_CACHE) and not parts:
        return [(settings.instances_path, "there is no such folder")]
    return parts


def _odd(world: World, odd: OddDomain) -> Finding:
    finding = f"domain {odd.uuid} ({odd.name}): {odd.reason}"
    return _finding(world, f"domain {odd.uuid}", finding, "what it uses is unknown; reserved is not lowered")


def _finding(world: World, subject: str, error: str, consequence: str) -> Finding:
    return RULE.finding(
        world,
        subject=subject,
        expected="an answer that can be read",
        actual=f"{error}; {consequence}",
    )


RULE = Rule(
    code="source-unavailable",
    severity=Severity.WARNING,
    remedy="look at the named source; the agent tries again at the next audit and says when it is back",
    find=_find,
)
