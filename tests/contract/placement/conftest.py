"""One real Placement on SQLite for all of this folder's tests in one process; tests make their own providers."""

from collections.abc import Iterator

import pytest

from agent.placement.http.client import PlacementClient
from tests.rigs.placement import Rest, client_of, running


@pytest.fixture(scope="session")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    with running(tmp_path_factory.mktemp("placement")) as rest:
        yield rest


@pytest.fixture
def client(rest: Rest, tmp_path) -> PlacementClient:
    """The agent's client, which has already asked for the server's versions."""
    client = client_of(tmp_path, rest.server.url)
    client.maximum()
    return client
