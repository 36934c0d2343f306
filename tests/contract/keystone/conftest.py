"""One Keystone with its Placement for all of this folder's tests; who changes an account or a region makes its own.

Every module is of the xdist group ``keystone``: a second worker would start a second Keystone.
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
    """A user that may do what nova's may: role service on a project of its own. For tests that leave it as it is."""
    return cloud.identity.make_account()


@pytest.fixture
def own_account(cloud: Cloud) -> Account:
    """The same, for one test alone."""
    return cloud.identity.make_account()


@pytest.fixture
def client_with(tmp_path) -> Callable[..., PlacementClient]:
    """Our client, from a configuration file with these options in [placement]; a busy machine does not slow it down."""
    return lambda **options: client_from_conf(conf_of(tmp_path, **({"longest_pause": 0} | options)))
