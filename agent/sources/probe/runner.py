"""Run the commands of the storage sources through stocktake-probe: the Runner of an agent without privileges.

The agent sends only which program to run. The probe chooses the arguments itself, from configuration files that only
root may write.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent.ports import Deadline
from agent.sources.probe.client import ask, os_error
from agent.sources.probe.protocol import Kind, Verb
from agent.sources.storage.lvm import Completed

_VERBS: Mapping[str, Verb] = {
    "vgs": Verb.LVM_GROUPS,
    "lvs": Verb.LVM_VOLUMES,
    "ceph": Verb.CEPH_DF,
    "ndctl": Verb.NDCTL_LIST,
}


@dataclass(frozen=True, slots=True)
class ProbeRunner:
    """Implements Runner. ``path`` is the probe's socket; ``source`` names the source in errors."""

    path: str
    source: str

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Completed:
        """Return the result of the command that the probe ran.

        Raises OSError if the command cannot be started, TimeoutError if it did not end in time, and SourceUnavailable
        or SourceDenied if the probe gave no usable answer.
        """
        answer = ask(self.path, self.source, _VERBS[argv[0]], Deadline.after(timeout_s))
        if answer.kind is Kind.TIMED_OUT:
            raise TimeoutError(answer.content)
        if answer.kind is Kind.NOT_STARTED:
            raise os_error(answer.content)
        return Completed(**answer.content)
