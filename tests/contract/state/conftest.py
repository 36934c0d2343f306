"""The databases of a cell: SQLite and MariaDB, with the schema file's tables or those of nova's own migrations."""

import itertools

import pytest
import sqlalchemy

from agent.demo import cell
from tests.rigs import mariadb as mariadb_rig
from tests.rigs.nova_env import nova_python
from tools.make_cell_schema import run_migrations

_numbers = itertools.count()


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory):
    """One private server for all tests of this folder that do not damage it."""
    if not mariadb_rig.available():
        pytest.skip("MariaDB is not installed (mariadb-server-core)")
    with mariadb_rig.running(tmp_path_factory.mktemp("mariadb")) as server:
        yield server


@pytest.fixture(params=["sqlite", "mariadb"])
def cell_url(request, tmp_path):
    """An empty cell database of each kind, with the tables of the schema file."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'cell.db'}"
    else:
        url = request.getfixturevalue("mariadb").create_database(f"cell{next(_numbers)}")
    engine = sqlalchemy.create_engine(url)
    cell.create_tables(engine)
    engine.dispose()
    return url


@pytest.fixture(params=["sqlite", "mariadb"])
def nova_cell_url(request, tmp_path):
    """An empty cell database made by nova's own migrations."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'nova.db'}"
    else:
        url = request.getfixturevalue("mariadb").create_database(f"nova{next(_numbers)}")
    run_migrations(nova_python(), url, tmp_path)
    return url
