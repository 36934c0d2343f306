"""heal on a configured host with a plan of confirmed findings, in this process or in one killed at a given call."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.audit.parts import AuditTask
from agent.audit.run import run_audit
from agent.cmd import wiring
from agent.cmd.daemon import block_modules
from agent.config.build import load_checked, settings_from
from agent.healing import recheck
from agent.healing.heal import Prepared, prepared, run_heal
from agent.model.audit import AuditMemory, AuditRequest, Depth, Publish
from tests.rigs.host import PATIENCE_S
from tests.rigs.programs import run_function
from tests.rigs.source_tree import ROOT

# Remove random delays; other tests measure them.
AT_ONCE = {"random": lambda: 0.0}


@contextlib.contextmanager
def planned(config_file: Path, codes: frozenset[str], **parts: Any) -> Iterator[tuple[AuditTask, Prepared]]:
    """Yield an task and a plan for findings of ``codes``, seen by two audits; ``parts`` replace the wired parts."""
    loaded = load_checked([str(config_file)])
    request = AuditRequest(reasons=("test",), publish=Publish.NEVER, depth=Depth.FULL)
    with wiring.wire(loaded) as wired:
        used = dataclasses.replace(wired.parts, **AT_ONCE | parts)
        task = AuditTask(request=request, settings=settings_from(loaded), parts=used, cancelled=lambda: False)
        memory = AuditMemory()
        for _ in range(2):
            result = run_audit(request, task.settings, used, memory, task.cancelled)
            memory = result.memory
        plan = prepared(task, result, codes)
        assert plan is not None
        yield task, plan


def with_parts(task: AuditTask, **parts: Any) -> AuditTask:
    """Return the same task with other parts."""
    return dataclasses.replace(task, parts=dataclasses.replace(task.parts, **parts))


def heal_killed(config_file: Path, codes: frozenset[str], call: str, when: str) -> None:
    """Run heal in a process that is killed ``when`` (before, after) its first ``call``, such as "allocations.put"."""
    killed = functools.partial(heal_to_death, str(config_file), call, when, *sorted(codes))
    done = run_function(killed, PATIENCE_S, os.environ, ROOT)
    assert done.returncode == -signal.SIGKILL, done.stderr


def heal_to_death(config_file: str, call: str, when: str, *codes: str) -> None:
    """Run heal in the process that is to be killed."""
    block_modules()
    part, method = call.split(".")
    with planned(Path(config_file), frozenset(codes)) as (task, plan):
        run_heal(with_parts(task, **{part: _Killing(getattr(task.parts, part), method, when)}), plan)


class _Killing:
    """A part that kills its process before or after a given call."""

    def __init__(self, real: Any, method: str, when: str) -> None:
        self._real, self._method, self._when = real, method, when

    def __getattr__(self, name: str) -> Any:
        return self._last_call if name == self._method else getattr(self._real, name)

    def _last_call(self, *arguments: Any) -> None:
        if self._when == "after":
            getattr(self._real, self._method)(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(autouse=True)
def short_proof() -> Iterator[None]:
    """Let heal in this process accept the next heartbeat of the cell, not one that is two seconds later.

    Tests of a module that imports the fixture use it.

    The margin of two seconds is for clocks and replicas that differ; tests/contract/state/test_late_replica.py covers
    them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recheck, "MARGIN", datetime.timedelta())
        patch.setattr(recheck, "POLL_S", 0.1)
        yield
