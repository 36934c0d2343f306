"""Create a real volume group on a loop device, for the demo and the tests.

The module needs root, loop devices and the commands of lvm2. It runs lvm2 with a separate configuration. With this
configuration lvm2 sees only the loop device, and uses neither device-mapper nor udev. So lvm2 neither changes nor scans
any other device of the machine. The group has a system ID, so that lvm2 with the machine's own configuration ignores
the group.
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
_SECTOR_BYTES = 512  # lvcreate accepts only sizes in whole sectors.
_LOOP_CONTROL = pathlib.Path("/dev/loop-control")
_LOOP_CTL_GET_FREE = 0x4C82  # linux/loop.h
_LOOP_MAJOR = 7
# The number of tries to attach a loop device. One try is not enough: the kernel names a free device, but another
# process may take the device before losetup attaches it.
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
    """A volume group, real or simulated, in which the demo creates volumes."""

    @property
    def name(self) -> str:
        """The name of the volume group."""

    @property
    def description(self) -> str:
        """A short description of the group for the operator."""

    @property
    def runner(self) -> Runner:
        """The runner through which the agent calls vgs and lvs; both commands report only this group."""

    def add_volume(self, name: str, size_bytes: int) -> None:
        """Add a linear volume of whole extents (rounded up). Raises NoVolumeGroup if it cannot be created."""

    def remove_volume(self, name: str) -> None:
        """Remove a volume. Raises NoVolumeGroup if the group has no such volume."""

    def close(self) -> None:
        """Remove everything that was created for this group. A second call has no effect."""


def open_group(folder: pathlib.Path, name: str, size_bytes: int) -> DemoGroup:
    """Return a real volume group if possible, else a RecordedGroup that says why no real group is possible."""
    rig = VolumeGroupRig(folder=folder, name=name, size_bytes=size_bytes)
    try:
        rig.create()
    except NoVolumeGroup as error:
        return RecordedGroup(name=name, size_bytes=size_bytes, reason=str(error))
    return rig


def lvm_conf(devices: Iterable[str], lock_folder: pathlib.Path) -> str:
    """Return an lvm.conf with which lvm2 sees only these devices."""
    accepted = [f'"a|^{device}$|"' for device in devices]
    return _LVM_CONF.format(filter=", ".join([*accepted, '"r|.*|"']), lock_folder=lock_folder)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeGroupRig:
    """A real volume group ``name``, on a loop device over a sparse file in ``folder``; also a context manager.

    The object has no state except its three fields: a second object with the same folder and name, even in another
    process, can close the group that the first object created.
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
    def description(self) -> str:
        """A short description of the group for the operator."""
        return f"a real lvm2 volume group on {self.device}"

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables with which lvm2's commands see only this group."""
        return {"LVM_SYSTEM_DIR": str(self._system_folder)}

    @property
    def runner(self) -> SubprocessRunner:
        """The runner through which the agent calls lvm2's commands; the commands see only this group."""
        return SubprocessRunner(environment=self.environment)

    @property
    def device(self) -> str | None:
        """The loop device, None before ``create`` and after ``close``. Raises NoVolumeGroup if losetup fails."""
        if not self._file.exists():
            return None
        listed = self._run("losetup", "--associated", str(self._file), "--noheadings", "--output", "NAME")
        return next(iter(listed.split()), None)

    def create(self) -> None:
        """Create the file, the loop device and the group, or remove what was created and raise NoVolumeGroup."""
        if os.geteuid() != 0:
            raise NoVolumeGroup("a real volume group needs root")
        if self._file.exists():
            raise NoVolumeGroup(f"{self._file} exists already")
        try:
            self._create()
        except OSError as error:
            self.close()
            raise NoVolumeGroup(f"cannot create a volume group on a loop device: {error}") from error
        except BaseException:
            self.close()
            raise

    def add_volume(self, name: str, size_bytes: int) -> None:
        """Add a linear volume. lvcreate rounds the size up to whole extents. Raises NoVolumeGroup if lvcreate fails."""
        # By default lvcreate also activates, zeroes and wipes a volume. lvm2 cannot do this without device-mapper, so
        # these options switch these steps off. The demo never opens its volumes, so no step is missed.
        unopened = ("-an", "-Zn", "-Wn", "-y")
        self._run("lvcreate", *unopened, "-L", f"{-(-size_bytes // _SECTOR_BYTES)}s", "-n", name, self.name)

    def remove_volume(self, name: str) -> None:
        """Remove a volume. Raises NoVolumeGroup if the group has no such volume."""
        self._run("lvremove", "-f", "-y", f"{self.name}/{name}")

    def close(self) -> None:
        """Remove the group, the loop device and the files, as far as they exist. A second call has no effect.

        Raises NoVolumeGroup if losetup fails, but removes the files even then.
        """
        try:
            self._close_device()
        finally:
            self._file.unlink(missing_ok=True)
            shutil.rmtree(self._system_folder, ignore_errors=True)

    def _close_device(self) -> None:
        if (device := self.device) is not None:
            # If vgremove fails, the device must be detached all the same. ``close`` then removes the file, and with the
            # file the group disappears.
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
        raise NoVolumeGroup(f"no free loop device: other processes took the device in each of {_LOOP_TRIES} tries")

    def _run(self, *argv: str) -> str:
        try:
            completed = self.runner.run(argv, _COMMAND_S)
        except TimeoutError as error:
            raise NoVolumeGroup(f"{argv[0]} did not answer within {_COMMAND_S:g} s") from error
        except OSError as error:
            raise NoVolumeGroup(f"{argv[0]} cannot be started: {error.strerror}") from error
        if completed.returncode != 0:
            failure = _Busy if os.strerror(errno.EBUSY) in completed.stderr else NoVolumeGroup
            raise failure(f"{argv[0]} ended with exit code {completed.returncode}: {_reasons(completed.stderr)}")
        return completed.stdout


def _reasons(stderr: str) -> str:
    """Return stderr as one line without warnings; lvm2 warns because _LVM_CONF turns device-mapper off."""
    lines = (line.strip() for line in stderr.splitlines())
    return "; ".join(line for line in lines if line and not line.startswith("WARNING:")) or "nothing on stderr"


class _Busy(NoVolumeGroup):
    """Raised if another process has taken the loop device first."""


def _free_loop_devices() -> Iterator[str]:
    """Yield the kernel's free loop devices. In a container, create a missing device node. Raises OSError."""
    with _LOOP_CONTROL.open("rb") as control:
        for _ in range(_LOOP_TRIES):
            number = fcntl.ioctl(control, _LOOP_CTL_GET_FREE)
            node = pathlib.Path(f"/dev/loop{number}")
            if not node.exists():
                os.mknod(node, stat.S_IFBLK | 0o660, os.makedev(_LOOP_MAJOR, number))
            yield str(node)
