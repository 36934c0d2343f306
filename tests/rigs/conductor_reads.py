"""An agent's side of a running cell: its client, its reader, and a record of the client's calls."""

import contextlib
from collections.abc import Iterator

from agent.bus.options import BusOptions
from agent.bus.transport import Bus
from agent.conductor.client import ConductorClient
from agent.conductor.manifest import MANIFEST
from agent.conductor.reader import ConductorState


class NotingClient(ConductorClient):
    """The real client, which also records (object, method) of every call."""

    def __init__(self, bus, manifest=MANIFEST):
        super().__init__(bus, manifest)
        self.asked = []

    def class_action(self, objname, method, args, kwargs, deadline, **how):
        """Record the call and make it as the real client does."""
        self.asked.append((objname, method))
        return super().class_action(objname, method, args, kwargs, deadline, **how)


@contextlib.contextmanager
def client_of(options: BusOptions, manifest=MANIFEST) -> Iterator[NotingClient]:
    """Yield a client and close it after the block."""
    client = NotingClient(Bus(options), manifest)
    try:
        yield client
    finally:
        client.close()


@contextlib.contextmanager
def state_of(options: BusOptions) -> Iterator[ConductorState]:
    """Yield a state source and close its client after the block."""
    with client_of(options) as client:
        yield ConductorState(client)
