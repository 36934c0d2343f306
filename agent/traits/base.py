"""Provide Wish: which traits to set and which to clear on the root provider."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from agent.model.host.capabilities import OF_EMULATORS, Capabilities, DomainCapabilities
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.standard_names import STANDARD


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Traits of the root provider to set and to clear. The agent does not change a trait that is in neither set."""

    wanted: frozenset[str] = frozenset()
    unwanted: frozenset[str] = frozenset()


# A family is a function that decides a few traits that depend on the same facts. If the facts could not be read, the
# Wish is empty.
TraitFamily = Callable[[Snapshot, Settings], Wish]


def known(names: Iterable[str]) -> frozenset[str]:
    """Return those ``names`` that are standard traits. Placement refuses other names, and nova-compute omits them."""
    return frozenset(names) & STANDARD


def wish_of(answers: Mapping[str, bool]) -> Wish:
    """Return a wish that sets each trait whose value is True and clears each trait whose value is False.

    A name that is not a standard trait is left out.
    """
    wanted = known(name for name, there in answers.items() if there)
    return Wish(wanted=wanted, unwanted=known(answers) - wanted)


def merged(*wishes: Wish) -> Wish:
    """Join several wishes into one. No two of them may be about the same trait."""
    return Wish(
        wanted=frozenset().union(*(wish.wanted for wish in wishes)),
        unwanted=frozenset().union(*(wish.unwanted for wish in wishes)),
    )


def capabilities(snapshot: Snapshot) -> Capabilities | None:
    """Return libvirt's capabilities of the host, None while libvirt's answer is missing."""
    host = snapshot.host.value
    return host.capabilities if host else None


def emulators(snapshot: Snapshot) -> tuple[DomainCapabilities, ...] | None:
    """Return each machine type's domain capabilities: None if they are unknown, () if the host can run no emulator."""
    answer = capabilities(snapshot)
    return answer.domain if answer else None


def host_emulators(snapshot: Snapshot) -> tuple[DomainCapabilities, ...] | None:
    """Return the domain capabilities of the host's architecture.

    Return None if the domain capabilities are unknown, or if the architecture is unknown.
    """
    answer = capabilities(snapshot)
    if answer is None or answer.domain is None or not answer.host_cpu.arch:
        return None
    return answer.of_arch(answer.host_cpu.arch)


def wish_of_emulators(answers: Mapping[str, bool], snapshot: Snapshot) -> Wish:
    """Return the wish of ``wish_of``, but clear no trait if libvirt's answer about a machine type is missing.

    That machine type may have the feature, so the trait may be right.
    """
    wish = wish_of(answers)
    answer = capabilities(snapshot)
    missing = answer is not None and any(one.part in OF_EMULATORS for one in answer.missing)
    return Wish(wanted=wish.wanted) if missing else wish
