"""Make a real volume group on a loop device, for the demo and the tests.

It needs root and loop devices, and nothing else: lvm2 runs with a configuration
of its own that lets it see this one device, without device-mapper and udev, so
that nothing of the machine is touched or even scanned. The group carries a
system ID, so that the machine's own lvm2 leaves it alone in turn.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pathlib
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from agent.demo.recorded_group import NoVolumeGroup, RecordedGroup
from agent.sources.storage.lvm import Runner, SubprocessRunner

_COMMAND_S = 30.0
_SECTOR_BYTES = 512  # lvcreate takes whole sectors only
_LOOP_CONTROL = pathlib.Path("/dev/loop-control")
_LOOP_CTL_GET_FREE = 0x4C82  # linux/loop.h
_LOOP_MAJOR = 7
# The free device is named first and taken later, so another process may be quicker.
_LOOP_TRIES = 20

_LVM_CONF = """\
devices {{
    filter = [ {filter} ]
    use_devicesfile = 0
    hints = "none"
    obtain_device_list_from_udev = 0
}}
global {{
    activation = 0
    locking_dir = "{lock_folder}"
    system_id_source = "lvmlocal"
    use_lvmpolld = 0
}}
local {{ system_id = "stocktake-demo" }}
backup {{
    backup = 0
    archive = 0
}}
activation {{
    monitoring = 0
    udev_sync = 0
    udev_rules = 0
}}
"""


class DemoGroup(Protocol):
    """A volume group that the demo can fill; ``told`` says in a few words what stands behind it."""

    @property
    def name(self) -> str:
        """The group's."""
        ...

    @property
    def told(self) -> str:
        """What it is, for people."""
        ...

    @property
    def runner(self) -> Runner:
        """Answers vgs and lvs about this group alone."""
        ...

    def add_volume(self, name: str, size_bytes: int) -> None:
        """A linear volume, its size rounded up to whole extents. Raises NoVolumeGroup."""
        ...

    def remove_volume(self, name: str) -> None:
        """Remove it. Raises NoVolumeGroup when there is none."""
        ...

    def close(self) -> None:
        """Leave nothing behind; may be called again."""
        ...


def open_group(folder: pathlib.Path, name: str, size_bytes: int) -> DemoGroup:
    """A real volume group where that is possible, else a recorded one, which tells why."""
    rig = VolumeGroupRig(folder=folder, name=name, size_bytes=size_bytes)
    try:
        rig.create()
    except NoVolumeGroup as error:
        return RecordedGroup(name=name, size_bytes=size_bytes, reason=str(error))
    return rig


def lvm_conf(devices: Iterable[str], lock_folder: pathlib.Path) -> str:
    """An lvm.conf with which lvm2 sees these devices, and no others."""
    accepted = [f'"a|^{device}$|"' for device in devices]
    return _LVM_CONF.format(filter=", ".join([*accepted, '"r|.*|"']), lock_folder=lock_folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeGroupRig:
    """A real volume group ``name`` on a loop device over a sparse file in ``folder``; a context manager.

    It remembers nothing beside its three values: a rig made anew for the same
    folder and name, in another process too, closes what the first one created.
    """

    folder: pathlib.Path
    name: str
    size_bytes: int

    def __enter__(self) -> VolumeGroupRig:
        self.create()
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    @property
    def told(self) -> str:
        """What it is, for people."""
        return f"a real lvm2 volume group on {self.device}"

    @property
    def environment(self) -> dict[str, str]:
        """What lvm2's commands need in their environment to see this group, and only it."""
        return {"LVM_SYSTEM_DIR": str(self._system_folder)}

    @property
    def runner(self) -> SubprocessRunner:
        """Runs lvm2 so that it sees this group, and only it."""
        return SubprocessRunner(environment=self.environment)

    @property
    def device(self) -> str | None:
        """The loop device, or None where there is none (any more). Raises NoVolumeGroup when losetup fails."""
        if not self._file.exists():
            return None
        listed = self._run("losetup", "--associated", str(self._file), "--noheadings", "--output", "NAME")
        return next(iter(listed.split()), None)

    def create(self) -> None:
        """Make the file, the loop device and the group. Raises NoVolumeGroup, with nothing left behind."""
        if os.geteuid() != 0:
            raise NoVolumeGroup("a real volume group needs root")
        if self._file.exists():
            raise NoVolumeGroup(f"{self._file} exists already")
        try:
            self._create()
        except OSError as error:
            self.close()
            raise NoVolumeGroup(f"no volume group on a loop device: {error}") from error
        except BaseException:
            self.close()
            raise

    def add_volume(self, name: str, size_bytes: int) -> None:
        """A linear volume, its size rounded up to whole extents. Raises NoVolumeGroup."""
        # Without device-mapper nothing can be activated, zeroed or wiped, and the demo's volumes are never opened.
        unopened = ("-an", "-Zn", "-Wn", "-y")
        self._run("lvcreate", *unopened, "-L", f"{-(-size_bytes // _SECTOR_BYTES)}s", "-n", name, self.name)

    def remove_volume(self, name: str) -> None:
        """Remove it. Raises NoVolumeGroup when there is none."""
        self._run("lvremove", "-f", "-y", f"{self.name}/{name}")

    def close(self) -> None:
        """Remove the group, the loop device and the files; whatever of it is there, so it may be called again.

        Raises NoVolumeGroup when losetup fails; the files are gone all the same.
        """
        try:
            self._close_device()
        finally:
            self._file.unlink(missing_ok=True)
            shutil.rmtree(self._system_folder, ignore_errors=True)

    def _close_device(self) -> None:
        if (device := self.device) is not None:
            # Group and metadata end with the file, so a group that cannot be removed must not keep the device.
            with contextlib.suppress(NoVolumeGroup):
                self._run("vgremove", "-f", "-y", self.name)
            self._run("losetup", "--detach", device)

    @property
    def _file(self) -> pathlib.Path:
        return self.folder / f"{self.name}.img"

    @property
    def _system_folder(self) -> pathlib.Path:
        return self.folder / f"{self.name}.lvm"

    def _create(self) -> None:
        lock_folder = self._system_folder / "lock"
        lock_folder.mkdir(parents=True)
        with self._file.open("xb") as file:
            file.truncate(self.size_bytes)
        device = self._attach()
        conf = lvm_conf((device,), lock_folder)
        (self._system_folder / "lvm.conf").write_text(conf, encoding="utf-8")
        self._run("vgcreate", "--setautoactivation", "n", self.name, device)

    def _attach(self) -> str:
        for device in _free_loop_devices():
            with contextlib.suppress(_Busy):
                self._run("losetup", device, str(self._file))
                return device
        raise NoVolumeGroup(f"no loop device stayed free in {_LOOP_TRIES} tries")

    def _run(self, *argv: str) -> str:
        try:
            completed = self.runner.run(argv, _COMMAND_S)
        except TimeoutError as error:
            raise NoVolumeGroup(f"{argv[0]} did not answer within {_COMMAND_S:g} s") from error
        except OSError as error:
            raise NoVolumeGroup(f"{argv[0]} cannot be started: {error.strerror}") from error
        if completed.returncode != 0:
            failure = _Busy if os.strerror(errno.EBUSY) in completed.stderr else NoVolumeGroup
            raise failure(f"{argv[0]} ended with {completed.returncode}: {_reasons(completed.stderr)}")
        return completed.stdout


def _reasons(stderr: str) -> str:
    """What it said, on one line; its warnings are about device-mapper, which it is told to do without."""
    lines = (line.strip() for line in stderr.splitlines())
    return "; ".join(line for line in lines if line and not line.startswith("WARNING:")) or "nothing on stderr"


class _Busy(NoVolumeGroup):
    """Somebody else took the device first."""


def _free_loop_devices() -> Iterator[str]:
    """Loop devices that were free when asked, their nodes made where they are missing (containers). Raises OSError."""
    with _LOOP_CONTROL.open("rb") as control:
        for _ in range(_LOOP_TRIES):
            number = fcntl.ioctl(control, _LOOP_CTL_GET_FREE)
            node = pathlib.Path(f"/dev/loop{number}")
            if not node.exists():
                os.mknod(node, stat.S_IFBLK | 0o660, os.makedev(_LOOP_MAJOR, number))
            yield str(node)
