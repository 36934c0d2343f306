"""Probes of the agent's own folders."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator

from agent.cmd.probes.probe import Probe
from agent.config.agent_options import agent_options_from
from agent.config.loaded import Loaded
from agent.host_files.own_folder import why_not_writable
from agent.ports import Deadline

_MIB = 1 << 20


def folder_probes(loaded: Loaded) -> Iterator[Probe]:
    """Yield the probes of ``state_dir`` and ``run_dir``."""
    options = agent_options_from(loaded)
    yield Probe(what="state_dir", ask=functools.partial(_folder, options.state_dir))
    yield Probe(what="run_dir", ask=functools.partial(_folder, options.run_dir))


def _folder(path: str, _deadline: Deadline) -> str:
    """Return a sentence with the free MiB at ``path``, or at its nearest parent folder that exists.

    Raises OSError if the agent cannot write to the folder or cannot create the folder in the parent.
    """
    existing = path
    while not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    if not os.path.isdir(existing):
        raise NotADirectoryError(f"{existing} is not a folder")
    problem = why_not_writable(existing)
    if problem is not None:
        raise OSError(f"{existing} cannot be written: {problem.strerror}")
    space = os.statvfs(existing)
    free = f"{space.f_bavail * space.f_frsize // _MIB} MiB free"
    return f"{path} can be written, {free}" if existing == path else f"{path} does not exist yet, {free}"
