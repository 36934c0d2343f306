"""Read from the agent's configuration what stocktake-probe may read and whom it answers."""

from __future__ import annotations

from collections.abc import Sequence

from agent.config.build import ceph_access, settings_from
from agent.config.files import find_files
from agent.config.load import load
from agent.privileged.trust import check_files
from agent.privileged.verbs import Scope


def configured(files: Sequence[str], folders: Sequence[str]) -> tuple[Scope, str]:
    """Return what the probe may read, and the name of the user that it answers besides root.

    Raises Untrusted if others than root may write a file, ConfigError if the configuration is wrong.
    """
    # Before parsing: a file that others may write must not even name further files.
    check_files(find_files(files, folders).paths)
    loaded = load(files, folders)
    check_files(loaded.nova_files)
    settings = settings_from(loaded)
    scope = Scope(
        groups=settings.volume_groups,
        ceph=ceph_access(loaded) if settings.disk_group is None else None,
        has_pmem=bool(settings.pmem_labels),
    )
    return scope, loaded.value("agent", "probe_user")
