"""Read namespaces of persistent memory by running ``ndctl list -X``, once per audit, if pmem_namespaces is configured.

Empty output with exit status 0 is a valid answer: the host has no namespaces. agent/resources/pmem.py decides whether a
configured namespace is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.errors import SourceUnavailable
from agent.model import snapshot
from agent.model.host.storage import StorageFacts
from agent.ports import Deadline
from agent.sources.storage import ndctl_json
from agent.sources.storage.lvm import Command, Runner, SubprocessRunner

COMMAND = ("ndctl", "list", "-X")


@dataclass(frozen=True, slots=True)
class Ndctl:
    """The StorageSource of the host's persistent memory namespaces."""

    deadline_s: float
    runner: Runner = field(default_factory=SubprocessRunner)
    name: str = snapshot.PMEM

    def read(self, deadline: Deadline) -> StorageFacts:
        """Return all namespaces that have a name and are in devdax mode.

        Raises SourceUnavailable if ndctl is missing, fails or does not answer in time, SourceInconsistent if the report
        cannot be read.
        """
        limit = Deadline.after(min(self.deadline_s, deadline.left_s()))
        completed = Command(self.name, "ndctl list", COMMAND).run(self.runner, limit)
        if completed.returncode != 0:
            raise SourceUnavailable(self.name, f"ndctl list ended with code {completed.returncode}: {completed.reason}")
        return StorageFacts(pmem_namespaces=ndctl_json.parse_namespaces(completed.stdout))
