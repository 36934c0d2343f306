"""Read from the agent's configuration which data stocktake-probe may read and which user may call stocktake-probe."""

from __future__ import annotations

from collections.abc import Sequence

from agent.config.build import ceph_access, settings_from
from agent.config.files import find_files
from agent.config.load import load
from agent.privileged.trust import check_files
from agent.privileged.verbs import Scope


def configured(files: Sequence[str], folders: Sequence[str]) -> tuple[Scope, str]:
    """Return what the probe may read, and the name of the user who may call the probe (root always may).

    Raises Untrusted if users other than root may write a file, ConfigError if the configuration is wrong.
    """
    # The check precedes the parsing: a file that other users may write must not even name further files to read.
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
