"""Say what the agent leaves unchanged or unreported while it cannot read a source (libvirt, nova, ...)."""

from __future__ import annotations

from agent.findings.base import AuditFacts
from agent.model.snapshot import IMAGE_CACHE, IMAGES, LIBVIRT, PLACEMENT, STATE
from agent.nested import BUILTIN as FAMILIES
from agent.nested.base import children
from agent.provider_tree.desired import classes_of
from agent.resources import BUILTIN as RESOURCES

# For each source, what happens if the source cannot be read. This table leaves out effects on inventories and child
# providers, because each resource and each family of child providers declares the sources that it needs.
_BESIDE = {
    PLACEMENT: "nothing is written",
    STATE: "the agent compares no guest with nova, and does not lower the reserved amount of any class",
    LIBVIRT: "the agent keeps traits that depend on libvirt, and does not lower the reserved amount of any class",
    IMAGES: "the agent does not report guests' files",
}
# Maps a source to the sources that are parts of it. If the source cannot be read, its parts cannot be read either.
_PARTS = {IMAGES: frozenset({IMAGE_CACHE})}


def consequence(source: str, audit: AuditFacts) -> str:
    """Return what the agent does not change in Placement, or does not report, while the source cannot be read."""
    lost = frozenset({source}) | _PARTS.get(source, frozenset())
    # For example: "DISK_GB stays as it is", or "VCPU, mdev providers stay as they are".
    stays = (*_classes(lost, audit), *_children(lost, audit))
    verb = "stay as they are" if len(stays) > 1 else "stays as it is"
    texts = [f"{', '.join(stays)} {verb}"] if stays else []
    texts.extend(reserves(lost, audit))
    texts.extend([_BESIDE[source]] if source in _BESIDE else ())
    return "; ".join(texts) or "nothing that the agent writes depends on this source now"


def frozen(source: str, audit: AuditFacts) -> str:
    """Return a log line's text on what stays unchanged while ``source`` cannot be read.

    For Placement, the text also names the resource classes of the inventories that stay unchanged.
    """
    text = consequence(source, audit)
    if source != PLACEMENT or audit.tree is None:
        return text
    names = sorted(inventory.resource_class for inventory in audit.tree.root.inventories)
    return f"{text}; {', '.join(names)} stay" if names else text


def _classes(lost: frozenset[str], audit: AuditFacts) -> list[str]:
    """Return the classes for which the agent needs one of these sources to compute the root provider's total."""
    resources = (resource for resource in RESOURCES if resource.needs(audit.settings) & lost)
    return sorted({name for resource in resources for name in classes_of(resource, audit.snapshot)})


def _children(lost: frozenset[str], audit: AuditFacts) -> list[str]:
    """Return the names of the families of child providers that need one of these sources.

    A family is left out if it is not enabled and Placement has no provider of the family.
    """
    observed = children(audit.view, audit.root.name) if audit.root else {}
    return [
        f"{family.name} providers"
        for family in sorted(FAMILIES, key=lambda family: family.name)
        if family.is_configured(audit.settings) and family.needs(audit.settings) & lost
        if family.is_asked_for(audit.settings)
        or any(family.knows(child, name, audit.settings) for name, child in observed.items())
    ]


def reserves(lost: frozenset[str], audit: AuditFacts) -> list[str]:
    """Name the classes whose reserved amounts the agent does not lower while the sources ``lost`` cannot be read.

    Return a list with one text, or an empty list if there is no such class.
    """
    kept = (
        resource
        for resource in RESOURCES
        if resource.reserve_needs(audit.settings) & lost and not resource.needs(audit.settings) & lost
    )
    names = sorted({name for resource in kept for name in classes_of(resource, audit.snapshot)})
    return [f"the agent does not lower the reserved amount of {', '.join(names)}"] if names else []
