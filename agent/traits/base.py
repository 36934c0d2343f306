"""What a trait family offers: traits that must be there, traits that must not, and silence on all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import os_traits

from agent.model.settings import Settings
from agent.model.snapshot import Snapshot

_STANDARD: frozenset[str] = frozenset(os_traits.get_traits())


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Traits of the root provider to set and to clear; one that is in neither is left alone (hypervisor-audit 8)."""

    wanted: frozenset[str] = frozenset()
    unwanted: frozenset[str] = frozenset()


def known(names: Iterable[str]) -> frozenset[str]:
    """Those that the installed os-traits has; Placement refuses others, and the reference leaves them out too."""
    return frozenset(names) & _STANDARD


def told(answers: Mapping[str, bool]) -> Wish:
    """One wish of traits that are there (True) and are not (False); names that os-traits does not have are left out."""
    wanted = known(name for name, there in answers.items() if there)
    return Wish(wanted=wanted, unwanted=known(answers) - wanted)


class TraitFamily(Protocol):
    """A few traits that rest on the same facts."""

    name: str

    def wish(self, snapshot: Snapshot, settings: Settings) -> Wish:
        """What the facts say; an empty wish where they could not be read."""
        ...
