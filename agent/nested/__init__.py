"""Child providers below this host's root provider, one family of children per module.

A family decides from one snapshot which children exist, the inventories and traits of each child, and which children
the agent deletes. ``BUILTIN`` lists the families: mediated devices (mdev.py), memory encryption (memory_encryption.py)
and PCI devices (pci.py, with pci_names.py, pci_offers.py and pci_view.py).

Begin with base.py (``NestedFamily``), then read memory_encryption.py, the shortest family. To add a family, add a
module here and a line in ``BUILTIN``.

Not here: the root's classes (agent/resources) and traits (agent/traits), the tree made of all parts
(agent/provider_tree/desired.py), and the writes to Placement (agent/placement/writer.py).
"""

from __future__ import annotations

from agent.nested.base import NestedFamily
from agent.nested.mdev import MediatedDevices
from agent.nested.memory_encryption import MemoryEncryption
from agent.nested.pci import PciDevices

BUILTIN: tuple[NestedFamily, ...] = (MediatedDevices(), MemoryEncryption(), PciDevices())
