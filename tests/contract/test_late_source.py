"""A database that answers one byte a second during a whole audit delays the audit by its own deadline, once."""

import pytest

from agent.audit.run import run_audit
from agent.cmd.waits.caller import DAEMON
from agent.cmd.wiring import wire
from agent.config.build import settings_from
from agent.config.load import load
from agent.model.audit import AuditMemory, AuditRequest
from tests.rigs import mariadb
from tests.rigs.faults import Weather, proxied
from tests.rigs.host import empty_host
from tests.rigs.mariadb import PASSWORD
from tests.rigs.stopwatch import SLACK_S, lap, threads_named

DEADLINE_S = 3.0
BYTE_EVERY_S = 1.0
# The time of all other sources on a busy machine: libvirt's test driver, file systems, a local Placement.
OTHERS_S = 1.5


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if not mariadb.available():
        pytest.skip("MariaDB is not installed (mariadb-server-core)")
    with mariadb.running(tmp_path_factory.mktemp("mariadb")) as running:
        yield running


@pytest.fixture
def proxy(server):
    with proxied(("127.0.0.1", server.port)) as made:
        made.weather, made.delay_s = Weather.TRICKLE, BYTE_EVERY_S
        yield made


@pytest.fixture
def host(tmp_path, placement, proxy):
    made = empty_host(tmp_path, placement)
    url = f"mysql+pymysql://stocktake:{PASSWORD}@127.0.0.1:{proxy.port}/cell"
    made.configure({"agent": {"source_deadline": DEADLINE_S}, "state": {"connection": url}})
    return made


def audits(host, count):
    """Run ``count`` audits in one process; yield the seconds that each took, and its report's sources by name."""
    loaded = load([str(host.config_file)])
    memory = AuditMemory()
    with wire(loaded, DAEMON) as wired:
        for _ in range(count):
            request = AuditRequest(reasons=("test",))
            measured = lap(lambda: run_audit(request, settings_from(loaded), wired.parts, memory, lambda: False))  # noqa: B023
            assert measured.error is None
            memory = measured.answer.memory
            yield measured.took_s, {source.name: source for source in measured.answer.report.sources}


@pytest.mark.parametrize("is_known", [True, False], ids=["of a known host", "of a host that looks for its identity"])
def test_an_audit_ends_in_time_despite_a_slow_nova_database(host, is_known):
    """Nova's database sends one byte a second, but the audit ends in time and reads libvirt and the disks."""
    if not is_known:
        (host.folder / "compute_id").unlink()
    for took_s, sources in audits(host, 3):
        print(f"audit: {took_s:.2f} s, state {sources['state'].duration_ms / 1000:.2f} s")
        assert took_s <= DEADLINE_S + SLACK_S + OTHERS_S
        assert not sources["state"].ok
        assert sources["state"].duration_ms >= (DEADLINE_S - SLACK_S) * 1000
        assert sources["libvirt"].ok
        assert sources["filesystem"].ok
        assert threads_named("reader-state") == 1
