"""An agent's side of a cell that runs: its client, its reader, and what it asked."""

import contextlib
from collections.abc import Iterator

from agent.bus.options import BusOptions
from agent.bus.transport import Bus
from agent.conductor.client import ConductorClient
from agent.conductor.manifest import MANIFEST
from agent.conductor.reader import ConductorState


class NotingClient(ConductorClient):
    """The real client, which also notes (object, method) of every call."""

    def __init__(self, bus, manifest=MANIFEST):
        super().__init__(bus, manifest)
        self.asked = []

    def class_action(self, objname, method, args, kwargs, deadline, **how):
        """As the real one."""
        self.asked.append((objname, method))
        return super().class_action(objname, method, args, kwargs, deadline, **how)


@contextlib.contextmanager
def client_of(options: BusOptions, manifest=MANIFEST) -> Iterator[NotingClient]:
    """A client for a block."""
    client = NotingClient(Bus(options), manifest)
    try:
        yield client
    finally:
        client.close()


@contextlib.contextmanager
def state_of(options: BusOptions) -> Iterator[ConductorState]:
    """A state source for a block."""
    with client_of(options) as client:
        yield ConductorState(client)
