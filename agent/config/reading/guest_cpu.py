"""What CPU and what machine guests get, as far as the files say it (hypervisor-audit 2 and 8.1)."""

from __future__ import annotations

from collections.abc import Iterable

from agent.config.load import Loaded
from agent.config.reading.problems import refuse
from agent.model.settings import GuestCpu

EMULATED = ("kvm", "qemu")


def guest_cpu(loaded: Loaded) -> GuestCpu:
    """``[libvirt] cpu_*``. Raises ConfigError where mode, models and kind of guests do not go together."""
    refuse(_problems(loaded))
    return GuestCpu(
        mode=loaded.value("libvirt", "cpu_mode"),
        models=loaded.listed("libvirt", "cpu_models"),
        extra_flags=tuple(flag.lower() for flag in loaded.listed("libvirt", "cpu_model_extra_flags")),
    )


def machine_types(loaded: Loaded) -> tuple[tuple[str, str], ...]:
    """(architecture, machine type), the first of an architecture holds. Raises ConfigError on an entry without both."""
    entries = [tuple(map(str.strip, entry.partition("="))) for entry in loaded.listed("libvirt", "hw_machine_type")]
    quoted = loaded.quote("libvirt", "hw_machine_type")
    bad = ["".join(entry) for entry in entries if not all(entry)]
    refuse(f"{quoted}: {entry!r} is not ARCHITECTURE=MACHINE, as in x86_64=q35" for entry in bad)
    chosen: dict[str, str] = {}
    for arch, _, machine in entries:
        chosen.setdefault(arch, machine)
    return tuple(chosen.items())


def _problems(loaded: Loaded) -> Iterable[str]:
    mode = loaded.value("libvirt", "cpu_mode")
    models = loaded.listed("libvirt", "cpu_models")
    if mode not in (None, "none") and loaded.value("libvirt", "virt_type") not in EMULATED:
        kind = loaded.quote("libvirt", "virt_type")
        yield f"{loaded.quote('libvirt', 'cpu_mode')}: guests of {kind} cannot choose their CPU; leave it unset"
    if mode == "custom" and not models:
        yield f"{loaded.quote('libvirt', 'cpu_mode')}: needs [libvirt] cpu_models, which is not set"
    if mode != "custom" and models:
        yield f"{loaded.quote('libvirt', 'cpu_models')}: needs [libvirt] cpu_mode = custom"
