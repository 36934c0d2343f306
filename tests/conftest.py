"""Keep eventlet out and choose the threading backend before anything of oslo is imported.

docs/contributor/architecture.md says why.
"""

import ast
import functools
import os
import pathlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

sys.modules["eventlet"] = None  # type: ignore[assignment]
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

# A shell that puts a run into the background lets it ignore these, and so all that it starts: no test of ours would
# see the daemon or a command end by them.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# readline, which pytest imports, exports the size of a terminal, and every command would wrap its text. The other two
# variables decide about colours.
for variable in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"):
    os.environ.pop(variable, None)

# CPython before 3.11.5 counts the depth of an AST conversion in a global variable, so that two threads that parse at
# once raise SystemError (gh-106905). A thread parses when it logs a traceback, and tests of the structure parse often.
_parse, _parsing = ast.parse, threading.RLock()


@functools.wraps(_parse)
def parse_alone(*arguments: object, **options: object) -> ast.AST:
    """Parse as ast.parse does, in one thread at a time."""
    with _parsing:
        return _parse(*arguments, **options)  # type: ignore[call-overload]


ast.parse = parse_alone

import pytest  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

from agent.backend import choose_threads  # noqa: E402

choose_threads()

from agent.demo import cell  # noqa: E402
from tests.rigs import browser, heart, nova_env, releases  # noqa: E402
from tests.rigs.groups import pytest_collection_modifyitems  # noqa: E402, F401 - pytest finds the hook here
from tests.rigs.placement import Rest, close_clients, running  # noqa: E402

if TYPE_CHECKING:
    from tests.rigs.conductor import Cell

# The tables of a cell database are those of the release that the run is about.
if releases.chosen() is not releases.NEWEST:
    cell.SCHEMA = nova_env.cell_schema(releases.chosen())
    # nova-conductor refuses to start if the oldest service of the cell is newer than itself.
    cell.HEART_VERSION = releases.chosen().service_version

# `ci` gives the same examples each time; `deep` looks further, by hand. A busy
# machine is slow without any fault of ours, so no example has a deadline.
settings.register_profile(
    "ci", derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "deep", max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(scope="module")
def placement(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    """A real Placement for the tests of one module: each takes a provider name of its own."""
    with running(tmp_path_factory.mktemp("placement")) as rest:
        yield rest


@pytest.fixture(scope="module")
def started() -> Iterator[object]:
    """Debian's Chromium for the tests of one module; the tests skip without one."""
    with browser.browser() as found:
        yield found


@pytest.fixture(scope="session")
def conductor_cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Cell"]:
    """A cell with the released nova-conductor, for the xdist group ``conductor``: half a minute to start.

    Each test empties it first; one that kills a part of it brings the part back.
    """
    from tests.rigs import conductor

    if (reason := conductor.missing()) is not None:
        pytest.skip(reason)
    with conductor.running(tmp_path_factory.mktemp("cell")) as cell:
        yield cell


@pytest.fixture(autouse=True)
def ended_heartbeats() -> Iterator[None]:
    """The heartbeats that a test starts end with the test; those of fixtures with a wider scope go on."""
    before = heart.kept()
    yield
    for url in heart.kept() - before:
        heart.forget(url)


@pytest.fixture(autouse=True)
def closed_clients() -> Iterator[None]:
    """No connection of a test's clients is left to the next one."""
    yield
    close_clients()
