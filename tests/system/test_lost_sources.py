"""Findings of a running daemon while MariaDB, libvirtd or lvm2 is away: unknown exactly if they rest on what is unread.

One daemon with real servers has findings of many codes. STOCKTAKE_LOST_SOURCES=all also makes the losses that the
suite leaves out for their time.
"""

from __future__ import annotations

import contextlib
import datetime
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy

from agent.demo import cell
from agent.demo.volume_group import VolumeGroupRig
from tests.rigs import heart, lvm, mariadb
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import FLAVOR_A, uuid
from tests.rigs.host import PATIENCE_S, AgentHost, Daemon, host_on
from tests.rigs.libvirtd import PrivateLibvirtd, libvirtd_program, private_libvirtd
from tests.rigs.mariadb import MariaDb
from tests.rigs.outages import Watcher, by_id, metrics_address, unread
from tests.rigs.placement import PROJECT, Rest, new_uuid
from tests.rigs.wait import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not mariadb.available(), reason="MariaDB is not installed (mariadb-server-core)"),
    pytest.mark.skipif(libvirtd_program() is None, reason="libvirtd is not installed (libvirt-daemon-system)"),
]

LONG_AGO = datetime.datetime(2026, 1, 1)  # noqa: DTZ001 - the database's times are naive UTC
WITH_GUEST = ("fine", "large", "stopped", "deleted", "less", "unrecorded", "spread")
HELD = {"VCPU": FLAVOR_A.vcpus, "MEMORY_MB": FLAVOR_A.memory_mib, "DISK_GB": FLAVOR_A.root_gib}
GIB = 1 << 30
#: A source that hangs costs each audit this many seconds.
DEADLINE_S = 2
# While libvirt is unread, a guest may need these allocations, so no audit can say that the finding is gone.
OF_NO_GUEST = {"allocation-leaked", "allocation-stale-move", "consumer-unknown", "migration-finished-but-counted"}
CODES = {
    *OF_NO_GUEST - {"migration-finished-but-counted"},
    *("allocation-differs", "allocation-missing", "consumer-on-several-providers", "consumer-project-differs"),
    *("guest-missing", "guest-power-state-differs", "guest-running-deleted", "guest-size-differs", "guest-unknown"),
    "state-row-unreadable",
    *("over-capacity", "provider-config-unmatched", "volume-foreign", "volume-group-missing", "volume-orphaned"),
}
# The real program, unless a file in its folder says what goes wrong.
LVM_PROGRAM = """test -e {folder}/hangs && exec sleep 600
test -e {folder}/broken && { echo "no metadata" >&2; exit 5; }
PATH={path} exec {name} "$@"
"""


@dataclass
class Stage:
    """The daemon, and the servers that the test takes away from it."""

    host: AgentHost
    daemon: Daemon
    database: MariaDb
    libvirtd: PrivateLibvirtd
    programs: Path
    metrics: str
    seen: dict[str, dict[str, Any]] = field(default_factory=dict)

    def losses(self) -> dict[str, tuple[str, Callable[[], object], Callable[[], object]]]:
        """Return, for each loss, the lost source and the functions that begin and end the loss."""
        hangs, broken = self.programs / "hangs", self.programs / "broken"
        return {
            "MariaDB killed": ("state", self.database.kill, self.database.start),
            "MariaDB frozen": ("state", self.database.pause, self.database.resume),
            "libvirtd frozen": ("libvirt", self.libvirtd.freeze, self.libvirtd.thaw),
            "libvirtd killed": ("libvirt", self.libvirtd.kill, self.libvirtd.start),
            "lvm2 hangs": ("lvm", hangs.touch, hangs.unlink),
            "lvm2 fails": ("lvm", broken.touch, broken.unlink),
        }


LOSSES = ("MariaDB killed", "libvirtd frozen", "lvm2 hangs")
MORE_LOSSES = ("MariaDB frozen", "libvirtd killed", "lvm2 fails")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory, placement: Rest) -> Iterator[Stage]:
    """A daemon that has confirmed a finding of each of ``CODES``."""
    folder = tmp_path_factory.mktemp("lost-sources")
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(mariadb.running(folder / "mariadb"))
        libvirtd = stack.enter_context(private_libvirtd(node_xml(cpus=8, memory_mib=4096, domains=guests())))
        group = stack.enter_context(contextlib.closing(lvm.make_group(folder, f"lost{os.getpid()}", 8 * GIB)))
        for name in ("by-hand", f"{uuid('nobody')}_disk"):
            group.add_volume(name, GIB)
        url, metrics = database.create_database("cell"), metrics_address()
        host = made_host(
            folder, placement, libvirtd, group, {"state": {"connection": url}, "metrics": {"uri": metrics}}
        )
        plant_rows(host, url)
        stack.callback(heart.forget, url)
        plant_allocations(host, placement)
        daemon = stack.enter_context(host.daemon())
        made = Stage(host, daemon, database, libvirtd, folder / "bin", metrics)
        daemon.settled()
        until(lambda: is_confirmed(made), 30, f"confirmed findings of {sorted(CODES)}")
        yield made


def is_confirmed(stage: Stage) -> bool:
    """Run an audit; return whether it confirmed a finding of each code, and note these findings."""
    found = by_id(stage.daemon.audit_now())
    stage.seen = {id_: f for id_, f in found.items() if f["code"] in CODES and f["state"] == "confirmed"}
    return {f["code"] for f in stage.seen.values()} == CODES and len(stage.seen) == sum(
        f["code"] in CODES for f in found.values()
    )


def guests() -> list[str]:
    """Return the guests of libvirt: one in order, one too large, one stopped in nova, one deleted, one unknown."""
    usual = {"memory_mib": FLAVOR_A.memory_mib, "vcpus": FLAVOR_A.vcpus}
    named = {name: {**usual, "domain_uuid": uuid(name)} for name in WITH_GUEST}
    named["large"]["vcpus"] = 3
    return [domain_xml(name, **about) for name, about in {**named, "stranger": usual}.items()]  # type: ignore[arg-type]


def made_host(
    folder: Path, placement: Rest, libvirtd: PrivateLibvirtd, group: VolumeGroupRig, more: dict[str, dict[str, object]]
) -> AgentHost:
    """Return the host with its configuration, provider and lvm2 programs."""
    for name in ("vgs", "lvs"):
        body = LVM_PROGRAM.replace("{folder}", str(folder / "bin")).replace("{name}", name)
        lvm.script(folder / "bin", name, body.replace("{path}", os.environ["PATH"]))
    host = host_on(folder, placement.server.url)
    host.libvirt_uri = libvirtd.uri
    host.environment = {**group.environment, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    host.options = {
        "DEFAULT": {"update_resources_interval": -1, "use_json": True},
        "agent": {"source_deadline": DEADLINE_S},
        "libvirt": {"images_type": "lvm", "images_volume_group": group.name},
        "lvm": {"volume_groups": f"{group.name},absent"},
        # Each audit reads one more consumer's record, so that the finding about two providers comes soon.
        "placement": {"full_read_every": 1},
        **more,
    }
    (folder / "provider_config").mkdir()
    (folder / "provider_config" / "odd.yaml").write_text(
        "meta: {schema_version: '1.0'}\n"
        f"providers: [{{identification: {{uuid: {new_uuid()}}}, traits: {{additional: [CUSTOM_GOLD]}}}}]\n"
    )
    host.configure()
    placement.make_provider(host.name, uuid=host.provider_uuid)
    return host


def plant_rows(host: AgentHost, url: str) -> None:
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        cell.create_tables(engine)
        cell.add_compute_node(connection, host.node_row())
        for name in ("large", "less", "absent", "unrecorded", "spread"):
            cell.add_instance(connection, host.instance(name, project_id=PROJECT))
        cell.add_instance(connection, host.instance("fine", project_id="another"))
        cell.add_instance(connection, host.instance("stopped", vm_state="stopped", project_id=PROJECT))
        cell.add_instance(connection, host.instance("moved", host="cmp2", node="cmp2", project_id=PROJECT))
        cell.add_instance(connection, host.instance("unreadable", project_id=PROJECT))
        cell.set_columns(connection, "instance_extra", {"instance_uuid": uuid("unreadable")}, flavor="{")
        for name in ("deleted", "gone"):
            cell.add_instance(connection, host.instance(name, deleted=True, deleted_at=LONG_AGO))
    engine.dispose()
    heart.keep(url)


def plant_allocations(host: AgentHost, placement: Rest) -> None:
    """Plant allocations of which some are wrong; the host does not have as many VCPUs as the provider offers here."""
    here, other = host.provider_uuid, placement.make_provider()
    placement.set_inventories(other, {"VCPU": {"total": 100}})
    placement.set_inventories(here, {"VCPU": {"total": 9999}, "MEMORY_MB": {"total": 4096}, "DISK_GB": {"total": 8}})
    for name in ("fine", "large", "stopped", "absent", "moved", "strange"):
        placement.allocate({here: HELD}, uuid(name))
    placement.allocate({here: {**HELD, "VCPU": 2}}, uuid("less"))
    placement.allocate({here: HELD, other: {"VCPU": 1}}, uuid("spread"))
    placement.allocate({here: {"VCPU": 5000}}, uuid("gone"))


@pytest.mark.parametrize("name", LOSSES + (MORE_LOSSES if os.environ.get("STOCKTAKE_LOST_SOURCES") == "all" else ()))
def test_a_lost_source_makes_only_its_own_findings_unknown(stage, name, record_property):
    """nova's database, libvirt or LVM fails; only the findings that need the failed source become unknown."""
    source, lose, bring_back = stage.losses()[name]
    watcher = Watcher(stage.host, {id_: f["code"] for id_, f in stage.seen.items()}, stage.metrics)
    try:
        lose()
        try:
            lost = until(lambda: report_without(stage, source), PATIENCE_S, f"an audit without {source}")
            assert_unknown_exactly(stage, lost, source)
            assert_unknown_exactly(stage, stage.daemon.audit_now(), source)
        finally:
            bring_back()
        back = until(lambda: known_again(stage), PATIENCE_S, "all findings are known again")
    finally:
        reported, scraped = watcher.stop()
    assert (reported, scraped) == (len(stage.seen), len(stage.seen)), "fewer findings at some moment"
    assert {id_: f["first_seen_at"] for id_, f in back.items()} == {
        id_: f["first_seen_at"] for id_, f in stage.seen.items()
    }
    mine = [r["message"] for r in stage.daemon.records() if r["extra"].get("finding_id") in stage.seen]
    assert sorted(mine) == ["finding appeared"] * len(stage.seen) + ["finding confirmed"] * len(stage.seen)
    record_property("unknown", sum(rests_on_lost(f, source) for f in stage.seen.values()))


def report_without(stage: Stage, source: str) -> dict[str, Any]:
    report = stage.daemon.audit_now()
    return report if source in unread(report) else {}


def rests_on_lost(finding: dict[str, Any], source: str) -> bool:
    return source in finding["rests_on"] or (source == "libvirt" and finding["code"] in OF_NO_GUEST)


def assert_unknown_exactly(stage: Stage, report: dict[str, Any], source: str) -> None:
    assert report["audit"]["outcome"] == "partial"
    assert unread(report) == {source}
    found = by_id(report)
    assert found.keys() >= stage.seen.keys()
    for id_, before in stage.seen.items():
        is_lost = rests_on_lost(before, source)
        now = found[id_]
        about = (now["code"], now["subject"], now["consumer_uuid"])
        assert now["state"] == ("unknown" if is_lost else "confirmed"), about
        assert now["unknown_because"] == ([source] if is_lost else []), about
        assert (now["confirmed"], now["severity"]) == (True, before["severity"]), about
        if is_lost:
            assert now["actual"] == before["actual"], about


def known_again(stage: Stage) -> dict[str, dict[str, Any]]:
    """Run an audit; return the findings of ``seen`` if all of them are known and confirmed, else {}."""
    found = by_id(stage.daemon.audit_now())
    back = {id_: found[id_] for id_ in stage.seen if id_ in found}
    return back if all(finding["state"] == "confirmed" for finding in back.values()) else {}
