"""Turn a loaded configuration into the typed values of each part of the agent, and reject invalid values.

Each function raises one ConfigError with all of its own problems. ``check`` collects the problems of all functions, so
that the operator sees the whole list and not only the first problem. The rules for the options are in ``reading``, one
file per subject.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from agent.config.agent_options import agent_options_from, interval_s_of, relative_paths
from agent.config.bounds import bound_notices, bounded, check_bounds
from agent.config.load import survey
from agent.config.loaded import Loaded
from agent.config.options.devices import mdev_notices, mdev_types
from agent.config.options.heal import heal_settings
from agent.config.options.healthcheck import health_notices, health_options_from
from agent.config.options.image_cache import cache_notices, cache_path
from agent.config.options.metrics import metrics_notices, metrics_options_from
from agent.config.options.neutron import networks
from agent.config.options.pci import pci, pci_notices
from agent.config.options.rabbit import bus_options_from
from agent.config.options.state import state_options_from
from agent.config.problems import problems_of, refuse
from agent.config.reading.access import source_access
from agent.config.reading.blanks import blank_notices, comment_notices
from agent.config.reading.cpu_sets import cpu_notices, cpu_sets
from agent.config.reading.disks import EXCLUDED_TYPES, excluded_image_types, images_type, volume_groups
from agent.config.reading.guest_cpu import MACHINES, guest_cpu, machine_types
from agent.config.reading.host_checks import host_notices, host_problems
from agent.config.reading.memory import file_backed_memory_mib, huge_page_notices, memory_notices, reserved_huge_pages
from agent.config.reading.pmem_labels import pmem_labels
from agent.config.reading.provider_yaml import provider_entries, provider_notices
from agent.config.reading.tls import KEY_ALONE, cafile_notices, tls_files
from agent.config.reading.tpm import TPM_OWNERS, tpm
from agent.errors import ConfigError
from agent.host_files.identity import ComputeIdFiles
from agent.model.settings import CephAccess, RatioPolicy, Role, Settings, UnmanagedPolicy
from agent.placement.http.access import client_from_conf

URIS = {"kvm": "qemu:///system", "qemu": "qemu:///system", "lxc": "lxc:///system", "parallels": "parallels:///system"}


def check_settings(loaded: Loaded) -> None:
    """Check the options that ``settings_from`` reads. Raises one ConfigError with all problems, if there are any."""
    refuse(problems_of(loaded, SETTINGS_READERS))


def settings_from(loaded: Loaded) -> Settings:
    """Return the settings of an audit. Raises ConfigError with every problem."""
    check_settings(loaded)
    value, cpus = loaded.value, cpu_sets(loaded)
    interval_s = interval_s_of(loaded)
    return Settings(
        role=Role(value("agent", "role")),
        takeover=value("agent", "takeover"),
        host=value("DEFAULT", "host"),
        my_ip=value("DEFAULT", "my_ip") or None,
        unknown_guests=UnmanagedPolicy(value("agent", "unknown_guests")),
        confirm_audits=value("agent", "confirm_audits"),
        confirm_spacing_s=float(value("agent", "confirm_spacing")),
        # Three audit intervals, so that one late or failed audit does not prevent the confirmation of a finding.
        confirm_within_s=None if interval_s is None else 3 * interval_s,
        service_down_time_s=bounded(loaded, "DEFAULT", "service_down_time"),
        full_read_every=value("placement", "full_read_every"),
        consumer_reads=value("placement", "consumer_reads"),
        source_deadline_s=value("agent", "source_deadline"),
        provider_entries=provider_entries(loaded),
        heal=dataclasses.replace(heal_settings(loaded), interval_s=interval_s),
        cpu_ratio=_ratio(loaded, "cpu"),
        reserved_host_cpus=value("DEFAULT", "reserved_host_cpus"),
        cpu_shared_set=cpus.shared,
        cpu_dedicated_set=cpus.dedicated,
        vcpu_pin_set=cpus.pinned,
        cpu_power_management=value("libvirt", "cpu_power_management"),
        memory_ratio=_ratio(loaded, "ram"),
        reserved_host_memory_mib=value("DEFAULT", "reserved_host_memory_mb"),
        file_backed_memory_mib=file_backed_memory_mib(loaded),
        reserved_huge_pages=reserved_huge_pages(loaded),
        pmem_labels=pmem_labels(loaded),
        disk_ratio=_ratio(loaded, "disk"),
        reserved_host_disk_mib=value("DEFAULT", "reserved_host_disk_mb"),
        images_type=images_type(loaded),
        images_volume_group=value("libvirt", "images_volume_group") or None,
        images_rbd_pool=value("libvirt", "images_rbd_pool"),
        instances_path=value("DEFAULT", "instances_path"),
        volume_groups=volume_groups(loaded),
        foreign_volumes=UnmanagedPolicy(value("lvm", "foreign_volumes")),
        accepted_volumes=tuple(value("lvm", "accepted_volumes")),
        force_raw_images=value("DEFAULT", "force_raw_images"),
        image_types_excluded=excluded_image_types(loaded),
        reserve_image_cache=value("workarounds", "reserve_disk_resource_for_image_cache"),
        virt_type=value("libvirt", "virt_type"),
        guest_cpu=guest_cpu(loaded),
        machine_types=machine_types(loaded),
        tpm=tpm(loaded),
        intel_tdx_guests=bounded(loaded, "libvirt", "num_intel_tdx_guests"),
        mdev_types=mdev_types(loaded),
        pci=pci(loaded),
        networks=networks(loaded),
        access=source_access(loaded, libvirt_uri, ceph_access),
    )


def libvirt_uri(loaded: Loaded) -> str:
    """Return the libvirt URI: ``[libvirt] connection_uri`` or, if that option is empty, the URI for ``virt_type``."""
    return loaded.value("libvirt", "connection_uri") or URIS[loaded.value("libvirt", "virt_type")]


def ceph_access(loaded: Loaded) -> CephAccess | None:
    """Return the Ceph pool of the guests' disks and how to connect to Ceph; None if ``images_type`` is not rbd."""
    if loaded.value("libvirt", "images_type") != "rbd":
        return None
    return CephAccess(
        pool=loaded.value("libvirt", "images_rbd_pool"),
        user=loaded.value("libvirt", "rbd_user") or None,
        conf=loaded.value("libvirt", "images_rbd_ceph_conf") or None,
    )


def identity_files(loaded: Loaded) -> ComputeIdFiles:
    """Return the folders in which to look for a file ``compute_id``: config folders, nova's state_path, state_dir."""
    folders = [*map(os.path.dirname, loaded.files), *map(os.path.abspath, loaded.config_dirs)]
    folders += map(os.path.dirname, loaded.nova_files)
    return ComputeIdFiles(
        config_dirs=tuple(map(Path, dict.fromkeys(folders))),
        nova_state_path=Path(loaded.nova.state_path) if loaded.nova.state_path else None,
        state_dir=Path(loaded.value("agent", "state_dir")),
    )


def load_checked(config_files: Sequence[str] = (), config_dirs: Sequence[str] = ()) -> Loaded:
    """Load the configuration and check it for this host. Raises ConfigError with every problem of files and values."""
    loaded = survey(config_files, config_dirs)
    require(loaded)
    return loaded


def check(loaded: Loaded) -> tuple[str, ...]:
    """Return one sentence for each problem that prevents this configuration from working on this host.

    If the value of an option cannot be parsed, every check that needs this option reports only that. The Placement
    client is built last, and only if there is no other problem, because the client needs correct options.
    """
    problems = tuple(dict.fromkeys((*loaded.problems, *problems_of(loaded, BUILDERS))))
    return problems or problems_of(loaded, (_check_client,))


def require(loaded: Loaded) -> None:
    """Raise ConfigError with every problem that ``check`` returns, if ``check`` returns any."""
    refuse(check(loaded))


def notices(loaded: Loaded) -> tuple[str, ...]:
    """Return a sentence for each setting that works but is deprecated or probably a mistake.

    The daemon logs the notices once at start. A malformed option yields no notice, because ``check`` reports it as a
    problem.
    """
    found: list[str] = []
    for read in NOTICES:
        with contextlib.suppress(ConfigError):
            found += read(loaded)
    return tuple(found)


def _ratio(loaded: Loaded, name: str) -> RatioPolicy:
    """Return the configured and the initial allocation ratio of ``cpu``, ``ram`` or ``disk``.

    The configured ratio is None if the option is unset or 0.0.
    """
    return RatioPolicy(
        configured=loaded.value("DEFAULT", f"{name}_allocation_ratio") or None,
        initial=bounded(loaded, "DEFAULT", f"initial_{name}_allocation_ratio"),
    )


def _check_paths(loaded: Loaded) -> None:
    folder = ("compute", "provider_config_location")
    refuse(relative_paths(loaded, ("DEFAULT", "instances_path"), *([folder] if loaded.value(*folder) else [])))


def _check_auth(loaded: Loaded) -> None:
    section = loaded.value("placement", "auth_section") or "placement"
    if not loaded.value(section, "auth_type"):
        problem = f"[{section}] auth_type is not set: the agent cannot use Placement without it"
        raise ConfigError(f"{problem} (looked in {loaded.all_searched()})")
    required = [opt.dest for group, opt in loaded.options if group == section and opt.required]
    unset = [name for name in required if loaded.value(section, name) in (None, "")]
    refuse(f"[{section}] {name} is not set: {loaded.quote(section, 'auth_type')} needs it" for name in unset)


def _check_client(loaded: Loaded) -> None:
    client_from_conf(loaded.conf)


def _check_host(loaded: Loaded) -> None:
    refuse(host_problems(loaded))


def _ignored(loaded: Loaded) -> Iterable[str]:
    yield from (
        f"{problem}. nova-compute starts despite this value; the agent uses the default" for problem in loaded.ignored
    )


def _deprecated(loaded: Loaded) -> Iterable[str]:
    if loaded.value("DEFAULT", "vcpu_pin_set"):
        yield f"{loaded.quote('DEFAULT', 'vcpu_pin_set')}: deprecated, use [compute] cpu_shared_set"


# The functions that read the settings of an audit. Each function raises ConfigError with its own problems. The agent
# reports the problems in the order of this list.
SETTINGS_READERS: tuple[Callable[[Loaded], object], ...] = (
    cpu_sets,
    images_type,
    volume_groups,
    excluded_image_types,
    check_bounds,
    file_backed_memory_mib,
    reserved_huge_pages,
    guest_cpu,
    machine_types,
    tpm,
    mdev_types,
    pmem_labels,
    pci,
    networks,
    provider_entries,
    heal_settings,
    _check_paths,
)

BUILDERS: tuple[Callable[[Loaded], object], ...] = (
    _check_auth,
    tls_files,
    check_settings,
    agent_options_from,
    libvirt_uri,
    cache_path,
    ceph_access,
    state_options_from,
    bus_options_from,
    health_options_from,
    metrics_options_from,
    identity_files,
    _check_host,
)

NOTICES: tuple[Callable[[Loaded], Iterable[str]], ...] = (
    blank_notices,
    comment_notices,
    _ignored,
    bound_notices,
    cache_notices,
    cafile_notices,
    KEY_ALONE.notices,
    cpu_notices,
    EXCLUDED_TYPES.notices,
    MACHINES.notices,
    TPM_OWNERS.notices,
    _deprecated,
    memory_notices,
    huge_page_notices,
    mdev_notices,
    pci_notices,
    provider_notices,
    host_notices,
    health_notices,
    metrics_notices,
)
