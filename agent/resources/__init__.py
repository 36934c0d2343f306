"""The resource classes that the agent decides, one module each. A new one is a file here and a line in BUILTIN."""

from __future__ import annotations

from agent.resources.base import Resource
from agent.resources.disk import Disk
from agent.resources.memory import Memory
from agent.resources.pcpu import Pcpu
from agent.resources.pmem import Pmem
from agent.resources.vcpu import Vcpu

BUILTIN: tuple[Resource, ...] = (Vcpu(), Pcpu(), Memory(), Disk(), Pmem())

OWNED_CLASSES: frozenset[str] = frozenset().union(*(resource.classes for resource in BUILTIN))

if sum(len(resource.classes) for resource in BUILTIN) != len(OWNED_CLASSES):
    raise AssertionError("two resources decide the same class")


def owned(resource_class: str) -> bool:
    """Whether a resource of ours decides that class on the root."""
    return any(resource.owns(resource_class) for resource in BUILTIN)
