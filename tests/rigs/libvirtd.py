"""Real libvirtd: a private one to kill, freeze and restart, and the machine's own for real QEMU guests.

The private libvirtd runs in session mode with all its folders moved, so it shares nothing with the machine's. libvirtd
chooses session mode by its user id, so root starts it as ``nobody``. Its folder is therefore not pytest's, which has
mode 0700. The folder's path is short, because the path of a socket may have only 107 characters.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import libvirt

from tests.rigs.domains import domain_xml
from tests.rigs.wait import until

_NOBODY = 65534
_START_S = 30.0
_STOP_S = 20.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SHARED = Path(tempfile.gettempdir()) / "stocktake-test-libvirtd"
SYSTEM_URI = "qemu:///system"
_LOG_SOCKET = "/run/libvirt/virtlogd-sock"


def libvirtd_program() -> str | None:
    """Return the path of libvirtd, None if it is not installed."""
    return shutil.which("libvirtd", path=_PATH)


class PrivateLibvirtd:
    """A private libvirtd; ``uri`` opens its test driver over its socket. Each start loads ``node_xml`` as its node."""

    def __init__(self, folder: Path, node_xml: str | None) -> None:
        self.folder = folder
        self.node_xml = node_xml
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        """The socket that clients open."""
        return self.folder / "run" / "libvirt" / "libvirt-sock"

    @property
    def uri(self) -> str:
        """The test driver's URI: the given node, private to each connection; else the default node, shared by all."""
        path = "/default" if self.node_xml is None else str(self.folder / "node.xml")
        return f"test+unix://{path}?socket={self.socket}"

    def start(self) -> None:
        """Start libvirtd and wait until it answers."""
        for name in ("run", "config", "cache", "data"):
            (self.folder / name).mkdir(exist_ok=True)
        if self.node_xml is not None:
            (self.folder / "node.xml").write_text(self.node_xml)
        user = None if os.geteuid() else _NOBODY
        if user is not None:
            for path in (self.folder, *self.folder.iterdir()):
                os.chown(path, user, user)
        self.socket.unlink(missing_ok=True)
        environment = {"PATH": _PATH, "HOME": str(self.folder)} | {
            f"XDG_{variable}": str(self.folder / name)
            for variable, name in (
                ("RUNTIME_DIR", "run"),
                ("CONFIG_HOME", "config"),
                ("CACHE_HOME", "cache"),
                ("DATA_HOME", "data"),
            )
        }
        with (self.folder / "libvirtd.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(libvirtd_program())],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )
        until(self._answers, _START_S, f"a private libvirtd answers: {self.folder / 'libvirtd.log'}")

    def kill(self) -> None:
        """Kill libvirtd with SIGKILL."""
        self._signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait()
        self._process = None

    def freeze(self) -> None:
        """Stop libvirtd with SIGSTOP: the kernel still accepts connections for it, but it does not answer."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let libvirtd continue with SIGCONT."""
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        """Kill libvirtd if it runs, frozen or not."""
        if self._process is not None:
            self.kill()

    def _signal(self, number: int) -> None:
        assert self._process is not None, "not running"
        self._process.send_signal(number)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.folder / "libvirtd.log").read_text()
        return self.socket.exists() and _opens(f"test+unix:///default?socket={self.socket}")


@contextlib.contextmanager
def private_libvirtd(node_xml: str | None = None) -> Iterator[PrivateLibvirtd]:
    """Yield a running private libvirtd; ``node_xml`` is the test driver's node (tests.rigs.domains.node_xml)."""
    folder = Path(tempfile.mkdtemp(prefix="stk-"))
    folder.chmod(0o755)
    daemon = PrivateLibvirtd(folder, node_xml)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.stop()
        shutil.rmtree(folder, ignore_errors=True)


class SystemLibvirtd:
    """qemu:///system, with tiny paused guests named after this process."""

    uri = SYSTEM_URI

    def __init__(self, connection: libvirt.virConnect) -> None:
        self.connection = connection
        self._numbers = itertools.count(1)

    def guest_xml(self, *, vcpus: int = 1, max_vcpus: int = 2, memory_mib: int = 64, metadata: str = "") -> str:
        """Return a guest without disks that is emulated, so that it needs no /dev/kvm."""
        return domain_xml(
            f"stocktake-{os.getpid()}-{next(self._numbers)}",
            memory_mib=memory_mib,
            metadata=metadata,
            kind="qemu",
            os_type="<type arch='x86_64' machine='pc'>hvm</type>",
            vcpu_element=f"<vcpu placement='static' current='{vcpus}'>{max_vcpus}</vcpu>",
            more="<features><acpi/></features>",  # vCPUs are plugged by ACPI
        )

    @contextlib.contextmanager
    def defined(self, **size: int | str) -> Iterator[libvirt.virDomain]:
        """Yield a guest that is defined and not started; destroy and undefine it after the block."""
        domain = self.connection.defineXML(self.guest_xml(**size))  # type: ignore[arg-type]
        try:
            yield domain
        finally:
            with contextlib.suppress(libvirt.libvirtError):
                domain.destroy()
            with contextlib.suppress(libvirt.libvirtError):
                domain.undefine()

    @contextlib.contextmanager
    def started(self, **size: int | str) -> Iterator[libvirt.virDomain]:
        """Yield a guest that was started paused: its QEMU runs, its vCPUs do not."""
        with self.defined(**size) as domain:
            domain.createWithFlags(libvirt.VIR_DOMAIN_START_PAUSED)
            yield domain


@contextlib.contextmanager
def system_libvirtd() -> Iterator[SystemLibvirtd]:
    """Yield qemu:///system: the running libvirtd, else a libvirtd that this rig starts and its last user stops.

    Several test processes share it. Each user holds a shared lock; the last user is the one that gets the exclusive
    lock at its end. The rig stops only daemons that it started.
    """
    _SHARED.mkdir(exist_ok=True)
    with (_SHARED / "users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        with _alone():
            let_libvirt_open_kvm()
            if not _opens(SYSTEM_URI):
                _start_system()
        connection = libvirt.open(SYSTEM_URI)
        try:
            yield SystemLibvirtd(connection)
        finally:
            connection.close()
            with _alone(), contextlib.suppress(BlockingIOError):
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _end_system()


def let_libvirt_open_kvm() -> None:
    """Set the owner and mode of /dev/kvm as udev does, on a machine without udev.

    Otherwise libvirt, as root, finds KVM but QEMU cannot open it. Then every call for capabilities probes QEMU again
    for 8 s.
    """
    import grp

    device = Path("/dev/kvm")
    with contextlib.suppress(FileNotFoundError, KeyError, PermissionError):
        status = device.stat()
        if status.st_uid == 0 and stat.S_IMODE(status.st_mode) == 0o600:
            os.chown(device, 0, grp.getgrnam("kvm").gr_gid)
            device.chmod(0o660)


def _opens(uri: str) -> bool:
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    try:
        libvirt.openReadOnly(uri).close()
    except libvirt.libvirtError:
        return False
    return True


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    with (_SHARED / "starting").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _start_system() -> None:
    """Start virtlogd, and then libvirtd once virtlogd answers: otherwise a starting guest finds no virtlogd."""
    pids = {}
    answers = {"virtlogd": lambda: _listens(_LOG_SOCKET), "libvirtd": lambda: _opens(SYSTEM_URI)}
    for name, is_up in answers.items():
        with (_SHARED / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [str(shutil.which(name, path=_PATH))],
                env={"PATH": _PATH},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        pids[name] = process.pid
        _CHILDREN[process.pid] = process
        (_SHARED / "started.json").write_text(json.dumps(pids))
        until(is_up, _START_S, f"{name} answers: {_SHARED}/{name}.log")


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(path) == 0


# This process must wait for its own children, even if another test process stops them.
_CHILDREN: dict[int, subprocess.Popen[bytes]] = {}


def _end_system() -> None:
    record = _SHARED / "started.json"
    if not record.exists():
        return
    pids = json.loads(record.read_text())
    for name in ("libvirtd", "virtlogd"):
        if name in pids and _runs(name, pids[name]):
            os.kill(pids[name], signal.SIGTERM)
            until(lambda name=name: not _runs(name, pids[name]), _STOP_S, f"{name} ends")
    record.unlink()


def _runs(name: str, pid: int) -> bool:
    if pid in _CHILDREN and _CHILDREN[pid].poll() is not None:
        return False
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)
        return fields[0].endswith(f"({name}") and not fields[1].strip().startswith("Z")
    return False
