"""Bad input, case by case, through ``--once``: one clear line, the right exit code, no wrong inventory published.

For each source the test first publishes a good inventory and then breaks the source: Placement's records must stay
exactly as they were.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.demo.placement import TOKEN
from tests.rigs import lvm as lvm_rigs
from tests.rigs import placement as placements
from tests.rigs.domains import domain_xml, node_xml, nova_metadata
from tests.rigs.facts import uuid
from tests.rigs.gateway import Answer, Asked, Gateway, gateway
from tests.rigs.host import AgentHost, Ended
from tests.rigs.placement import Rest

MIB = 1 << 20
HTML = b"<html><body>Welcome to nginx!</body></html>"
DISK_OF_A_GUEST = "11111111-1111-4111-8111-111111111111_disk"


@pytest.fixture
def between(placement: Rest) -> Iterator[Gateway]:
    with gateway(placement.server.url) as made:
        yield made


@pytest.fixture
def host(tmp_path: Path, between: Gateway) -> AgentHost:
    """A host with 4 CPUs, 4096 MiB, and a guest of 3 vCPUs that the cloud does not know."""
    made = AgentHost(
        folder=tmp_path,
        name=f"cmp-{placements.new_uuid()}",
        placement_url=between.url,
        libvirt_uri=f"test://{tmp_path / 'node.xml'}",
        provider_uuid=placements.new_uuid(),
    )
    define(made, stranger())
    made.configure()
    made.make_cell().dispose()
    return made


def stranger(metadata: str = "", vcpus: int = 3) -> str:
    return domain_xml("stranger", domain_uuid=uuid("stranger"), vcpus=vcpus, memory_mib=256, metadata=metadata)


def define(host: AgentHost, *guests: str) -> None:
    (host.folder / "node.xml").write_text(node_xml(cpus=4, memory_mib=4096, domains=guests))


def clear_line(ended: Ended, *words: str) -> str:
    """Return the line of stderr that has all the ``words``; check that stderr has no traceback."""
    assert "Traceback" not in ended.stderr
    telling = [line for line in ended.stderr.splitlines() if all(word in line for word in words)]
    assert telling, f"no line with {words} in:\n{ended.stderr}"
    return telling[0]


def findings(host: AgentHost, code: str) -> list[str]:
    return [f["actual"] for f in host.report()["audit"]["findings"] if f["code"] == code]


@dataclass(frozen=True, slots=True)
class Published:
    """Placement's records of a host. Equal generations mean that no client has written in between."""

    inventories: dict
    traits: frozenset
    generation: int


def published(placement: Rest, host: AgentHost) -> Published:
    root = host.provider_uuid
    return Published(placement.inventories(root), frozenset(placement.traits(root)), placement.generation(root))


def publish(placement: Rest, host: AgentHost) -> Published:
    """Run a first good audit; return what it published."""
    assert host.agent("--once").code == 3  # the guest that the cloud does not know
    good = published(placement, host)
    assert (good.inventories["VCPU"]["total"], good.inventories["VCPU"]["reserved"]) == (4, 1)
    assert good.inventories["MEMORY_MB"]["reserved"] == 512 + 256
    assert good.inventories["DISK_GB"]["total"] > 0
    return good


# Configuration: exit code 78 before the agent reads a source or sends a request.


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"state": {"source": None, "connection": None}}, ("[state] source is not set", "sql", "none")),
        ({"placement": {"auth_type": None}}, ("[placement]", "auth_type is not set")),
        ({"placement": {"endpoint_override": None}}, ("[placement]", "endpoint_override is not set")),
        ({"DEFAULT": {"cpu_allocation_ratio": "four"}}, ("stocktake.conf", "[DEFAULT] cpu_allocation_ratio", "four")),
        ({"DEFAULT": {"reserved_host_memory_mb": "-1"}}, ("stocktake.conf", "reserved_host_memory_mb", "-1")),
        ({"compute": {"cpu_shared_set": "1-x"}}, ("stocktake.conf", "[compute] cpu_shared_set", "1-x")),
        ({"compute": {"cpu_dedicated_set": "7-4"}}, ("stocktake.conf", "[compute] cpu_dedicated_set", "7-4")),
        ({"compute": {"cpu_shared_set": "0-1,^0-1"}}, ("stocktake.conf", "[compute] cpu_shared_set", "no CPU is left")),
        (
            {"compute": {"cpu_dedicated_set": "0-1,0"}},
            ("stocktake.conf", "[compute] cpu_dedicated_set = 0-1,0", "CPU 0 is named twice"),
        ),
        (
            {"compute": {"cpu_shared_set": "0-1", "cpu_dedicated_set": "1-3"}},
            ("stocktake.conf", "cpu_shared_set = 0-1", "cpu_dedicated_set = 1-3", "CPUs 1 are in both lists"),
        ),
        (
            {"devices": {"enabled_mdev_types": "a"}, "mdev_a": {"device_addresses": "0000:01:00"}},
            ("stocktake.conf", "[mdev_a] device_addresses = 0000:01:00", "not a PCI address"),
        ),
        (
            {"devices": {"enabled_mdev_types": "nvidia-35"}, "mdev_nvidia-36": {"max_instances": "1"}},
            ("stocktake.conf", "[mdev_nvidia-36]", "not in [devices] enabled_mdev_types"),
        ),
        ({"pci": {"device_spec": "{vendor_id: 8086}"}}, ("stocktake.conf", "[pci] device_spec", "{vendor_id: 8086}")),
        (
            {"pci": {"device_spec": '{"vendor_id": "xyz"}'}},
            ("stocktake.conf", "[pci] device_spec", '{"vendor_id": "xyz"}'),
        ),
        ({"pci": {"report_in_placement": "maybe"}}, ("stocktake.conf", "report_in_placement = maybe", "true or false")),
        (
            {"devices": {"enabled_mdev_types": "a"}, "mdev_a": {"mdev_class": "GPU"}},
            ("stocktake.conf", "[mdev_a] mdev_class = GPU", "must be VGPU, or CUSTOM_"),
        ),
        (
            {"neutron": {"physnets": "net"}, "neutron_physnet_net": {"numa_nodes": "0,a"}},
            ("stocktake.conf", "[neutron_physnet_net] numa_nodes = 0,a", "each item a whole number"),
        ),
        (
            {"DEFAULT": {"reserved_huge_pages": "node:0,size:2048"}},
            ("stocktake.conf", "[DEFAULT] reserved_huge_pages = node:0,size:2048", "lacks count"),
        ),
        ({"libvirt": {"cpu_models": "Haswell"}}, ("stocktake.conf", "[libvirt] cpu_models = Haswell", "cpu_mode")),
        ({"libvirt": {"images_type": "lvm"}}, ("stocktake.conf", "images_volume_group")),
        (
            {"libvirt": {"images_type": "rbd"}, "DEFAULT": {"force_raw_images": "false"}},
            ("stocktake.conf", "force_raw_images = false", "images_type = rbd"),
        ),
        ({"state": {"connection": "postgresql://u:hunter2@h/nova"}}, ("[state] connection", "postgresql")),
        ({"agent": {"role": "boss"}}, ("stocktake.conf", "[agent] role", "boss")),
        ({"DEFAULT": {"cpu_alocation_ratio": "4"}}, ("cpu_alocation_ratio", "nearest name is cpu_allocation_ratio")),
        ({"libvrt": {"connection_uri": "x"}}, ("stocktake.conf", "[libvrt]", "nearest name is [libvirt]")),
        ({"DEFAULT": {"state_path": "/x"}}, ("stocktake.conf", "state_path", "[agent] state_dir")),
        ({"agent": {"nova_conf": "/nonexistent/nova.conf"}}, ("nova_conf = /nonexistent/nova.conf", "no such file")),
    ],
)  # fmt: skip
def test_an_invalid_option_ends_the_agent_with_78(between, host, changes, words):
    """The agent prints the invalid option on stderr, and exits with 78 before it sends any request to Placement."""
    host.configure(changes)
    ended = host.agent("--once")
    assert ended.code == 78
    clear_line(ended, *words)
    assert "hunter2" not in ended.stderr
    assert between.seen == []
    assert not host.report_file.exists()


def test_the_agent_prints_all_configuration_problems_together(between, host):
    """If the configuration has several problems, the agent prints all of them before it exits with 78."""
    folder = host.folder / "providers"
    folder.mkdir()
    (folder / "a.yaml").write_text("meta:\n  schema_version: '2.0'\n")
    host.configure(
        {
            "pci": {"report_in_placement": "maybe", "device_spec": "{"},
            "compute": {"cpu_shared_set": "0-1,0", "provider_config_location": folder},
        }
    )
    ended = host.agent("--once")
    assert ended.code == 78
    clear_line(ended, "[pci] report_in_placement = maybe")
    clear_line(ended, "[compute] cpu_shared_set = 0-1,0")
    clear_line(ended, f"{folder}/a.yaml:2", "schema_version")
    assert between.seen == []


def test_an_invalid_provider_yaml_ends_the_agent_with_78(between, host):
    """A provider.yaml has an unsupported schema_version; the agent prints the line number and exits with 78."""
    folder = host.folder / "providers"
    folder.mkdir()
    (folder / "a.yaml").write_text("meta:\n  schema_version: '2.0'\n")
    host.configure({"compute": {"provider_config_location": folder}})
    ended = host.agent("--once")
    assert ended.code == 78
    clear_line(ended, f"{folder}/a.yaml:2", "schema_version")
    assert between.seen == []


@pytest.mark.parametrize("content", ["", "[DEFAULT]\nhost = a\n"], ids=["empty", "nothing of ours"])
def test_missing_required_options_end_the_agent_with_78(host, content):
    """Options [state] source and [placement] auth_type are missing; the agent prints both and exits with 78."""
    host.config_file.write_text(
        content + f"[agent]\nstate_dir = {host.folder}/state\nrun_dir = {host.folder}/run\nnova_conf =\n"
    )
    ended = host.agent("--once")
    assert ended.code == 78
    clear_line(ended, "[state] source", "sql", "[state] connection", "none", str(host.config_file))
    clear_line(ended, "[placement]", "auth_type")


@pytest.mark.skipif(
    any(map(os.path.exists, ("/etc/stocktake", "/etc/nova/nova.conf"))), reason="this machine has a configuration"
)
def test_a_missing_default_file_ends_the_agent_with_78(host):
    """Without any configuration, the agent's message refers to /etc/stocktake/stocktake.conf, and it exits with 78."""
    ended = host.agent_without_file("--once")
    assert ended.code == 78
    clear_line(ended, "[state] source", "/etc/stocktake/stocktake.conf")


def test_a_missing_configuration_file_ends_the_agent_with_78(host):
    """The file given with --config-file does not exist; the agent prints its path and exits with 78."""
    host.config_file.unlink()
    ended = host.agent("--once")
    assert ended.code == 78
    clear_line(ended, str(host.config_file), "there is no such file")


@pytest.mark.parametrize("text", ["[DEFAULT\nhost = a\n", "host\n", "\x00\xff"], ids=["section", "no value", "bytes"])
def test_an_unparsable_config_file_ends_the_agent_with_78(host, text):
    """The configuration file has a syntax error; the agent prints the file's path and exits with 78."""
    host.config_file.write_bytes(text.encode("latin-1"))
    ended = host.agent("--once")
    assert ended.code == 78
    clear_line(ended, str(host.config_file))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not-a-uuid\n", "instead of a uuid"),
        ("", "instead of a uuid"),
        ("\x80", "contains no uuid, but bytes that are not text"),
    ],
    ids=["words", "empty", "bytes"],
)
def test_an_invalid_compute_id_file_ends_the_agent_with_78(between, host, text, reason):
    """The file compute_id contains no uuid; the agent prints the file's path and exits with 78."""
    (host.folder / "compute_id").write_bytes(text.encode("latin-1"))
    ended = host.agent("--once")
    assert ended.code == 78
    clear_line(ended, str(host.folder / "compute_id"), reason)
    assert between.seen == []


# Sources on the host: a failed read never shrinks the inventory.


def no_libvirt(host: AgentHost) -> tuple[str, ...]:
    host.configure({"libvirt": {"connection_uri": "qemu+unix:///system?socket=/nonexistent/libvirt-sock"}})
    return ("libvirt", "/nonexistent/libvirt-sock")


def libvirt_with_garbage(host: AgentHost) -> tuple[str, ...]:
    (host.folder / "node.xml").write_text("<node><cpu>")
    return ("libvirt", f"test://{host.folder}/node.xml")


def no_instances_path(host: AgentHost) -> tuple[str, ...]:
    (host.folder / "instances").rmdir()
    return ("filesystem", f"{host.folder}/instances")


def no_database(host: AgentHost) -> tuple[str, ...]:
    host.cell_path.unlink()
    return ("state", f"sqlite:///{host.cell_path}")


def a_database_of_something_else(host: AgentHost) -> tuple[str, ...]:
    host.cell_path.write_bytes(b"SQLite format 3\x00" + os.urandom(4096))
    return ("state", f"sqlite:///{host.cell_path}")


def a_missing_column(host: AgentHost) -> tuple[str, ...]:
    _alter(host, "ALTER TABLE instance_extra DROP COLUMN flavor")
    return ("state", f"sqlite:///{host.cell_path}", "it has no instance_extra.flavor")


def a_missing_table(host: AgentHost) -> tuple[str, ...]:
    _alter(host, "DROP TABLE instance_extra")
    return ("state", f"sqlite:///{host.cell_path}", "it has no instance_extra")


def _alter(host: AgentHost, statement: str) -> None:
    with contextlib.closing(sqlite3.connect(host.cell_path)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    "spoil",
    [
        no_libvirt,
        libvirt_with_garbage,
        no_instances_path,
        no_database,
        a_database_of_something_else,
        a_missing_column,
        a_missing_table,
    ],
    ids=lambda spoil: spoil.__name__,
)
def test_a_failed_source_leaves_placement_unchanged(placement, host, spoil):
    """libvirt, the disk path or nova's database is unreadable; the agent reports it and writes nothing."""
    good = publish(placement, host)
    words = spoil(host)
    ended = host.agent("--once")
    assert ended.code == 2
    clear_line(ended, "source lost", *words)
    assert findings(host, "source-unavailable")
    assert published(placement, host) == good


def test_the_agent_exits_75_if_all_services_fail(placement, between, host):
    """libvirt, nova's database and Placement all fail; `stocktake-agent --once` exits with 75."""
    good = publish(placement, host)
    no_libvirt(host)
    no_database(host)
    between.before = lambda _asked: Answer(status=503)
    ended = host.agent("--once")
    assert ended.code == 75
    assert published(placement, host) == good
    clear_line(ended, "source lost", "placement", "503")


def test_a_guest_with_invalid_metadata_is_reported(placement, host):
    """A guest's nova metadata in libvirt has an invalid vCPU count; the agent reports the guest and the value."""
    good = publish(placement, host)
    odd = nova_metadata(1, 64, 1).replace("<nova:vcpus>1<", "<nova:vcpus>many<")
    define(host, stranger(metadata=odd, vcpus=1))
    ended = host.agent("--once")
    assert ended.code == 3
    clear_line(ended, "source-unavailable", uuid("stranger"), "stranger", "vcpus", "'many' is not a whole number")
    assert published(placement, host) == good
    # Everything else that can be read is counted: a second guest raises the reserved amount.
    define(host, stranger(metadata=odd), domain_xml("second", vcpus=6, memory_mib=1024))
    assert host.agent("--once").code == 3
    assert placement.inventories(host.provider_uuid)["VCPU"]["reserved"] == 2  # ceil(6 / 4.0)


# LVM, on real groups.


@pytest.fixture
def lvm_host(tmp_path: Path, host: AgentHost) -> Iterator[AgentHost]:
    """A host whose guests' disks are in the real volume group vg0, with one hand-made volume; vg1 is another group."""
    with contextlib.ExitStack() as stack:
        groups = [
            stack.enter_context(contextlib.closing(lvm_rigs.make_group(tmp_path, name, size)))
            for name, size in (("vg0", 2 << 30), ("vg1", 256 * MIB))
        ]
        groups[0].add_volume("handmade", 100 * MIB)
        for seen, name in ((groups, "both"), (groups[1:], "other"), ((), "blind")):
            lvm_rigs.view(tmp_path / name, *seen)
        host.options = {"libvirt": {"images_type": "lvm", "images_volume_group": "vg0"}}
        host.environment = {"LVM_SYSTEM_DIR": str(tmp_path / "both")}
        host.configure()
        yield host


def lvm_sees(host: AgentHost, view: str) -> None:
    host.environment = {"LVM_SYSTEM_DIR": str(host.folder / view)}


@pytest.mark.root
def test_a_missing_volume_group_leaves_disk_gb_unchanged(placement, lvm_host):
    """The configured LVM volume group is gone; the agent reports it and leaves DISK_GB in Placement unchanged."""
    good = publish(placement, lvm_host)
    assert (good.inventories["DISK_GB"]["total"], good.inventories["DISK_GB"]["reserved"]) == (1, 1)
    lvm_sees(lvm_host, "other")
    ended = lvm_host.agent("--once")
    assert ended.code == 3
    clear_line(ended, "volume-group-missing", "volume group vg0 is not in lvm2's report", "images_volume_group")
    assert published(placement, lvm_host) == good


@pytest.mark.root
def test_an_empty_lvm_report_leaves_disk_gb_unchanged(placement, lvm_host):
    """lvm2 lists no volume group at all; the agent takes that as a failed read and leaves DISK_GB unchanged."""
    good = publish(placement, lvm_host)
    lvm_sees(lvm_host, "blind")
    ended = lvm_host.agent("--once")
    assert ended.code == 2
    clear_line(ended, "source lost", "vgs ended with 0 and lists no volume group at all, but vg0 is configured")
    assert findings(lvm_host, "volume-group-missing") == []
    assert published(placement, lvm_host) == good


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo '{\"report\": 7}'", ("the report on vg has no list",)),
        ("echo 'Segmentation fault' >&2; exit 5", ("vgs failed with exit status 5", "Segmentation fault")),
        ("exec sleep 60", ("vgs did not answer within",)),
    ],
    ids=["garbage", "failure", "hanging"],
)
@pytest.mark.root
def test_a_failed_vgs_command_leaves_disk_gb_unchanged(placement, lvm_host, body, words):
    """LVM's `vgs` fails, hangs or prints garbage; the agent reports it and leaves DISK_GB in Placement unchanged."""
    good = publish(placement, lvm_host)
    lvm_rigs.script(lvm_host.folder / "bin", "vgs", body)
    lvm_host.environment["PATH"] = f"{lvm_host.folder / 'bin'}:{os.environ['PATH']}"
    if "did not answer" in words[0]:
        lvm_host.configure({"lvm": {"deadline": "1"}})
    ended = lvm_host.agent("--once")
    assert ended.code == 2
    clear_line(ended, "source lost", "lvm", *words)
    assert published(placement, lvm_host) == good


# Placement.


FAULTS = {
    "401": (Answer(status=401, body=b'{"error": {"code": 401, "title": "Unauthorized"}}'), ("HTTP 401",)),
    "404": (Answer(status=404, body=HTML), ("HTTP 404",)),
    "500": (Answer(status=500, body=b"Internal Server Error"), ("HTTP 500", "Internal Server Error")),
    "garbage": (Answer(status=200, body=HTML), ("not JSON", "nginx")),
    "other JSON": (Answer(status=200, body=b'{"versions": {"a": [1]}}'), ("not understood",)),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_an_invalid_placement_answer_is_logged_with_its_url(placement, between, host, fault):
    """Placement answers a read with an error or garbage; the agent logs Placement's URL and writes nothing."""
    good = publish(placement, host)
    define(host)  # the guest is gone, so there would be something to write
    answer, words = FAULTS[fault]
    between.before = lambda _asked: answer
    ended = host.agent("--once")
    assert ended.code == 2
    line = clear_line(ended, "source lost", "source=placement", between.url, *words)
    # An error that no retry mends (401) is logged at ERROR; a failure that may pass is not.
    assert (" ERROR " in line) == (fault == "401")
    assert TOKEN not in ended.stderr.replace("admin_token", "")
    assert published(placement, host) == good
    assert host.report()["audit"]["plan"]["writes"] == []


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failed_placement_write_is_logged_with_its_url(placement, between, host, fault):
    """Placement answers a write with an error or garbage; the agent logs the URL, and does not repeat the write."""
    good = publish(placement, host)
    define(host)
    answer, words = FAULTS[fault]
    before = len(between.writes)

    def spoil(asked: Asked) -> Answer | None:
        return answer if asked.is_write else None

    between.before = spoil
    ended = host.agent("--once")
    assert ended.code == 2
    clear_line(ended, "audit error", f"PUT {between.url}/resource_providers/{host.provider_uuid}/inventories", *words)
    # The write is sent once; a 404 that is not Placement's own does not mean that the provider was deleted meanwhile.
    assert len(between.writes) == before + 1
    assert published(placement, host) == good
    between.before = lambda _asked: None
    assert host.agent("--once").code == 0
    assert placement.inventories(host.provider_uuid)["VCPU"]["reserved"] == 0


def test_a_refused_connection_is_logged_with_the_address(placement, host):
    """Placement's port refuses connections; the agent logs Placement's address and exits with 2."""
    good = publish(placement, host)
    host.configure({"placement": {"endpoint_override": "http://127.0.0.1:9"}})
    ended = host.agent("--once")
    assert ended.code == 2
    clear_line(ended, "source lost", "placement", "http://127.0.0.1:9")
    assert published(placement, host) == good


def test_a_provider_name_conflict_stops_every_write(placement, between, host):
    """Another provider in Placement already has this host's name; the agent reports both uuids and writes nothing."""
    other = placement.make_provider(host.name)
    ended = host.agent("--once")
    assert ended.code == 3
    clear_line(ended, "provider-name-conflict", host.name, other, host.provider_uuid)
    assert between.writes == []
