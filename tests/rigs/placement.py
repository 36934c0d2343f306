"""A real Placement to test against, and a plain REST client that shares no code with the agent's client.

Requests of ``Rest`` carry no global request id, and requests of the agent's client always carry one: so the access log
distinguishes the two.
"""

import contextlib
import copy
import functools
import itertools
import os
import subprocess
import sys
import uuid as uuids
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn, cast

import requests
from oslo_config import cfg
from requests.adapters import HTTPAdapter

from agent.config.options import placement as placement_options
from agent.demo.placement import TOKEN, PlacementServer, start_placement, wait_for_port
from agent.placement.http.access import client_from_conf
from agent.placement.http.client import PlacementClient
from agent.placement.http.throttled_session import PacedSession
from agent.ports import ViewRequest
from agent.timing.full_read_schedule import Turn, turn
from tests.rigs import releases
from tests.rigs.programs import FORKED, INSTALLED, start_function
from tests.rigs.wait import until

# The values of tests/rigs/facts.py: an allocation belongs to the project and user of its instance.
PROJECT = "p"
USER = "u"


def new_uuid() -> str:
    """Return a uuid: tests share a server, so each makes its own providers and consumers.

    A host with such a uuid reads more in its tenth audit, and reads everything in its hundredth
    (agent/timing/full_read_schedule.py). With any other uuid the full read could come in any audit. One run in a
    hundred would then send more requests than a test counts.
    """
    random = (str(uuids.uuid4()) for _ in itertools.count())
    return next(uuid for uuid in random if turn(uuid, 100, 10) is Turn.EVERYTHING)


class Rest:
    """A plain client of Placement. Every method but ``request`` fails the test if the server refuses."""

    def __init__(self, server: PlacementServer) -> None:
        self.server = server
        self._session = requests.Session()

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def request(self, method: str, path: str, body: object = None, version: str = "1.36") -> requests.Response:
        """Send one request; the caller checks the status."""
        headers = {"X-Auth-Token": TOKEN, "OpenStack-API-Version": f"placement {version}"}
        return self._session.request(method, self.server.url + path, json=body, headers=headers, timeout=120)

    def done(self, method: str, path: str, body: object = None, version: str = "1.36") -> Any:
        """Send a request; return the decoded answer, None if it has no body."""
        answer = self.request(method, path, body, version)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def make_provider(self, name: str | None = None, parent: str | None = None, uuid: str | None = None) -> str:
        """Make a provider; return its uuid."""
        uuid = uuid or new_uuid()
        body = {"uuid": uuid, "name": name or f"host-{uuid}"}
        self.done("POST", "/resource_providers", body | ({"parent_provider_uuid": parent} if parent else {}))
        return uuid

    def delete_provider(self, uuid: str) -> None:
        """Delete the provider."""
        self.done("DELETE", f"/resource_providers/{uuid}")

    def generation(self, uuid: str) -> int:
        """Return the provider's current generation."""
        return int(self.done("GET", f"/resource_providers/{uuid}")["generation"])

    def set_inventories(self, uuid: str, inventories: dict[str, dict[str, Any]]) -> None:
        """Replace all inventories, whatever the generation is."""
        body = {"resource_provider_generation": self.generation(uuid), "inventories": inventories}
        self.done("PUT", f"/resource_providers/{uuid}/inventories", body)

    def inventories(self, uuid: str) -> dict[str, dict[str, Any]]:
        """Return the inventories by class, as Placement prints them."""
        return dict(self.done("GET", f"/resource_providers/{uuid}/inventories")["inventories"])

    def set_traits(self, uuid: str, *traits: str) -> None:
        """Replace all traits; make custom traits first."""
        for trait in traits:
            if trait.startswith("CUSTOM_"):
                self.done("PUT", f"/traits/{trait}")
        body = {"resource_provider_generation": self.generation(uuid), "traits": traits}
        self.done("PUT", f"/resource_providers/{uuid}/traits", body)

    def traits(self, uuid: str) -> set[str]:
        """Return the provider's traits."""
        return set(self.done("GET", f"/resource_providers/{uuid}/traits")["traits"])

    def set_aggregates(self, uuid: str, *aggregates: str) -> None:
        """Replace all aggregates."""
        body = {"resource_provider_generation": self.generation(uuid), "aggregates": aggregates}
        self.done("PUT", f"/resource_providers/{uuid}/aggregates", body)

    def aggregates(self, uuid: str) -> set[str]:
        """Return the provider's aggregates."""
        return set(self.done("GET", f"/resource_providers/{uuid}/aggregates")["aggregates"])

    def allocate(self, holdings: dict[str, dict[str, int]], consumer: str | None = None) -> str:
        """Replace the consumer's allocations by ``holdings`` (provider to class to amount); return its uuid."""
        consumer = consumer or new_uuid()
        now = self.done("GET", f"/allocations/{consumer}", version="1.28")
        body = {
            "allocations": {provider: {"resources": held} for provider, held in holdings.items()},
            "project_id": PROJECT,
            "user_id": USER,
            "consumer_generation": now.get("consumer_generation"),
        }
        self.done("PUT", f"/allocations/{consumer}", body, version="1.28")
        return consumer

    def release(self, consumer: str) -> None:
        """Delete a consumer's allocations, as nova does for a deleted instance."""
        self.done("DELETE", f"/allocations/{consumer}")

    def log(self) -> list[str]:
        """Return the access log so far: method, path, status, microversion, global request id."""
        return self.server.access_log.read_text().splitlines()

    @contextlib.contextmanager
    def watched(self) -> Iterator[list[str]]:
        """Yield a list; after the block, fill it with ``METHOD path status`` of the agent's requests in the block."""
        seen: list[str] = []
        before = len(self.log())
        yield seen
        # The server logs a request after sending the answer. A last request of this rig proves that all others are
        # logged.
        marker = f"/resource_providers?name={new_uuid()}"
        self.done("GET", marker)
        until(lambda: any(marker in line for line in self.log()[before:]), 60, "the server's log is written")
        lines = [line.split() for line in self.log()[before:]]
        seen.extend(" ".join(words[:3]) for words in lines if words[4] != "-")


@contextlib.contextmanager
def running(folder: Path, connection: str | None = None) -> Iterator[Rest]:
    """Start a server and yield a ``Rest`` for it."""
    server = _started(folder, connection)
    rest = Rest(server)
    try:
        yield rest
    finally:
        rest.close()
        server.stop()


def _started(folder: Path, connection: str | None) -> PlacementServer:
    if (release := releases.chosen()) is not releases.NEWEST:
        return start_placement(folder, connection, python=str(releases.environment(release)))
    return start_placement(folder, connection) if FORKED is INSTALLED else _forked(folder, connection)


def _forked(folder: Path, connection: str | None) -> PlacementServer:
    """Start a server as ``start_placement`` does, in a forked process: to import Placement takes a second of CPU."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "port").unlink(missing_ok=True)
    arguments = ["--folder", str(folder), *(["--connection", connection] if connection else [])]
    main = functools.partial(_serve, arguments)
    process = start_function(main, folder / "placement.log", os.environ, Path.cwd())
    server = cast("subprocess.Popen[bytes]", process)
    try:
        port = wait_for_port(folder, server)
    except BaseException:
        process.kill()
        raise
    return PlacementServer(url=f"http://127.0.0.1:{port}", folder=folder, process=server)


def _serve(arguments: list[str]) -> NoReturn:
    from agent.demo import placement_server

    sys.exit(placement_server.main(arguments))


def register(conf: cfg.ConfigOpts) -> None:
    """Register the group's options with the defaults that the agent uses."""
    options = [copy.copy(opt) for opt in placement_options.OPTS]
    cfg.set_defaults(options, **placement_options.DEFAULTS)
    conf.register_opts(options, group=placement_options.GROUP)


def conf_of(folder: Path, **options: object) -> cfg.ConfigOpts:
    """Return a configuration read from a file whose [placement] holds ``options``."""
    path = folder / f"stocktake-{new_uuid()}.conf"
    path.write_text("[placement]\n" + "".join(f"{name} = {value}\n" for name, value in options.items()))
    conf = cfg.ConfigOpts()
    register(conf)
    conf([], default_config_files=[str(path)])
    return conf


def client_of(folder: Path, url: str, transport: HTTPAdapter | None = None, **options: object) -> PlacementClient:
    """Return the agent's client of the server at ``url``, built from a configuration file as the agent does.

    Its rate control is off unless ``options`` sets it: a test of a failure must not wait for the pause before the next
    request.
    """
    wanted = {"auth_type": "admin_token", "token": TOKEN, "endpoint": url, "longest_pause": 0} | options
    return client_from_conf(conf_of(folder, **wanted), transport=transport)


def _noted(session: PacedSession, *args: Any, **options: Any) -> None:
    _plain_init(session, *args, **options)
    _sessions.add(session)


_sessions: weakref.WeakSet[PacedSession] = weakref.WeakSet()
_plain_init = PacedSession.__init__
PacedSession.__init__ = _noted  # type: ignore[method-assign] # whoever makes a client, and however


def close_clients() -> None:
    """Close the connections of all clients: an unclosed socket causes a warning in a later test."""
    for session in tuple(_sessions):
        session.close()


def looking_at(root: str, **wanted: Any) -> ViewRequest:
    """Return the reader's request of an economical audit."""
    usual: dict[str, Any] = {"root_name": f"host-{root}", "fresh_allocations": False, "consumer_reads": 20}
    return ViewRequest(root_uuid=root, **(usual | wanted))
