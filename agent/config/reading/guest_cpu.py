"""Read the configured CPU mode, CPU models and machine types of guests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agent.config.loaded import Loaded
from agent.config.problems import Tolerated, refuse
from agent.model.settings import GuestCpu

EMULATED = ("kvm", "qemu")
_MACHINES = ("libvirt", "hw_machine_type")


def guest_cpu(loaded: Loaded) -> GuestCpu:
    """Return the options ``[libvirt] cpu_*``. Raises ConfigError if cpu_mode, cpu_models and virt_type conflict."""
    refuse(_problems(loaded))
    return GuestCpu(
        mode=loaded.value("libvirt", "cpu_mode"),
        models=loaded.listed("libvirt", "cpu_models"),
        extra_flags=tuple(flag.lower() for flag in loaded.listed("libvirt", "cpu_model_extra_flags")),
    )


def machine_types(loaded: Loaded) -> tuple[tuple[str, str], ...]:
    """Return (architecture, machine type) pairs; the first entry for an architecture applies.

    In nova.conf, an entry that lacks the architecture or the machine type is ignored. In Stocktake's own files, such an
    entry is an error: this function raises ConfigError.
    """
    MACHINES.refuse_own(loaded)
    chosen: dict[str, str] = {}
    for arch, machine in _machines(loaded):
        if arch and machine:
            chosen.setdefault(arch, machine)
    return tuple(chosen.items())


def _half_machines(loaded: Loaded) -> Iterator[str]:
    quoted = loaded.quote(*_MACHINES)
    for entry, pair in zip(loaded.listed(*_MACHINES), _machines(loaded), strict=True):
        if not all(pair):
            yield f"{quoted}: {entry!r} is not ARCHITECTURE=MACHINE, as in x86_64=q35"


MACHINES = Tolerated(_MACHINES, _half_machines, "the agent ignores this entry of hw_machine_type")


def _machines(loaded: Loaded) -> list[tuple[str, str]]:
    parts = (entry.partition("=") for entry in loaded.listed(*_MACHINES))
    return [(arch.strip(), machine.strip()) for arch, _, machine in parts]


def _problems(loaded: Loaded) -> Iterable[str]:
    mode = loaded.value("libvirt", "cpu_mode")
    models = loaded.listed("libvirt", "cpu_models")
    if mode not in (None, "none") and loaded.value("libvirt", "virt_type") not in EMULATED:
        kind = loaded.quote("libvirt", "virt_type")
        yield f"{loaded.quote('libvirt', 'cpu_mode')}: does not work with {kind}; leave cpu_mode unset"
    if mode == "custom" and not models:
        yield f"{loaded.quote('libvirt', 'cpu_mode')}: needs [libvirt] cpu_models, which is not set"
    if mode != "custom" and models:
        yield f"{loaded.quote('libvirt', 'cpu_models')}: needs [libvirt] cpu_mode = custom"
