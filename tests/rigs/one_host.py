"""A host whose audits run in the test's process: the real audit, reader and writer, and facts written by hand.

An audit's reaction to a failing Placement shows best if all other sources work and the test decides what there is to
publish.
"""

from __future__ import annotations

import contextlib
import dataclasses
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from agent.audit.parts import Parts
from agent.audit.run import run_audit
from agent.model.audit import AuditMemory, AuditRequest, AuditResult, Identity
from agent.model.finding import History
from agent.model.snapshot import FILESYSTEM, LIBVIRT, STATE
from agent.placement.allocations import AllocationClient
from agent.placement.http.client import PlacementClient
from agent.placement.reader import TreeReader
from agent.placement.writer import TreeWriter
from tests.rigs.facts import beating, filesystem, host, node, settings, state

NOW = "2026-11-21T12:00:00.000Z"


@dataclass
class OneHost:
    """A host of ``cpus`` CPUs without guests, whose root provider is ``root``."""

    client: PlacementClient
    root: str
    cpus: int = 4
    memory: AuditMemory = field(default_factory=AuditMemory)

    def __post_init__(self) -> None:
        self.parts = Parts(
            state=_Source(STATE, lambda: beating(state(nodes=(node(uuid=self.root, hypervisor_hostname=self.name),)))),
            host=_Source(LIBVIRT, lambda: host(cpus=self.cpus, hostname=self.name)),
            storage=(_Source(FILESYSTEM, filesystem),),
            reader=TreeReader(self.client),
            reporter=TreeWriter(self.client),
            allocations=AllocationClient(self.client),
            identity_files=SimpleNamespace(find=lambda: Identity(uuid=self.root, origin="file")),
            history=SimpleNamespace(load=History, changed=lambda: None, save=lambda _history: True),
            lock=SimpleNamespace(hold=contextlib.nullcontext),
            clock=SimpleNamespace(now=lambda: NOW, monotonic=time.monotonic, boot=str, wait=lambda _seconds: None),
            request_scope=lambda audit_id: self.client.global_request_id(f"req-{audit_id}"),
        )

    @property
    def name(self) -> str:
        """The node's name."""
        return f"host-{self.root}"

    def audit(self, **changes: Any) -> AuditResult:
        """Run one audit and keep its memory for the next; ``changes`` are settings."""
        request = AuditRequest(reasons=("test",))
        result = run_audit(request, settings(**changes), self.parts, self.memory, lambda: False)
        self.memory = dataclasses.replace(result.memory)
        return result


class _Source:
    """A source that never fails."""

    def __init__(self, name: str, facts: Any) -> None:
        self.name = name
        self._facts = facts

    def read(self, *_arguments: object) -> Any:
        return self._facts()

    def forget(self) -> None:
        """Do nothing: this source has no cache."""
