"""Read the size of a Ceph cluster and of the pool of guests' disks, by running ``ceph df``.

The agent runs the command instead of using librados: only the command reports ``max_avail``, from which the copies are
already subtracted (nova does the same, rbd_utils.get_pool_info). The command waits for ever for monitors that do not
answer, so the agent kills it at the deadline.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.errors import SourceUnavailable
from agent.model import snapshot
from agent.model.host.storage import StorageFacts
from agent.model.settings import CephAccess
from agent.ports import Deadline
from agent.sources.storage.ceph_json import parse_pool
from agent.sources.storage.lvm import Completed, Runner, SubprocessRunner


@dataclass(frozen=True, slots=True)
class Ceph:
    """The StorageSource of one pool. The user is without ``client.``."""

    access: CephAccess
    runner: Runner = field(default_factory=SubprocessRunner)
    name: str = snapshot.CEPH

    def read(self, deadline: Deadline) -> StorageFacts:
        """Return the pool.

        Raises SourceUnavailable with ceph's error, SourceInconsistent if the report lacks the pool.
        """
        completed = self._run(deadline.left_s())
        if completed.returncode != 0:
            ended = f"status {completed.returncode}" if completed.returncode > 0 else f"signal {-completed.returncode}"
            said = completed.last_line or "nothing on stderr"
            raise SourceUnavailable(self.name, f"ceph df ended with {ended}: {said}")
        return StorageFacts(ceph_pools=(parse_pool(completed.stdout, self.access.pool),))

    def _run(self, timeout_s: float) -> Completed:
        user = ("--id", self.access.user) if self.access.user else ()
        conf = ("--conf", self.access.conf) if self.access.conf else ()
        try:
            return self.runner.run(("ceph", "df", "--format=json", *user, *conf), timeout_s)
        except TimeoutError as error:
            said = f"; the last line on stderr: {error}" if str(error) else ""
            raise SourceUnavailable(
                self.name, f"ceph df did not answer within {timeout_s:.1f} s and was killed{said}"
            ) from error
        except FileNotFoundError as error:
            raise SourceUnavailable(self.name, "ceph is not installed (ceph-common) or not in PATH") from error
        except OSError as error:
            raise SourceUnavailable(self.name, f"ceph cannot be started: {error.strerror}") from error
