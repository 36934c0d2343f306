"""The agent's resource classes on the root provider, one module each.

Each module of BUILTIN computes everything about one class (or a family of classes): the inventory, the operator's
reserve, what guests hold and what nova promised. A new class needs a new file here and a line in BUILTIN.

Begin with base.py, the protocol and the shared rules, and vcpu.py, a short example. disk.py needs more:
counted_store.py measures the store, store_doubt.py decides whether to trust it, volumes.py assigns volumes to owners.
demand.py computes what a flavor requests.

What does not belong here: child providers such as PCI and mediated devices (agent/nested/), traits (agent/traits/),
reading the host (agent/sources/), and the comparison of promised, held and recorded amounts (agent/books/).
"""

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
    raise AssertionError("two modules of BUILTIN compute the same resource class")


def owned(resource_class: str) -> bool:
    """Return whether a module of BUILTIN decides the root provider's inventory of this resource class."""
    return any(resource.owns(resource_class) for resource in BUILTIN)
