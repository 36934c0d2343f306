"""Probes of Keystone and Placement: the token, the root document, and this host's own provider."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator

from agent.cmd.probes.probe import LIMIT_S, Probe
from agent.config.build import identity_files, settings_from
from agent.config.loaded import Loaded
from agent.model.audit import Identity
from agent.placement.http.access import client_from_conf
from agent.placement.http.client import PlacementClient
from agent.placement.names import ProviderNames
from agent.ports import Deadline


def placement_probes(loaded: Loaded) -> Iterator[Probe]:
    """Yield the three probes. Each has a client of its own, because a client serves one thread only.

    This function builds the clients before the threads of the probes start, because several threads must not register
    oslo.config's options at the same time.
    """
    find, host = identity_files(loaded).find, settings_from(loaded).host
    yield Probe(what="Keystone token", ask=functools.partial(_token, _client(loaded)))
    yield Probe(what="Placement", ask=functools.partial(_root, _client(loaded)))
    yield Probe(what="this host's provider", ask=functools.partial(_provider, _client(loaded), find, host))


def _client(loaded: Loaded) -> PlacementClient:
    return client_from_conf(loaded.conf, pause_at_most_s=0.0, unanswered_at_most_s=LIMIT_S)


def _token(client: PlacementClient, _deadline: Deadline) -> str:
    with contextlib.closing(client):
        keystone = client.ask_for_token()
    return f"a token from {keystone}" if keystone else "the configured auth_type needs no Keystone"


def _root(client: PlacementClient, _deadline: Deadline) -> str:
    with contextlib.closing(client):
        return f"speaks microversions up to {client.maximum()}"


def _provider(client: PlacementClient, find: Callable[[], Identity | None], host: str, _deadline: Deadline) -> str:
    """Return a sentence about this host's provider.

    Placement answers this request only to a valid user, so the answer also proves that the credentials are right.
    """
    identity = find()
    if identity is None:
        with contextlib.closing(client):
            holder = ProviderNames(client).holder(host)
        found = f"has provider {holder.uuid}" if holder else "has no provider"
        audits = "an audit takes the provider's uuid from nova's database, or creates a file with a new uuid"
        return f"Placement {found} named {host}; no compute_id file was found: {audits}"
    with contextlib.closing(client):
        name = ProviderNames(client).name_of(identity.uuid)
    found = f"named {name}" if name is not None else "not in Placement yet"
    return f"{identity.uuid} ({identity.origin}) is {found}"
