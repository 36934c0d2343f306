"""What a trait family offers: traits that must be there, traits that must not, and silence on all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import os_traits

from agent.model.host.capabilities import OF_EMULATORS, Capabilities, DomainCapabilities
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


def merged(*wishes: Wish) -> Wish:
    """All of them, of different traits, as one."""
    return Wish(
        wanted=frozenset().union(*(wish.wanted for wish in wishes)),
        unwanted=frozenset().union(*(wish.unwanted for wish in wishes)),
    )


def capabilities(snapshot: Snapshot) -> Capabilities | None:
    """What libvirt says the host can do, or None while that is not known."""
    host = snapshot.host.value
    return host.capabilities if host else None


def emulators(snapshot: Snapshot) -> tuple[DomainCapabilities, ...] | None:
    """Domain capabilities of every architecture and machine type; None where they are not known, () where none runs."""
    answer = capabilities(snapshot)
    return answer.domain if answer else None


def host_emulators(snapshot: Snapshot) -> tuple[DomainCapabilities, ...] | None:
    """Those of the host's own architecture; None where they or the architecture are not known."""
    answer = capabilities(snapshot)
    if answer is None or answer.domain is None or not answer.host_cpu.arch:
        return None
    return answer.of_arch(answer.host_cpu.arch)


def told_by_emulators(answers: Mapping[str, bool], snapshot: Snapshot) -> Wish:
    """As ``told``; but what a machine type whose answer is missing may have is not cleared."""
    wish = told(answers)
    answer = capabilities(snapshot)
    missing = answer is not None and any(one.part in OF_EMULATORS for one in answer.missing)
    return Wish(wanted=wish.wanted) if missing else wish


class TraitFamily(Protocol):
    """A few traits that rest on the same facts."""

    name: str

    def wish(self, snapshot: Snapshot, settings: Settings) -> Wish:
        """What the facts say; an empty wish where they could not be read."""
        ...
