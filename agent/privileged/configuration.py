"""Read from the agent's configuration which data stocktake-probe may read and which user may call stocktake-probe."""

from __future__ import annotations

from collections.abc import Sequence

from agent.config.build import ceph_access, libvirt_uri, settings_from
from agent.config.files import find_files
from agent.config.load import load
from agent.config.options.image_cache import cache_path
from agent.privileged.trust import check_files, check_uri
from agent.privileged.verbs import Scope


def configured(files: Sequence[str], folders: Sequence[str]) -> tuple[Scope, str]:
    """Return what stocktake-probe may read, and the user who may call this privileged helper (root always may).

    Raises Untrusted if users other than root may write a configuration file, or if libvirt's URI leads to another host
    or program; ConfigError if the configuration is wrong.
    """
    # Check the files before they are parsed: a configuration file can name further files to read, and a file that other
    # users may write must not decide what the probe reads.
    check_files(find_files(files, folders).paths)
    loaded = load(files, folders)
    check_files(loaded.nova_files)
    settings, uri = settings_from(loaded), libvirt_uri(loaded)
    check_uri(uri)
    in_files = settings.disk_group is None
    scope = Scope(
        groups=settings.volume_groups,
        ceph=ceph_access(loaded) if in_files else None,
        has_pmem=bool(settings.pmem_labels),
        file_systems=(settings.instances_path,) if in_files else (),
        instances_path=settings.instances_path,
        cache_path=cache_path(loaded),
        libvirt_uri=uri,
        settings=settings,
    )
    return scope, loaded.value("agent", "probe_user")
