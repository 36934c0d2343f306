"""Write two files for each host of a kept demo cloud. With them, the operator can copy and run each printed command.

``HOST/bin/stocktake`` runs the program with the host's configuration. The operator types ``. HOST/rc`` in a shell. In
this shell, ``stocktake`` is then that program, lvm2's commands see only the demo's volume groups, and an installed
``openstack`` client asks the demo's Placement.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from agent.demo.cast import HostCast
from agent.demo.cloud import DemoCloud
from agent.demo.placement import TOKEN


def write_shell_files(cloud: DemoCloud, program: str) -> None:
    """Write the files ``bin/stocktake`` and ``rc`` for each host; ``program`` is the full path of ``stocktake``."""
    for host in cloud.hosts:
        script = command_file(cloud, host)
        script.parent.mkdir(exist_ok=True)
        started = shlex.join([program, "--config-file", str(cloud.config_file(host))])
        lines = ["#!/bin/sh", *_exports(cloud), f'exec {started} "$@"']
        script.write_text("\n".join([*lines, ""]), encoding="utf-8")
        script.chmod(0o755)
        path = f"export PATH={shlex.quote(str(script.parent))}:$PATH"
        # A shell remembers where it found a program. So after a change of PATH it may still start the ``stocktake``
        # that it found before. ``hash -r`` makes the shell search again.
        openstack = (f"export OS_AUTH_TYPE=admin_token OS_TOKEN={TOKEN} OS_ENDPOINT={cloud.placement.url}", "hash -r")
        rc = [f"# Load this with: . {shlex.quote(str(rc_file(cloud, host)))}", *_exports(cloud), path, *openstack, ""]
        rc_file(cloud, host).write_text("\n".join(rc), encoding="utf-8")


def command_file(cloud: DemoCloud, host: HostCast) -> Path:
    """Return the path of the program ``stocktake`` of that host."""
    return cloud.folder / host.name / "bin" / "stocktake"


def rc_file(cloud: DemoCloud, host: HostCast) -> Path:
    """Return the path of the file that a shell reads to work on that host."""
    return cloud.folder / host.name / "rc"


def _exports(cloud: DemoCloud) -> list[str]:
    return [f"export LVM_SYSTEM_DIR={shlex.quote(str(cloud.lvm_folder))}"] if cloud.has_real_groups else []
