"""A start with a broken source: the daemon reports a degraded mode and recovers, or exits with the right code.

The daemon recovers by itself: the tests send no signal, and the interval is off.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import sqlalchemy

from agent.demo import cell
from agent.model.nova import Service
from tests.rigs import heart
from tests.rigs import lvm as lvm_rigs
from tests.rigs import mariadb as mariadbs
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import NOW, uuid
from tests.rigs.faults import TcpProxy, Weather, proxied
from tests.rigs.host import PATIENCE_S, STOP_S, AgentHost, Daemon, host_on
from tests.rigs.libvirtd import PrivateLibvirtd, libvirtd_program, private_libvirtd
from tests.rigs.placement import Rest
from tests.rigs.wait import until

RECOVERY_S = PATIENCE_S
needs_libvirtd = pytest.mark.skipif(libvirtd_program() is None, reason="libvirtd is not installed")


@pytest.fixture
def host(tmp_path: Path, placement: Rest) -> AgentHost:
    """A host with 4 CPUs and one guest of 2 vCPUs, which is an instance of the cell."""
    made = host_on(
        tmp_path,
        placement.server.url,
        options={"DEFAULT": {"update_resources_interval": -1}},
    )
    guest = domain_xml("i1", domain_uuid=uuid("i1"), vcpus=2, memory_mib=256)
    (tmp_path / "node.xml").write_text(node_xml(cpus=4, memory_mib=4096, domains=[guest]))
    made.configure()
    made.make_cell(made.instance("i1")).dispose()
    return made


def classes(placement: Rest, host: AgentHost) -> set[str]:
    """Return the classes in Placement's inventory of this host; none if the provider does not exist."""
    answer = placement.request("GET", f"/resource_providers/{host.provider_uuid}/inventories")
    return set(answer.json()["inventories"]) if answer.ok else set()


def unread(report: dict) -> list[str]:
    return [source["name"] for source in report["audit"]["sources"] if not source["ok"]]


def assert_ends(daemon: Daemon) -> None:
    daemon.send(signal.SIGTERM)
    assert daemon.ended(STOP_S) == 0, daemon.text()
    assert "Traceback" not in daemon.text()


# Each context manager breaks one part before the start. It yields the source that cannot be read, the classes that the
# agent publishes nevertheless, and a function that repairs the part.

Broken = tuple[str, set[str], Callable[[], object]]


@contextlib.contextmanager
def no_libvirt(host: AgentHost) -> Iterator[Broken]:
    node = host.folder / "node.xml"
    away = node.rename(host.folder / "away.xml")
    yield "libvirt", set(), lambda: away.rename(node)


@contextlib.contextmanager
def no_placement(host: AgentHost, weather: Weather = Weather.CLOSED) -> Iterator[Broken]:
    target = host.placement_url.removeprefix("http://").split(":")
    with proxied((target[0], int(target[1])), weather) as proxy:
        host.configure({"placement": {"endpoint_override": proxy.url}})
        yield "placement", set(), lambda: _fair(proxy)


def silent_placement(host: AgentHost) -> AbstractContextManager[Broken]:
    """Let Placement accept connections and never answer."""
    return no_placement(host, Weather.SILENT)


@contextlib.contextmanager
def no_database_file(host: AgentHost) -> Iterator[Broken]:
    away = host.cell_path.rename(host.folder / "away.sqlite")
    yield "state", {"VCPU", "MEMORY_MB", "DISK_GB"}, lambda: away.rename(host.cell_path)


@contextlib.contextmanager
def empty_lvm(host: AgentHost) -> Iterator[Broken]:
    """Let lvm2 exit with 0 and report nothing, as it does without privileges."""
    with contextlib.closing(lvm_rigs.make_group(host.folder, "vg0", 2 << 30)) as group:
        configuration = host.folder / "view" / "lvm.conf"
        lvm_rigs.view(host.folder / "view")
        host.environment = {"LVM_SYSTEM_DIR": str(configuration.parent)}
        host.options["libvirt"] = {"images_type": "lvm", "images_volume_group": "vg0"}
        host.configure()
        yield "lvm", {"VCPU", "MEMORY_MB"}, lambda: lvm_rigs.view(configuration.parent, group)


def _fair(proxy: TcpProxy) -> None:
    proxy.weather = Weather.FAIR


@pytest.mark.parametrize(
    "broken",
    [
        no_libvirt,
        no_placement,
        no_database_file,
        pytest.param(empty_lvm, marks=pytest.mark.root),
    ],
    ids=lambda broken: broken.__name__,
)
def test_the_daemon_starts_without_one_of_its_sources(
    placement, host, broken: Callable[[AgentHost], AbstractContextManager[Broken]]
):
    """One source is unreadable: libvirt, Placement, nova's database or LVM.

    The daemon starts, and publishes all inventories later.
    """
    with broken(host) as (source, published, mend), host.daemon() as daemon:
        report = daemon.first_audit()
        assert report["audit"]["outcome"] == "partial"
        assert unread(report) == [source]
        assert "source lost" in daemon.text()
        assert classes(placement, host) == published
        mend()
        while report["audit"]["outcome"] == "partial":
            report = daemon.audit_after(report, RECOVERY_S)
        assert unread(report) == []
        until(lambda: classes(placement, host) == {"VCPU", "MEMORY_MB", "DISK_GB"}, RECOVERY_S, "all is published")
        until(lambda: "source back" in daemon.text(), RECOVERY_S, "source back")
        assert_ends(daemon)


@pytest.mark.parametrize(
    "broken",
    [no_libvirt, no_placement, silent_placement, no_database_file, pytest.param(empty_lvm, marks=pytest.mark.root)],
    ids=lambda broken: broken.__name__,
)
def test_sigterm_ends_the_daemon_without_one_of_its_sources(host, broken):
    """libvirt, Placement, nova's database or LVM is down; SIGTERM still ends the daemon in time with exit code 0."""
    with broken(host), host.daemon() as daemon:
        until(lambda: "agent started" in daemon.text(), RECOVERY_S, "started")
        if broken is not silent_placement:  # with silent_placement the first audit still waits for an answer
            daemon.first_audit()
        assert_ends(daemon)


# libvirtd as a process: absent at first, and frozen.


@pytest.fixture
def libvirtd(host: AgentHost) -> Iterator[PrivateLibvirtd]:
    with private_libvirtd() as daemon:
        host.libvirt_uri = daemon.uri
        host.configure()
        yield daemon


@needs_libvirtd
def test_the_daemon_publishes_after_libvirtd_has_started(placement, host, libvirtd):
    """The daemon starts while libvirtd is down, and publishes the host's inventory after libvirtd has started."""
    libvirtd.kill()
    with host.daemon() as daemon:
        report = daemon.first_audit()
        assert (unread(report), classes(placement, host)) == (["libvirt"], set())
        libvirtd.start()
        until(lambda: classes(placement, host) == {"VCPU", "MEMORY_MB", "DISK_GB"}, RECOVERY_S, "published")
        assert_ends(daemon)


@needs_libvirtd
@pytest.mark.parametrize("frozen", ["before the start", "after the first audit"])
def test_sigterm_ends_the_daemon_while_libvirtd_is_frozen(host, libvirtd, frozen):
    """libvirtd does not answer, so an audit of the daemon hangs; SIGTERM still ends the daemon in time."""
    if frozen == "before the start":
        libvirtd.freeze()
    with host.daemon() as daemon:
        until(lambda: "agent started" in daemon.text(), RECOVERY_S, "started")
        if frozen == "after the first audit":
            daemon.first_audit()
            until(lambda: "libvirt events connected" in daemon.text(), RECOVERY_S, "events")
            libvirtd.freeze()
            daemon.send(signal.SIGUSR1)
        until(lambda: _is_reading(daemon), RECOVERY_S, "the audit is inside a call that does not return")
        assert_ends(daemon)


@needs_libvirtd
def test_the_daemon_reports_that_libvirtd_does_not_answer(placement, host, libvirtd):
    """If libvirtd does not answer, the daemon reports an error. It publishes the inventory when libvirtd answers."""
    libvirtd.freeze()
    host.configure({"agent": {"source_deadline": 3}})
    with host.daemon() as daemon:
        report = daemon.first_audit()
        assert unread(report) == ["libvirt"]
        (told,) = [s["error"] for s in report["audit"]["sources"] if s["name"] == "libvirt"]
        assert libvirtd.uri in told
        assert classes(placement, host) == set()
        libvirtd.thaw()
        until(lambda: classes(placement, host) == {"VCPU", "MEMORY_MB", "DISK_GB"}, RECOVERY_S, "published")
        assert_ends(daemon)


def _is_reading(daemon: Daemon) -> bool:
    """Return whether the reader's thread is in libvirt, according to the daemon's own dump of its threads."""
    so_far = len(daemon.text())
    daemon.send(signal.SIGUSR2)
    until(lambda: "state dump" in daemon.text()[so_far:], RECOVERY_S, "a dump")
    return "sources/libvirt/host.py" in daemon.text()[so_far:]


# The database as a server, and wrong rows.


@pytest.mark.skipif(not mariadbs.available(), reason="MariaDB is not installed (mariadb-server-core)")
def test_the_daemon_reads_a_database_that_starts_late(placement, host, tmp_path):
    """nova's database starts after the daemon; the daemon then reads the database, and never logs its password."""
    with mariadbs.running(tmp_path / "mariadb") as server, proxied(("127.0.0.1", server.port), Weather.CLOSED) as proxy:
        url = server.create_database("nova_cell1")
        _fill(url, host)
        through = url.replace(f":{server.port}/", f":{proxy.port}/")
        host.configure({"state": {"connection": through}, "DEFAULT": {"debug": True}})
        with host.daemon() as daemon:
            report = daemon.first_audit()
            assert unread(report) == ["state"]
            assert classes(placement, host) == {"VCPU", "MEMORY_MB", "DISK_GB"}
            proxy.weather = Weather.FAIR
            while unread(report):
                report = daemon.audit_after(report, RECOVERY_S)
            proxy.weather = Weather.SILENT  # from now on the database hangs
            proxy.drop_all()
            daemon.send(signal.SIGUSR1)
            assert_ends(daemon)
    assert mariadbs.PASSWORD not in daemon.text() + host.report_file.read_text()
    assert f"127.0.0.1:{proxy.port}" in daemon.text()


def _fill(url: str, host: AgentHost) -> None:
    engine = sqlalchemy.create_engine(url)
    cell.create_tables(engine)
    with engine.begin() as connection:
        cell.add_compute_node(connection, host.node_row())
        cell.add_instance(connection, host.instance("i1"))
    engine.dispose()
    heart.keep(url)


def test_an_unreadable_instance_row_is_reported_until_repaired(placement, host):
    """An instance's flavor in nova's database is garbage; the daemon reports the instance until the row is repaired."""
    with host.rows() as connection:
        good = connection.execute(sqlalchemy.text("SELECT flavor FROM instance_extra")).scalar()
        cell.set_columns(connection, "instance_extra", {"instance_uuid": uuid("i1")}, flavor="{")
    with host.daemon() as daemon:
        report = daemon.first_audit()
        (told,) = [f["actual"] for f in report["audit"]["findings"] if f["code"] == "state-row-unreadable"]
        assert uuid("i1") in told
        assert classes(placement, host) == {"VCPU", "MEMORY_MB", "DISK_GB"}
        assert placement.inventories(host.provider_uuid)["VCPU"]["reserved"] == 0
        with host.rows() as connection:
            cell.set_columns(connection, "instance_extra", {"instance_uuid": uuid("i1")}, flavor=good)
        report = daemon.audit_now()
        assert "state-row-unreadable" not in {f["code"] for f in report["audit"]["findings"]}
        assert_ends(daemon)


@pytest.mark.parametrize("daemon", [(), ("--once",)], ids=["daemon", "once"])
def test_the_agent_exits_78_for_an_invalid_compute_node_uuid(placement, host, daemon):
    """The host's compute_nodes row in nova's database has an invalid uuid; the agent prints it and exits with 78."""
    (host.folder / "compute_id").unlink()
    with host.rows() as connection:
        cell.set_columns(connection, "compute_nodes", {"id": 1}, uuid="no-uuid")
    ended = host.agent(*daemon)
    assert ended.code == 78
    assert "compute_nodes id 1: uuid 'no-uuid' is not a uuid" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert classes(placement, host) == set()


@pytest.mark.parametrize("daemon", [(), ("--once",)], ids=["daemon", "once"])
def test_the_agent_exits_78_if_its_compute_node_uuid_is_lost(host, daemon):
    """A host with a nova service has lost its compute_id file and compute_nodes row; the agent exits with 78."""
    (host.folder / "compute_id").unlink()
    with host.rows() as connection:
        cell.remove_rows(connection, "compute_nodes", {"id": 1})
        service = Service(id=1, version=74, disabled=False, forced_down=False, last_seen_up=NOW, created_at=NOW)
        cell.add_service(connection, host.name, service)
    ended = host.agent(*daemon)
    assert (ended.code, "Traceback" in ended.stderr) == (78, False)
    assert "compute_id" in ended.stderr


@pytest.mark.parametrize("daemon", [(), ("--once",)], ids=["daemon", "once"])
def test_the_agent_exits_78_if_state_dir_is_a_file(host, daemon):
    """The path in [agent] state_dir is a file instead of a folder; the agent prints the option and exits with 78."""
    shutil.rmtree(host.folder / "state")
    (host.folder / "state").touch()
    ended = host.agent(*daemon)
    assert ended.code == 78
    assert f"[agent] state_dir = {os.fspath(host.folder / 'state')}" in ended.stderr
