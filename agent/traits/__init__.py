"""The trait families that the agent decides, one module each. A new one is a file here and a line in BUILTIN."""

from __future__ import annotations

from agent.traits.base import TraitFamily
from agent.traits.owner import OwnerTraits
from agent.traits.service_status import ServiceStatusTrait

BUILTIN: tuple[TraitFamily, ...] = (OwnerTraits(), ServiceStatusTrait())
