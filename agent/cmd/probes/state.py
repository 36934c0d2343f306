"""Probe the source of the cloud's state: read this host's whole state from the source, as an audit does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from agent.cmd.probes.probe import Probe
from agent.cmd.wiring import cloud_of
from agent.config.loaded import Loaded
from agent.config.options.state import state_options_from
from agent.model.nova import NovaState, StateKind
from agent.ports import Deadline


def state_probes(loaded: Loaded) -> Iterator[Probe]:
    """Yield a probe of the configured source of nova's rows.

    The source is nova-conductor or nova's database. Yield nothing if no source is configured.
    """
    kind = state_options_from(loaded).kind
    if kind is not StateKind.NONE:
        yield Probe(what=f"state source ({kind.value})", ask=lambda deadline: _state(loaded, deadline))


def _state(loaded: Loaded, deadline: Deadline) -> str:
    host = loaded.value("DEFAULT", "host")
    with contextlib.ExitStack() as resources:
        cloud = cloud_of(loaded, resources)
        return f"{_words(cloud.state.read(host, frozenset(), deadline))} ({cloud.shown})"


def _words(state: NovaState) -> str:
    nodes = sum(not node.deleted and node.host == state.host for node in state.nodes)
    instances = sum(instance.host == state.host and not instance.deleted for instance in state.instances)
    records = "record" if nodes == 1 else "records"
    return f"host {state.host} has {instances} instances and {nodes} compute node {records}"
