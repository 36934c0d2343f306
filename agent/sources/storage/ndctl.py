"""Read namespaces of persistent memory by running ``ndctl list -X``, once per audit and only if labels are configured.

No output with exit status 0 is a valid answer: the host has no namespaces. agent/resources/pmem.py decides whether a
configured namespace is missing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.errors import SourceUnavailable
from agent.model import snapshot
from agent.model.host.storage import StorageFacts
from agent.ports import Deadline
from agent.sources.storage import ndctl_json
from agent.sources.storage.lvm import Completed, Runner, SubprocessRunner

COMMAND = ("ndctl", "list", "-X")


@dataclass(frozen=True, slots=True)
class Ndctl:
    """The StorageSource of the namespaces."""

    deadline_s: float
    runner: Runner = field(default_factory=SubprocessRunner)
    name: str = snapshot.PMEM

    def read(self, deadline: Deadline) -> StorageFacts:
        """Return all namespaces that have a name and are in devdax mode.

        Raises SourceUnavailable if ndctl is missing, fails or does not answer in time, SourceInconsistent if the report
        cannot be read.
        """
        completed = self._run(min(self.deadline_s, deadline.left_s()))
        if completed.returncode != 0:
            said = completed.last_line or "nothing on stderr"
            raise SourceUnavailable(self.name, f"ndctl list ended with {completed.returncode}: {said}")
        return StorageFacts(pmem_namespaces=ndctl_json.parse_namespaces(completed.stdout))

    def _run(self, timeout_s: float) -> Completed:
        try:
            return self.runner.run(COMMAND, timeout_s)
        except TimeoutError as error:
            raise SourceUnavailable(
                self.name, f"ndctl list did not answer within {timeout_s:.1f} s and was killed"
            ) from error
        except FileNotFoundError as error:
            raise SourceUnavailable(self.name, "ndctl is not installed or not in PATH") from error
        except OSError as error:
            raise SourceUnavailable(self.name, f"ndctl cannot be started: {error.strerror}") from error
