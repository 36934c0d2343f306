"""Small builders for hosts with given libvirt capabilities, for the tests of code that depends on capabilities."""

from __future__ import annotations

import dataclasses
from typing import Any

from agent.model.host.capabilities import Capabilities, DomainCapabilities, HostCpu, MissingPart, Part
from agent.model.host.facts import Cell
from agent.model.snapshot import Snapshot
from tests.rigs.facts import host, snapshot

# One machine type out of several, whose answer could not be parsed: sources/libvirt/capabilities.py.
UNREADABLE = MissingPart(part=Part.MACHINE, detail="x86_64 q35", why="no element found: line 1, column 0")


def emulator(arch: str = "x86_64", machine: str = "pc", **changes: Any) -> DomainCapabilities:
    """Return one machine type of an emulator that reports no features."""
    return dataclasses.replace(DomainCapabilities(arch=arch, domain_type="kvm", machines=(machine,)), **changes)


def capable(
    *domain: DomainCapabilities,
    arch: str = "x86_64",
    features: frozenset[str] | set[str] | None = frozenset(),
    **changes: Any,
) -> Capabilities:
    """Return the capabilities of a host with that architecture, these CPU features and these emulators."""
    cpu = HostCpu(arch=arch, features=None if features is None else frozenset(features))
    return dataclasses.replace(Capabilities(host_cpu=cpu, domain=domain), **changes)


def world(capabilities: Capabilities | None, **changes: Any) -> Snapshot:
    """Return a snapshot of a host with these capabilities; ``changes`` apply to its facts: versions, cells, devices."""
    cells = (Cell(id=0, memory_mib=512, cpu_ids=(0, 1), siblings=((0,), (1,))),)
    return snapshot(libvirt=host(**{"capabilities": capabilities, "cells": cells, **changes}))
