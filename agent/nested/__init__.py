"""Providers below the root, one family a module. A new one is a file here and a line in BUILTIN."""

from __future__ import annotations

from agent.nested.base import NestedFamily
from agent.nested.mdev import MediatedDevices
from agent.nested.pci import PciDevices
from agent.nested.sev import MemoryEncryption

BUILTIN: tuple[NestedFamily, ...] = (MediatedDevices(), MemoryEncryption(), PciDevices())
