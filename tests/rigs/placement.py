"""A real Placement to test against, and a plain REST client that shares nothing with ours.

What ``Rest`` sends carries no global request id and what our client sends always
does: that is how the access log tells the two apart.
"""

import contextlib
import copy
import itertools
import uuid as uuids
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import requests
from oslo_config import cfg
from requests.adapters import HTTPAdapter

from agent.config.options import placement as placement_options
from agent.demo.placement import TOKEN, PlacementServer, start_placement
from agent.placement.http.access import client_from_conf
from agent.placement.http.client import CountingSession, PlacementClient
from agent.ports import ViewRequest
from agent.timing.full_read_schedule import Turn, turn
from tests.rigs.wait import until

# Those of tests/rigs/facts: an allocation is of the project and user of its instance.
PROJECT = "p"
USER = "u"


def new_uuid() -> str:
    """Tests share a server, so each makes its own providers and consumers.

    A host of that uuid has its turn to read more with its tenth audit, and with its hundredth to read everything
    (agent/timing/full_read_schedule.py): where the turn came with any audit, one run in a hundred would ask more than
    a test counts.
    """
    random = (str(uuids.uuid4()) for _ in itertools.count())
    return next(uuid for uuid in random if turn(uuid, 100, 10) is Turn.EVERYTHING)


class Rest:
    """Placement by hand. Every method fails the test when the server refuses, but for ``request``."""

    def __init__(self, server: PlacementServer) -> None:
        self.server = server
        self._session = requests.Session()

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def request(self, method: str, path: str, body: object = None, version: str = "1.36") -> requests.Response:
        """One request with the status left to the caller."""
        headers = {"X-Auth-Token": TOKEN, "OpenStack-API-Version": f"placement {version}"}
        return self._session.request(method, self.server.url + path, json=body, headers=headers, timeout=120)

    def done(self, method: str, path: str, body: object = None, version: str = "1.36") -> Any:
        """The decoded answer, None where it has no body."""
        answer = self.request(method, path, body, version)
        assert answer.ok, f"{method} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    def make_provider(self, name: str | None = None, parent: str | None = None, uuid: str | None = None) -> str:
        """A new provider's uuid."""
        uuid = uuid or new_uuid()
        body = {"uuid": uuid, "name": name or f"host-{uuid}"}
        self.done("POST", "/resource_providers", body | ({"parent_provider_uuid": parent} if parent else {}))
        return uuid

    def delete_provider(self, uuid: str) -> None:
        """Delete it."""
        self.done("DELETE", f"/resource_providers/{uuid}")

    def generation(self, uuid: str) -> int:
        """Its generation now."""
        return int(self.done("GET", f"/resource_providers/{uuid}")["generation"])

    def set_inventories(self, uuid: str, inventories: dict[str, dict[str, Any]]) -> None:
        """Replace the whole set, whatever the generation is."""
        body = {"resource_provider_generation": self.generation(uuid), "inventories": inventories}
        self.done("PUT", f"/resource_providers/{uuid}/inventories", body)

    def inventories(self, uuid: str) -> dict[str, dict[str, Any]]:
        """Class to record, as Placement prints them."""
        return dict(self.done("GET", f"/resource_providers/{uuid}/inventories")["inventories"])

    def set_traits(self, uuid: str, *traits: str) -> None:
        """Replace the whole set; custom ones are made first."""
        for trait in traits:
            if trait.startswith("CUSTOM_"):
                self.done("PUT", f"/traits/{trait}")
        body = {"resource_provider_generation": self.generation(uuid), "traits": traits}
        self.done("PUT", f"/resource_providers/{uuid}/traits", body)

    def traits(self, uuid: str) -> set[str]:
        """Its traits."""
        return set(self.done("GET", f"/resource_providers/{uuid}/traits")["traits"])

    def set_aggregates(self, uuid: str, *aggregates: str) -> None:
        """Replace the whole set."""
        body = {"resource_provider_generation": self.generation(uuid), "aggregates": aggregates}
        self.done("PUT", f"/resource_providers/{uuid}/aggregates", body)

    def aggregates(self, uuid: str) -> set[str]:
        """Its aggregates."""
        return set(self.done("GET", f"/resource_providers/{uuid}/aggregates")["aggregates"])

    def allocate(self, holdings: dict[str, dict[str, int]], consumer: str | None = None) -> str:
        """``holdings``: provider to class to amount, all that the consumer then holds. The consumer's uuid."""
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
        """As nova deletes an instance's allocations."""
        self.done("DELETE", f"/allocations/{consumer}")

    def log(self) -> list[str]:
        """The access log so far: method, path, status, microversion, global request id."""
        return self.server.access_log.read_text().splitlines()

    @contextlib.contextmanager
    def watched(self) -> Iterator[list[str]]:
        """Fills the list, at the end of the block, with ``METHOD path status`` of what our client sent in it."""
        seen: list[str] = []
        before = len(self.log())
        yield seen
        # A line is written after its answer was sent: one request of our own, last, says that the others are in.
        marker = f"/resource_providers?name={new_uuid()}"
        self.done("GET", marker)
        until(lambda: any(marker in line for line in self.log()[before:]), 60, "the server's log is written")
        lines = [line.split() for line in self.log()[before:]]
        seen.extend(" ".join(words[:3]) for words in lines if words[4] != "-")


@contextlib.contextmanager
def running(folder: Path, connection: str | None = None) -> Iterator[Rest]:
    """A server for a block, seen through a ``Rest``."""
    server = start_placement(folder, connection)
    rest = Rest(server)
    try:
        yield rest
    finally:
        rest.close()
        server.stop()


def register(conf: cfg.ConfigOpts) -> None:
    """The group's options with their defaults, as the agent has them."""
    options = [copy.copy(opt) for opt in placement_options.OPTS]
    cfg.set_defaults(options, **placement_options.DEFAULTS)
    conf.register_opts(options, group=placement_options.GROUP)


def conf_of(folder: Path, **options: object) -> cfg.ConfigOpts:
    """A configuration read from a file whose [placement] holds ``options``."""
    path = folder / f"stocktake-{new_uuid()}.conf"
    path.write_text("[placement]\n" + "".join(f"{name} = {value}\n" for name, value in options.items()))
    conf = cfg.ConfigOpts()
    register(conf)
    conf([], default_config_files=[str(path)])
    return conf


def client_of(folder: Path, url: str, transport: HTTPAdapter | None = None, **options: object) -> PlacementClient:
    """Our client of the server at ``url``, built from a configuration file as the agent does it.

    It has no manners unless ``options`` has them: a test of a failure is not to wait for what the next one is spared.
    """
    wanted = {"auth_type": "admin_token", "token": TOKEN, "endpoint": url, "longest_pause": 0} | options
    return client_from_conf(conf_of(folder, **wanted), transport=transport)


def _noted(session: CountingSession) -> None:
    _plain_init(session)
    _sessions.add(session)


_sessions: weakref.WeakSet[CountingSession] = weakref.WeakSet()
_plain_init = CountingSession.__init__
CountingSession.__init__ = _noted  # type: ignore[method-assign] # whoever makes a client, and however


def close_clients() -> None:
    """Close what clients keep, all that there are: a socket that nobody closes is a warning in a later test."""
    for session in tuple(_sessions):
        session.close()


def looking_at(root: str, **wanted: Any) -> ViewRequest:
    """What an economical audit asks of the reader."""
    usual: dict[str, Any] = {"root_name": f"host-{root}", "fresh_allocations": False, "consumer_reads": 20}
    return ViewRequest(root_uuid=root, **(usual | wanted))
