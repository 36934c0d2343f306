"""Read the size of a Ceph cluster and the usage of the pool with the guests' disks, by running ``ceph df``.

Like nova (rbd_utils.get_pool_info), the agent runs the command instead of using librados, because only the command
reports ``max_avail``, from which the space for replicas is already subtracted. If no monitor answers, the command waits
for ever, so the agent kills the command at the deadline.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.errors import SourceUnavailable
from agent.model import snapshot
from agent.model.host.storage import StorageFacts
from agent.model.settings import CephAccess
from agent.ports import Deadline
from agent.sources.storage.ceph_json import parse_pool
from agent.sources.storage.lvm import Command, Runner, SubprocessRunner


def df_command(access: CephAccess) -> tuple[str, ...]:
    """Return the command that reports the pools."""
    user = ("--id", access.user) if access.user else ()
    conf = ("--conf", access.conf) if access.conf else ()
    return ("ceph", "df", "--format=json", *user, *conf)


@dataclass(frozen=True, slots=True)
class Ceph:
    """The StorageSource of one Ceph pool. ``access.user`` is the Ceph user's name without the prefix ``client.``."""

    access: CephAccess
    runner: Runner = field(default_factory=SubprocessRunner)
    name: str = snapshot.CEPH

    def read(self, deadline: Deadline) -> StorageFacts:
        """Return the pool sizes. Raises SourceUnavailable if ceph fails, SourceInconsistent if the pool is unknown."""
        command = Command(self.name, "ceph df", df_command(self.access), " (ceph-common)")
        completed = command.run(self.runner, Deadline.after(deadline.left_s()))
        if completed.returncode != 0:
            ended = f"status {completed.returncode}" if completed.returncode > 0 else f"signal {-completed.returncode}"
            raise SourceUnavailable(self.name, f"ceph df ended with {ended}: {completed.reason}")
        return StorageFacts(ceph_pools=(parse_pool(completed.stdout, self.access.pool),))
