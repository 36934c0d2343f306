"""Probes of libvirt on this host, and of each configured volume group."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from agent.cmd.probes.probe import Probe
from agent.cmd.storage_wiring import runner_for
from agent.config.build import libvirt_uri, settings_from
from agent.config.loaded import Loaded
from agent.errors import SourceUnavailable
from agent.model.snapshot import LVM
from agent.ports import Deadline
from agent.sources.libvirt.greeting import greeting
from agent.sources.storage.lvm import Lvm, Runner

_GIB = 1 << 30


def libvirt_probes(loaded: Loaded) -> Iterator[Probe]:
    """Yield the probe of libvirt."""
    uri = libvirt_uri(loaded)
    yield Probe(what="libvirt", ask=lambda _deadline: f"{greeting(uri)} ({uri})")


def volume_group_probes(loaded: Loaded) -> Iterator[Probe]:
    """Yield one probe for each configured volume group."""
    for group in settings_from(loaded).volume_groups:
        yield Probe(what=f"volume group {group}", ask=functools.partial(_group, runner_for(loaded, LVM), group))


def _group(runner: Runner, name: str, deadline: Deadline) -> str:
    found = Lvm((name,), deadline.allowed_s, runner).read(deadline).groups
    if not found:
        raise SourceUnavailable(LVM, f"this host has volume groups, but none is named {name}")
    group = found[0]
    if group.missing_pvs:
        raise SourceUnavailable(LVM, f"LVM cannot find {group.missing_pvs} physical volumes of this group")
    return f"{group.size_bytes / _GIB:.1f} GiB, {group.free_bytes / _GIB:.1f} GiB free"
