"""Real volume groups on loop devices for tests: VolumeGroupRig, and what only tests do to one."""

from __future__ import annotations

import pathlib
import stat
import subprocess

import pytest

from agent.demo.volume_group import NoVolumeGroup, VolumeGroupRig, lvm_conf
from agent.sources.storage.lvm import SubprocessRunner
from tests.rigs.lvm_layouts import Volumes

RECORDED = pathlib.Path(__file__).parent / "lvm_recorded"


def make_group(folder: pathlib.Path, name: str, size_bytes: int = 1 << 30) -> VolumeGroupRig:
    """A group that the caller closes; skips the test, saying why, where none can be made."""
    rig = VolumeGroupRig(folder=folder, name=name, size_bytes=size_bytes)
    try:
        rig.create()
    except NoVolumeGroup as error:
        pytest.skip(f"no volume group here: {error}")
    return rig


def view(folder: pathlib.Path, *rigs: VolumeGroupRig) -> SubprocessRunner:
    """An lvm2 that sees the devices of these groups only; of none: the whole machine seems to be without disks."""
    lock_folder = folder / "lock"
    lock_folder.mkdir(parents=True, exist_ok=True)
    devices = [device for rig in rigs if (device := rig.device) is not None]
    (folder / "lvm.conf").write_text(lvm_conf(devices, lock_folder), encoding="utf-8")
    return SubprocessRunner(environment={"LVM_SYSTEM_DIR": str(folder)})


def lvm(runner: SubprocessRunner, *argv: str) -> str:
    """What an lvm2 command prints; AssertionError with its words when it fails."""
    completed = runner.run(argv, 30.0)
    assert completed.returncode == 0, f"{argv}: {completed.stderr}"
    return completed.stdout


def lay_out(rig: VolumeGroupRig, volumes: Volumes) -> None:
    """Put these volumes into the group's metadata, by the way that needs no device-mapper."""
    backup = rig.folder / f"{rig.name}.metadata"
    lvm(rig.runner, "vgcfgbackup", "-f", str(backup), rig.name)
    backup.write_text(volumes.into(backup.read_text(encoding="utf-8")), encoding="utf-8")
    lvm(rig.runner, "vgcfgrestore", "-y", "--force", "-f", str(backup), rig.name)


def script(folder: pathlib.Path, name: str, body: str) -> pathlib.Path:
    """A shell script that stands in PATH before the real command."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def loop_devices_of(folder: pathlib.Path) -> list[str]:
    """Loop devices over files of this folder, deleted ones included, as losetup lists them."""
    listed = subprocess.run(
        ["losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE"], check=True, capture_output=True, text=True
    )
    return [line for line in listed.stdout.splitlines() if str(folder) in line]
