"""A session of requests with the product's transport, against real sockets."""

from collections.abc import Iterator

import pytest
import requests

from agent.placement.http.transport import BoundedAdapter


@pytest.fixture
def session() -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", BoundedAdapter())
        yield session
