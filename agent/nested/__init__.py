"""Providers below the root, one family a module. A new one is a file here and a line in BUILTIN."""

from __future__ import annotations

from agent.nested.base import NestedFamily
from agent.nested.mdev import MediatedDevices
from agent.nested.memory_encryption import MemoryEncryption
from agent.nested.pci import PciDevices

BUILTIN: tuple[NestedFamily, ...] = (MediatedDevices(), MemoryEncryption(), PciDevices())
