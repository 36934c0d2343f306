"""stocktake-probe behind a real socket: callers of every kind, real LVM, and a probe that fails in every way."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator

import pytest

from agent.errors import SourceDenied, SourceUnavailable
from agent.model.host.storage import GuestFile, StorageFacts
from agent.model.snapshot import LVM
from agent.ports import Deadline
from agent.sources.probe.runner import ProbeRunner
from agent.sources.probe.storage import ProbeMeter
from agent.sources.storage.lvm import Lvm, SubprocessRunner
from tests.rigs import lvm as rigs
from tests.rigs.domains import domain_xml, file_disk, node_xml
from tests.rigs.lvm_layouts import every_kind
from tests.rigs.mounts import Mounts
from tests.rigs.placement import new_uuid
from tests.rigs.probe_socket import NOBODY, OnceAgent, ProbeSocket, as_nobody, probe_socket
from tests.rigs.wait import until

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(shutil.which("systemd-socket-activate") is None, reason="systemd-socket-activate is missing"),
]
#: Root with the capabilities of stocktake-probe@.service and no others.
WITH_THE_UNITS_CAPABILITIES = ("setpriv", "--no-new-privs", "--bounding-set=-all,+sys_admin,+dac_read_search")


@pytest.fixture(scope="module")
def served() -> Iterator[ProbeSocket]:
    """A probe on this host's own lvm2, for requests that never reach lvm2."""
    with probe_socket() as rig:
        rig.serve()
        yield rig


@pytest.fixture
def own() -> Iterator[ProbeSocket]:
    """A socket that the test serves itself."""
    with probe_socket() as rig:
        yield rig


def through(rig: ProbeSocket, deadline_s: float = 30.0) -> StorageFacts:
    return Lvm(("vg0",), deadline_s, ProbeRunner(rig.path, LVM)).read(Deadline.after(deadline_s))


def whole_answer(connection) -> dict:
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := connection.recv(1 << 16):
            received += piece
    return json.loads(received)


def test_an_agent_without_root_reads_lvm_through_the_probe(own: ProbeSocket, tmp_path) -> None:
    """The root helper stocktake-probe gives an unprivileged agent the same LVM facts that root reads directly."""
    with contextlib.closing(rigs.make_group(tmp_path, "vg0")) as group:
        rigs.lay_out(group, every_kind())
        own.serve((*WITH_THE_UNITS_CAPABILITIES, *own.probe()), group.environment)
        direct = Lvm(("vg0",), 30.0, group.runner).read(Deadline.after(30.0))
        assert len(direct.volumes) > 10
        assert as_nobody(lambda: through(own)) == direct
        by_itself = Lvm(("vg0",), 30.0, SubprocessRunner(group.environment))
        assert as_nobody(lambda: by_itself.read(Deadline.after(30.0))).startswith("Source")


def test_the_probe_refuses_a_caller_with_another_user_id(own: ProbeSocket) -> None:
    """The root helper stocktake-probe answers only root and the configured user."""
    own.configure(user="no-such-user")
    own.serve()
    answer = as_nobody(lambda: through(own))
    assert answer.startswith("SourceDenied")
    assert answer.endswith("refused: the caller has the user id 65534 and is neither root nor the user 'no-such-user'")


def test_a_forbidden_probe_socket_gives_permission_denied(own: ProbeSocket) -> None:
    """An agent that may not open the root helper's socket reports "Permission denied" for its LVM read."""
    own.serve()
    os.chmod(own.path, 0o660)
    answer = as_nobody(lambda: through(own))
    assert answer.startswith("SourceDenied")
    assert answer.endswith("cannot be reached: Permission denied")


def test_the_probe_refuses_a_world_writable_config_file(own: ProbeSocket) -> None:
    """The root helper stocktake-probe trusts its configuration file only if no other user than root may write to it."""
    own.conf.chmod(0o666)
    own.serve()
    with pytest.raises(SourceDenied, match="a user other than root may write"):
        through(own)


BROKEN = {
    "unknown-verb": (b'{"verb": "shell", "deadline_s": 5}\n', "the verb is unknown"),
    "more-keys": (b'{"verb": "lvm-groups", "deadline_s": 5, "argv": ["id"]}\n', "no other key"),
    "half-a-line": (b'{"verb": "lvm-gro', "without a line feed"),
    "nothing": (b"", "without a line feed"),
    "too-long": (b"\0" * 4097, "longer than 4096 bytes"),
}


@pytest.mark.parametrize(("sent", "why"), BROKEN.values(), ids=BROKEN)
def test_the_probe_refuses_an_invalid_request(served: ProbeSocket, sent: bytes, why: str) -> None:
    """The root helper stocktake-probe refuses unknown verbs, extra keys, incomplete lines and too long requests."""
    with served.connection() as connection:
        connection.sendall(sent)
        connection.shutdown(1)
        assert why in whole_answer(connection)["refused"]


def test_the_probe_stops_reading_an_endless_request(served: ProbeSocket) -> None:
    """A caller sends an endless request; the root helper stocktake-probe refuses it and stops reading."""
    piece, sent = b"x" * (1 << 20), 0
    with served.connection() as connection:
        try:
            while sent < 1 << 30:
                sent += connection.send(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < 4 << 20
        assert "longer than 4096 bytes" in whole_answer(connection)["refused"]


NONSENSE = {
    "nonsense": ("echo hello", "gave no usable answer: the answer is not JSON"),
    "nothing": ("true", "gave no usable answer: the probe closed the connection without an answer"),
    "half-a-line": ("""printf '{"refused": "wh'""", "gave no usable answer: the probe closed the connection in the"),
    "too-much": ("head -c 1000000000 /dev/zero", "gave no usable answer: the probe's answer is longer than 16 MiB"),
    "never-ends": ("yes", "gave no usable answer: the probe's answer is longer than 16 MiB"),
    "killed": ("kill -9 $$", "gave no usable answer: the probe closed the connection without an answer"),
    "slow-bytes": ("while printf x; do sleep 0.2; done", "did not answer in time"),
    "hangs": ("exec sleep 600", "did not answer in time"),
}


@pytest.mark.parametrize(("body", "why"), NONSENSE.values(), ids=NONSENSE)
def test_an_lvm_read_fails_if_the_probe_answers_nonsense(own: ProbeSocket, body: str, why: str) -> None:
    """The root helper stocktake-probe sends nonsense or nothing; the agent reports why its LVM read failed."""
    own.serve(("sh", "-c", f"read -r line; {body}"))
    with pytest.raises(SourceUnavailable, match=why):
        through(own, deadline_s=1.5 if "time" in why else 30.0)


def test_an_lvm_read_fails_if_the_probe_socket_is_missing(own: ProbeSocket) -> None:
    """If the socket of the root helper stocktake-probe is missing, the agent's LVM read fails."""
    with pytest.raises(SourceUnavailable, match="cannot be reached: No such file or directory"):
        through(own)


@pytest.mark.parametrize(
    ("number", "deadline_s", "why"),
    [(signal.SIGKILL, 30.0, "without an answer"), (signal.SIGSTOP, 6.0, "did not answer in time")],
    ids=["killed", "frozen"],
)
def test_a_killed_or_frozen_probe_fails_only_one_lvm_read(own: ProbeSocket, tmp_path, number, deadline_s, why) -> None:
    """The root helper stocktake-probe is killed or frozen while lvm2 runs.

    A later LVM read through the helper succeeds.
    """
    asked = own.folder / "asked"
    hold = rigs.script(tmp_path / "bin", "vgs", f"echo $$ > {asked}.new; mv {asked}.new {asked}; exec sleep 60")
    own.serve(environment={"PATH": f"{hold.parent}:/usr/bin:/bin"})

    def strike() -> None:
        until(asked.exists, 20, "vgs was not started")
        os.kill(own.children()[0], number)

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        with pytest.raises(SourceUnavailable, match=why):
            through(own, deadline_s)
    finally:
        thread.join()
        os.kill(int(asked.read_text()), signal.SIGKILL)
    with contextlib.closing(rigs.make_group(tmp_path, "vg0")) as group:
        own.serve(environment=group.environment)
        assert [found.name for found in through(own).groups] == ["vg0"]


def test_the_probe_kills_an_lvm_command_that_hangs(own: ProbeSocket, tmp_path) -> None:
    """If `vgs` hangs until the deadline, the root helper stocktake-probe kills it and reports its error output."""
    hold = rigs.script(tmp_path / "bin", "vgs", f"echo $$ > {own.folder}/pid; echo stuck >&2; exec sleep 60")
    own.serve(environment={"PATH": f"{hold.parent}:/usr/bin:/bin"})
    with pytest.raises(SourceUnavailable, match=r"vgs did not answer within 6.0 s and was killed.*stuck"):
        through(own, deadline_s=6.0)
    pid = int((own.folder / "pid").read_text())
    until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 20, "vgs still runs")


def test_the_probe_reports_that_lvm2_is_not_installed(own: ProbeSocket, tmp_path) -> None:
    """The root helper stocktake-probe tells the agent that the program `vgs` is missing."""
    direct = pytest.raises(SourceUnavailable, match="vgs is not installed")
    own.serve(("unshare", "--mount", "sh", "-c", f'mount --bind {tmp_path} /usr/sbin && exec "$@"', "sh", *own.probe()))
    with direct:
        through(own)


#: What differs between two audits of an unchanged host.
OF_ONE_AUDIT = re.compile(
    r"(^|_)(at|s|ms|id|since|times?|seen|duration|sightings|pid|requests|generation|until|load)$|^http|^process"
)


def without_times(value):
    """Return the document without the keys of OF_ONE_AUDIT, at all depths."""
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if not OF_ONE_AUDIT.search(key)}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def test_an_agent_without_root_reports_the_same_as_root(own: ProbeSocket, tmp_path, placement, monkeypatch):
    """An unprivileged agent reads storage through the root helper; only times, ids and counters differ."""
    # A file system of its own: the free space of the host's own file system changes all the time.
    with (
        contextlib.closing(Mounts()) as mounts,
        contextlib.closing(rigs.make_group(tmp_path, "vg0", 8 << 30)) as group,
    ):
        mounts.tmpfs(own.folder / "instances", 1)
        rigs.lay_out(group, every_kind())
        own.serve(environment=group.environment)
        same = {"url": placement.server.url, "uuid": new_uuid()}
        root_agent = OnceAgent(own, "root", owner=0, **same)
        plain = OnceAgent(own, "nobody", owner=NOBODY, probe=f"probe_socket = {own.path}", **same)
        for name, value in group.environment.items():
            monkeypatch.setenv(name, value)
        creator = OnceAgent(own, "creator", owner=0, **same)
        report = as_nobody(plain.once, first=lambda: (creator.once(), root_agent.once()))
        ours, roots = (
            json.dumps(without_times(found), indent=1).splitlines() for found in (report, root_agent.report())
        )
        assert any("DISK_GB" in line for line in roots)
        assert [pair for pair in zip(ours, roots, strict=True) if pair[0] != pair[1]] == []


def test_inventories_stay_if_the_probe_answers_nonsense(own: ProbeSocket, tmp_path, placement):
    """If stocktake-probe, the root helper, answers nonsense, Placement's inventories stay as they are."""
    with contextlib.closing(rigs.make_group(tmp_path, "vg0", 8 << 30)) as group:
        uuid = new_uuid()
        agent = OnceAgent(own, "a", placement.server.url, uuid=uuid, owner=NOBODY, probe=f"probe_socket = {own.path}")
        warm = OnceAgent(own, "warm", "http://127.0.0.1:9", uuid=new_uuid(), owner=0)

        def audit() -> tuple[list[tuple[str, str]], dict]:
            report = as_nobody(agent.once, first=warm.once)
            found = [(finding["code"], finding["actual"]) for finding in report["audit"]["findings"]]
            return found, placement.done("GET", f"/resource_providers/{uuid}/inventories")["inventories"]

        own.serve(environment=group.environment)
        before, inventories = audit()
        assert inventories["DISK_GB"]["total"] > 0
        own.serve(("sh", "-c", "read -r line; echo hello"))
        during, frozen = audit()
        new = [found for found in during if found not in before]
        assert [(code, text.partition(":")[0]) for code, text in new] == [
            ("source-unavailable", "images"),
            ("source-unavailable", "lvm"),
        ]
        assert all("gave no usable answer: the answer is not JSON" in text for _, text in new)
        assert frozen == inventories
        own.serve(environment=group.environment)
        assert audit() == (before, inventories)


def test_the_probe_measures_disk_files_that_only_root_may_read(own: ProbeSocket, placement, tmp_path):
    """An unprivileged agent with stocktake-probe reports the same disk file sizes as an agent that runs as root."""
    with contextlib.closing(Mounts()) as mounts:
        folder = own.folder / "instances"
        mounts.tmpfs(folder, 64)
        disk = folder / new_uuid() / "disk"
        disk.parent.mkdir()
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", disk, "3G"], check=True)
        (folder / "_base").mkdir()
        (folder / "_base" / "image").write_bytes(b"x" * 70000)
        node = own.folder / "node.xml"
        guest = domain_xml("guest", disks=[file_disk(str(disk)), file_disk(str(folder / "lost"), "vdb")])
        node.write_text(node_xml(cpus=4, memory_mib=4096, domains=[guest]))
        disk.chmod(0o600)
        folder.chmod(0o700)
        host = {"images": "images_type = qcow2", "uri": f"test://{node}"}
        own.configure(**host)
        own.serve((*WITH_THE_UNITS_CAPABILITIES, *own.probe()))
        same = {"url": placement.server.url, "uuid": new_uuid(), **host}
        creator, roots = (OnceAgent(own, name, owner=0, **same) for name in ("creator", "root"))
        plain = OnceAgent(own, "nobody", owner=NOBODY, probe=f"probe_socket = {own.path}", **same)
        alone = OnceAgent(own, "alone", owner=NOBODY, **same)
        ours = as_nobody(plain.once, first=lambda: (creator.once(), roots.once()))
        assert without_times(ours) == without_times(roots.report())
        assert all(source["ok"] for source in ours["audit"]["sources"])
        assert "ENOENT" in json.dumps(ours)
        assert "EACCES" in json.dumps(as_nobody(alone.once, first=creator.once))


def test_the_probe_measures_only_disks_that_libvirt_lists(own: ProbeSocket):
    """stocktake-probe runs as root; it refuses to measure a file that is not the disk of a libvirt domain."""
    own.serve()
    disk = GuestFile(path="/srv/guest/disk", format="qcow2")
    with pytest.raises(SourceUnavailable, match="did not measure /srv/guest/disk: libvirt did not name this disk"):
        ProbeMeter(own.path).measure(frozenset({disk}), lambda _path: None)


def test_the_probe_measures_no_guest_disk_if_libvirt_is_down(own: ProbeSocket):
    """If libvirt is down, the root helper stocktake-probe measures nova's instances folder and no guest disk."""
    own.configure(uri="test:///nowhere.xml")
    own.serve()
    assert len(ProbeMeter(own.path).measure(frozenset(), lambda _path: None).image_stores) == 1
    disk = GuestFile(path="/srv/guest/disk", format="qcow2")
    with pytest.raises(SourceUnavailable, match=r"cannot open /nowhere\.xml"):
        ProbeMeter(own.path).measure(frozenset({disk}), lambda _path: None)


def test_the_probe_refuses_a_libvirt_uri_with_a_command(own: ProbeSocket):
    """The root helper stocktake-probe refuses a libvirt URI with `command=`, because it would start a program."""
    own.configure(uri="qemu+ext:///system?command=/bin/true")
    own.serve()
    with pytest.raises(SourceDenied, match="does not lead to a socket of this host"):
        ProbeMeter(own.path).measure(frozenset(), lambda _path: None)
