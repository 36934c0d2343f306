"""The lines that a running daemon logs at INFO for five events in its world, and the secrets that it never logs.

The parts are real: a private libvirtd, a volume group on a loop device, Placement, a cell in SQLite. The interval is
off, so that each line has its cause in the test.
"""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import libvirt
import pytest

from agent.model.nova import Flavor
from tests.rigs import lvm as lvm_rigs
from tests.rigs import placement as placements
from tests.rigs.domains import domain_xml
from tests.rigs.facts import uuid
from tests.rigs.host import PATIENCE_S, STOP_S, AgentHost, Daemon
from tests.rigs.libvirtd import PrivateLibvirtd, libvirtd_program, private_libvirtd
from tests.rigs.placement import Rest, new_uuid
from tests.rigs.wait import until

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(libvirtd_program() is None, reason="libvirtd is not installed"),
]
MIB = 1 << 20
# Placement's noauth2 takes the part of the token before the colon as the user, and only "admin" may write.
SECRET = "kept-from-every-log-7f3a"
DEFAULT_DOMAIN = "6695eb01-f6a4-8304-79aa-97f2502e193f"  # the domain of libvirt's test:///default


@dataclass(slots=True)
class Stage:
    """One daemon with its host, Placement, libvirtd and volume group."""

    host: AgentHost
    placement: Rest
    libvirtd: PrivateLibvirtd
    group: Any
    daemon: Daemon | None = None
    _told: int = field(default=0)

    def told(self) -> list[dict[str, Any]]:
        """Return the audits' log records at INFO and above since the last call.

        Left out are records that only repeat while a source is lost, and the records of libvirt's events: a separate
        thread logs those at any time.
        """
        assert self.daemon is not None
        records = [r for r in self.daemon.records() if r["levelname"] != "DEBUG" and "audit_id" in r["extra"]]
        fresh, self._told = records[self._told :], len(records)
        return [record for record in fresh if not _repeats(record)]

    def settle(self) -> None:
        """Run two more audits, after which every finding is confirmed."""
        assert self.daemon is not None
        for _ in range(2):
            self.daemon.audit_now()

    def until_told(self, event: str, **fields: object) -> None:
        """Wait until the daemon has logged such a record, at any time since its start."""
        assert self.daemon is not None
        daemon = self.daemon
        until(lambda: any(_is(record, event, fields) for record in daemon.records()), PATIENCE_S, f"{event} {fields}")

    @contextlib.contextmanager
    def guest(self) -> Iterator[str]:
        """Define a guest of 3 vCPUs and 512 MiB that the cloud does not know, as virsh does; yield its uuid."""
        connection = libvirt.open(self.libvirtd.uri)
        try:
            connection.defineXML(domain_xml("stranger", domain_uuid=uuid("stranger"), vcpus=3, memory_mib=512))
            yield uuid("stranger")
        finally:
            connection.close()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with (
        placements.running(tmp_path / "placement") as rest,
        private_libvirtd() as libvirtd,
        contextlib.closing(lvm_rigs.make_group(tmp_path, "vg0", 4 << 30)) as group,
    ):
        host = AgentHost(
            folder=tmp_path,
            name=f"cmp-{new_uuid()}",
            placement_url=rest.server.url,
            libvirt_uri=libvirtd.uri,
            provider_uuid=new_uuid(),
            options={
                "DEFAULT": {"use_json": True, "update_resources_interval": -1, "initial_cpu_allocation_ratio": "4.0"},
                "libvirt": {"images_type": "lvm", "images_volume_group": "vg0"},
                "placement": {"token": f"admin:{SECRET}"},
            },
            environment=group.environment,
        )
        host.configure()
        flavor = Flavor(id=1, name="two", vcpus=2, memory_mib=256, root_gib=0, ephemeral_gib=0, swap_mib=0)
        host.make_cell(host.instance("known", uuid=DEFAULT_DOMAIN, flavor=flavor)).dispose()
        yield Stage(host, rest, libvirtd, group)


def _repeats(record: dict[str, Any]) -> bool:
    return record["message"] == "source still lost" or _is(record, "finding changed", {"code": "source-unavailable"})


def _is(record: dict[str, Any], event: str, fields: dict[str, object]) -> bool:
    return record["message"] == event and fields.items() <= record["extra"].items()


def lines(records: list[dict[str, Any]], *fields: str) -> list[tuple[Any, ...]]:
    """Return each record's text, and the values of those ``fields`` that the record has."""
    return [(r["message"], *(r["extra"][name] for name in fields if name in r["extra"])) for r in records]


def inventories(root: str, *, disk: int, memory: int, vcpu: int) -> str:
    """Return the logged text of an audit's one write, with these reserved amounts."""
    return (
        f"{root}: inventories"
        f" DISK_GB total=3 GiB reserved={disk} GiB max_unit=3 GiB allocation_ratio=1.0,"
        f" MEMORY_MB total=3072 MiB reserved={memory} MiB max_unit=3072 MiB allocation_ratio=1.0,"
        f" VCPU total=16 VCPU reserved={vcpu} VCPU max_unit=16 VCPU allocation_ratio=4.0"
    )


def views(name: str, *, used_disk: int) -> list[tuple[str]]:
    """Return the three lines that nova-compute logs as well, with this host's figures."""
    return [
        (f"Hypervisor/Node resource view: name={name} free_ram=unknownMB free_disk=3GB free_vcpus=14 pci_devices=0",),
        ("Total usable vcpus: 16, total allocated vcpus: 2",),
        (
            f"Final resource view: name={name} phys_ram=3072MB used_ram=768MB phys_disk=3GB used_disk={used_disk}GB"
            " total_vcpus=16 used_vcpus=2 pci_stats=[] stats={}",
        ),
    ]


def assert_proper(daemon: Daemon) -> None:
    """Check that each line of an audit has the audit's id, and that no error, no traceback and no library is logged."""
    for record in daemon.records():
        assert record["traceback"] is None, record
        if record["name"] in {"stocktake.audit", "stocktake.finding", "stocktake.placement"}:
            assert re.fullmatch("[0-9a-f-]{36}", record["extra"]["audit_id"]), record
        assert record["levelname"] in {"INFO", "DEBUG", "WARNING"}, record
        assert record["name"].startswith(("stocktake.", "agent.")), record
    assert all(line.startswith("{") for line in daemon.text().splitlines())
    assert "Traceback" not in daemon.text()


def test_each_change_of_the_host_is_logged_exactly_once(stage):
    """The daemon logs each change, such as a new guest or the loss of libvirt, exactly once."""
    host, root = stage.host, stage.host.provider_uuid
    host.agent("--once")
    stage.placement.allocate({root: {"VCPU": 2, "MEMORY_MB": 256}}, DEFAULT_DOMAIN)
    with host.daemon() as daemon:
        stage.daemon = daemon
        daemon.first_audit()
        until(lambda: "libvirt events connected" in daemon.text(), PATIENCE_S, "events")
        stage.settle()
        # The domain has 8192 MiB, unlike the flavor: the agent reports that and no other finding.
        assert lines(stage.told(), "before", "outcome", "code", "confirmed") == [
            ("placement speaks",),
            ("nova speaks",),
            ("outcome changed", None, "findings"),
            # --once has seen the same, and the file remembers it.
            ("finding confirmed", "guest-size-differs", True),
            ("finding gone", "allocation-missing", False),
            ("first audit done", "findings"),
            *views(host.name, used_disk=0),
        ]
        _a_guest_appears(stage, root)
        _a_foreign_volume_appears(stage, root)
        _libvirt_is_lost(stage)
        _libvirt_is_back_without_the_guest(stage, root)
        held = stage.placement.inventories(root)
        stage.placement.set_inventories(root, {**held, "VCPU": {"total": 99}})
        stage.settle()
        assert lines(stage.told(), "what") == [("placement written", [inventories(root, disk=1, memory=512, vcpu=0)])]
        daemon.send(signal.SIGTERM)
        assert daemon.ended(STOP_S) == 0
    assert_proper(daemon)
    assert SECRET not in daemon.text() + host.report_file.read_text()


def _a_guest_appears(stage: Stage, root: str) -> None:
    with stage.guest() as guest:
        stage.until_told("finding appeared", code="guest-unknown")
        stage.settle()
    told = stage.told()
    assert lines(told, "outcome", "code", "consumer_uuid", "confirmed", "what", "writes") == [
        ("finding appeared", "guest-unknown", guest, False),
        ("placement written", [inventories(root, disk=0, memory=512 + 512, vcpu=1)], 1),
        ("finding confirmed", "guest-unknown", guest, True),
    ]
    assert "(stranger) holds 512 MiB of MEMORY_MB, 3 VCPU" in told[0]["extra"]["actual"]


def _a_foreign_volume_appears(stage: Stage, root: str) -> None:
    stage.group.add_volume("handmade", 100 * MIB)
    stage.settle()
    told = stage.told()
    assert lines(told, "code", "volume", "size_bytes", "what") == [
        ("finding appeared", "volume-foreign", "vg0/handmade", 100 * MIB),
        ("placement written", [inventories(root, disk=1, memory=1024, vcpu=1)]),
        *views(stage.host.name, used_disk=1),
        ("finding confirmed", "volume-foreign", "vg0/handmade", 100 * MIB),
    ]
    assert "vg0/handmade takes 100 MiB (104857600 bytes" in told[0]["extra"]["actual"]


def _libvirt_is_lost(stage: Stage) -> None:
    stage.libvirtd.kill()
    stage.until_told("write held back", what="MEMORY_MB, PCPU, VCPU")
    told = stage.told()
    assert lines(told, "source", "before", "outcome", "code", "subject", "what", "why") == [
        ("source lost", "libvirt"),
        ("outcome changed", "findings", "partial"),
        ("findings unknown", "libvirt"),
        ("finding appeared", "source-unavailable", "libvirt"),
        ("write held back", "MEMORY_MB, PCPU, VCPU", "libvirt could not be read"),
    ]
    assert stage.libvirtd.uri in told[0]["extra"]["error"]
    assert told[0]["extra"]["age_s"] >= 0


def _libvirt_is_back_without_the_guest(stage: Stage, root: str) -> None:
    """Restart libvirtd: the test driver's guests ended with it."""
    stage.libvirtd.start()
    stage.until_told("source back", source="libvirt")
    stage.settle()
    assert lines(stage.told(), "source", "before", "outcome", "code", "what") == [
        ("source back", "libvirt"),
        ("outcome changed", "partial", "findings"),
        ("findings known again", "libvirt"),
        ("finding gone", "guest-unknown"),
        ("finding gone", "source-unavailable"),
        ("placement written", [inventories(root, disk=1, memory=512, vcpu=0)]),
    ]


@pytest.mark.parametrize("form", ["json", "text"])
def test_logs_and_reports_contain_no_placement_token(stage, form):
    """Even with debug logging, the agent's logs and reports do not contain the Placement token."""
    loudest = {"debug": True, "use_json": form == "json", "default_log_levels": "keystoneauth=DEBUG,urllib3=DEBUG"}
    stage.host.configure({"DEFAULT": loudest})
    with stage.host.daemon() as daemon:
        daemon.first_audit()
        daemon.send(signal.SIGUSR2)
        until(lambda: "state dump" in daemon.text(), PATIENCE_S, "the report")
        daemon.send(signal.SIGHUP)
        until(lambda: "configuration reloaded" in daemon.text(), PATIENCE_S, "reload")
        daemon.audit_now()
        daemon.send(signal.SIGTERM)
        assert daemon.ended(STOP_S) == 0
    assert "X-Auth-Token" in daemon.text()  # the log shows requests with their headers
    for written in (daemon.text(), stage.host.report_file.read_text(), stage.host.stocktake("config", "show").stdout):
        assert SECRET not in written
    assert "Traceback" not in daemon.text()
