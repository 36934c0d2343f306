"""What a trait family offers: traits that must be there, traits that must not, and silence on all others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Traits of the root provider to set and to clear; one that is in neither is left alone (hypervisor-audit 8)."""

    wanted: frozenset[str] = frozenset()
    unwanted: frozenset[str] = frozenset()


class TraitFamily(Protocol):
    """A few traits that rest on the same facts."""

    name: str

    def wish(self, snapshot: Snapshot, settings: Settings) -> Wish:
        """What the facts say; an empty wish where they could not be read."""
        ...
