"""One Keystone with its Placement for all tests of this folder.

A test that changes an account or a region makes its own. Every module is in the xdist group ``keystone``: otherwise a
second worker would start a second Keystone.
"""

from collections.abc import Callable, Iterator

import pytest

from agent.placement.http.access import client_from_conf
from agent.placement.http.client import PlacementClient
from tests.rigs import keystone, mariadb
from tests.rigs.keystone import Account, Cloud
from tests.rigs.placement import conf_of


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    if not mariadb.available():
        pytest.skip("MariaDB is not installed (Debian: mariadb-server-core)")
    with keystone.running(tmp_path_factory.mktemp("keystone")) as running:
        yield running


@pytest.fixture(scope="session")
def account(cloud: Cloud) -> Account:
    """A user with the rights of nova's user: role service on its own project. For tests that do not change the user."""
    return cloud.identity.make_account()


@pytest.fixture
def own_account(cloud: Cloud) -> Account:
    """A user with the same rights, for one test alone."""
    return cloud.identity.make_account()


@pytest.fixture
def client_with(tmp_path) -> Callable[..., PlacementClient]:
    """Return a function that makes the agent's client from these [placement] options.

    Pauses are off by default, so that a busy machine does not slow the client down.
    """
    return lambda **options: client_from_conf(conf_of(tmp_path, **({"longest_pause": 0} | options)))
