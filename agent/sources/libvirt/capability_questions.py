"""Decide which machine types and CPU models the agent queries from libvirt.

If a machine type has several names, one query is enough: libvirt returns the same document for each name. Pure: no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent.model.host.guest_cpu import models_of
from agent.model.settings import GuestCpu, Settings
from agent.sources.libvirt.capabilities_xml import Guest

# nova's default machine type for each architecture; nova has no default for any other architecture.
_DEFAULT_MACHINES = {
    "armv7l": "virt",
    "aarch64": "virt",
    "ppc64le": "pseries",
    "s390": "s390-ccw-virtio",
    "s390x": "s390-ccw-virtio",
    "i686": "pc",
    "x86_64": "pc",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestChoice:
    """The operator's configuration: ``[libvirt] virt_type``, ``hw_machine_type``, ``cpu_mode`` and ``cpu_models``.

    ``machine_types`` are pairs of architecture and machine type; the first pair of an architecture applies. If
    ``cpu_mode`` is None (not set), no CPU model is queried.
    """

    virt_type: str = "kvm"
    machine_types: tuple[tuple[str, str], ...] = ()
    cpu_mode: str | None = None
    cpu_models: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Settings) -> GuestChoice:
        """Take the values from the settings."""
        return cls(
            virt_type=settings.virt_type,
            machine_types=settings.machine_types,
            cpu_mode=settings.guest_cpu.mode,
            cpu_models=settings.guest_cpu.models,
        )

    def machine_type(self, arch: str) -> str | None:
        """Return the machine type of guests of an architecture, or None if the emulator chooses the machine type."""
        configured = (machine for name, machine in self.machine_types if name == arch)
        return next(configured, _DEFAULT_MACHINES.get(arch))


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineQuestion:
    """The arguments of one getDomainCapabilities call. ``names`` has the machine type's canonical name and aliases."""

    emulator: str | None
    arch: str
    machine: str | None
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainAnswer:
    """libvirt's answer to one question: the document ``xml``, or libvirt's error ``code`` with the reason ``why``."""

    question: MachineQuestion
    xml: str | None = None
    code: int | None = None
    why: str = ""


def machine_questions(guests: Iterable[Guest], choice: GuestChoice) -> tuple[MachineQuestion, ...]:
    """Return the queries, sorted: each architecture's default machine type, and each machine type that has aliases."""
    questions: dict[tuple[str, str | None], MachineQuestion] = {}
    for guest in guests:
        for question in _of_guest(guest, choice):
            questions.setdefault((question.arch, question.machine), question)
    return tuple(questions[key] for key in sorted(questions, key=lambda key: (key[0], key[1] or "")))


def models_to_ask(arch: str, choice: GuestChoice) -> tuple[str, ...]:
    """Return the CPU models that guests get: the configured models, or the default model if cpu_mode is ``none``."""
    return models_of(GuestCpu(mode=choice.cpu_mode, models=choice.cpu_models), arch, choice.virt_type)


def _of_guest(guest: Guest, choice: GuestChoice) -> Iterator[MachineQuestion]:
    domain = guest.domain_for(choice.virt_type)
    default = choice.machine_type(guest.arch)
    names: dict[str, list[str]] = {}
    for alias, canonical in domain.aliases:
        names.setdefault(canonical, []).append(alias)
    known = {name for canonical, aliases in names.items() for name in (canonical, *aliases)}
    if default not in known:
        yield MachineQuestion(
            emulator=domain.emulator, arch=guest.arch, machine=default, names=(default,) if default else ()
        )
    for canonical, aliases in names.items():
        yield MachineQuestion(
            emulator=domain.emulator, arch=guest.arch, machine=min(aliases), names=tuple(sorted({canonical, *aliases}))
        )
