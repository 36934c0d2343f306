"""Real volume groups on loop devices for tests: VolumeGroupRig, and helpers that only tests need."""

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
    """Return a group that the caller closes; skip the test with the reason if no group can be made."""
    rig = VolumeGroupRig(folder=folder, name=name, size_bytes=size_bytes)
    try:
        rig.create()
    except NoVolumeGroup as error:
        pytest.skip(f"no volume group here: {error}")
    return rig


def view(folder: pathlib.Path, *rigs: VolumeGroupRig) -> SubprocessRunner:
    """Return a runner of lvm2 that sees only the devices of these groups; without groups lvm2 sees no disks at all."""
    lock_folder = folder / "lock"
    lock_folder.mkdir(parents=True, exist_ok=True)
    devices = [device for rig in rigs if (device := rig.device) is not None]
    (folder / "lvm.conf").write_text(lvm_conf(devices, lock_folder), encoding="utf-8")
    return SubprocessRunner(environment={"LVM_SYSTEM_DIR": str(folder)})


def lvm(runner: SubprocessRunner, *argv: str) -> str:
    """Return the output of an lvm2 command; raise AssertionError with its error output if it fails."""
    completed = runner.run(argv, 30.0)
    assert completed.returncode == 0, f"{argv}: {completed.stderr}"
    return completed.stdout


def lay_out(rig: VolumeGroupRig, volumes: Volumes) -> None:
    """Write these volumes into the group's metadata by vgcfgrestore, which needs no device-mapper."""
    backup = rig.folder / f"{rig.name}.metadata"
    lvm(rig.runner, "vgcfgbackup", "-f", str(backup), rig.name)
    backup.write_text(volumes.into(backup.read_text(encoding="utf-8")), encoding="utf-8")
    lvm(rig.runner, "vgcfgrestore", "-y", "--force", "-f", str(backup), rig.name)


def script(folder: pathlib.Path, name: str, body: str) -> pathlib.Path:
    """Return the path of a new shell script that takes the real command's place in PATH."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def loop_devices_of(folder: pathlib.Path) -> list[str]:
    """Return losetup's lines of loop devices over files of this folder, including deleted files."""
    listed = subprocess.run(
        ["losetup", "--list", "--noheadings", "--output", "NAME,BACK-FILE"], check=True, capture_output=True, text=True
    )
    return [line for line in listed.stdout.splitlines() if str(folder) in line]
