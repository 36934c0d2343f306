"""Turn a loaded configuration into the values that the parts get, and refuse what cannot work.

Each function reads options and nothing else, and raises ConfigError with all of
its own problems at once. ``check`` collects them over all functions: what the
operator sees is the whole list and not its first line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

from agent.config.load import Loaded
from agent.config.state_choice import state_options_from
from agent.config.values import AgentOptions, IdentityPaths, LibvirtOptions, LvmOptions
from agent.errors import ConfigError
from agent.model.cpuset import parse_cpu_list, render_cpu_list
from agent.model.settings import RatioPolicy, Role, Settings, UnmanagedPolicy

DEFAULT_INTERVAL_S = 60.0
URIS = {"kvm": "qemu:///system", "qemu": "qemu:///system", "lxc": "lxc:///system", "parallels": "parallels:///system"}
# lvm(8), VALID NAMES; 128 with the end of the string.
_LVM_NAME = re.compile(r"[a-zA-Z0-9+_.][a-zA-Z0-9+_.-]{0,126}\Z")


def settings_from(loaded: Loaded) -> Settings:
    """What an audit decides by. Raises ConfigError, one problem for each refusal."""
    problems: list[str] = []
    shared, dedicated, pinned = _cpu_sets(loaded, problems)
    problems += _role_problems(loaded)
    problems += _storage_problems(loaded)
    problems += _memory_problems(loaded)
    problems += _absolute(loaded, ("DEFAULT", "instances_path"))
    if problems:
        raise ConfigError(*problems)
    value = loaded.value
    return Settings(
        role=Role(value("agent", "role")),
        takeover=value("agent", "takeover"),
        host=value("DEFAULT", "host"),
        cpu_ratio=_ratio(loaded, "cpu"),
        memory_ratio=_ratio(loaded, "ram"),
        disk_ratio=_ratio(loaded, "disk"),
        reserved_host_cpus=value("DEFAULT", "reserved_host_cpus"),
        reserved_host_memory_mib=value("DEFAULT", "reserved_host_memory_mb"),
        reserved_host_disk_mib=value("DEFAULT", "reserved_host_disk_mb"),
        cpu_shared_set=shared,
        cpu_dedicated_set=dedicated,
        vcpu_pin_set=pinned,
        cpu_power_management=value("libvirt", "cpu_power_management"),
        file_backed_memory_mib=value("libvirt", "file_backed_memory"),
        images_type=_images_type(loaded),
        images_volume_group=value("libvirt", "images_volume_group") or None,
        instances_path=value("DEFAULT", "instances_path"),
        volume_groups=_groups(loaded),
        foreign_volumes=UnmanagedPolicy(value("lvm", "foreign_volumes")),
        unknown_guests=UnmanagedPolicy(value("agent", "unknown_guests")),
        confirm_audits=value("agent", "confirm_audits"),
        service_down_time_s=value("DEFAULT", "service_down_time"),
        full_read_every=value("placement", "full_read_every"),
        consumer_reads=value("placement", "consumer_reads"),
        source_deadline_s=value("agent", "source_deadline"),
    )


def agent_options_from(loaded: Loaded) -> AgentOptions:
    """Folders and times of the daemon. Raises ConfigError."""
    settle, cap = loaded.value("agent", "event_settle"), loaded.value("agent", "event_cap")
    problems = _absolute(loaded, ("agent", "state_dir"), ("agent", "run_dir"))
    if settle > cap:
        problems.append(f"{loaded.quote('agent', 'event_cap')}: must not be below event_settle, which is {settle}")
    if problems:
        raise ConfigError(*problems)
    return AgentOptions(
        interval_s=_interval_s(loaded.value("DEFAULT", "update_resources_interval")),
        event_driven=loaded.value("agent", "event_driven"),
        event_settle_s=settle,
        event_cap_s=cap,
        summary_interval_s=float(loaded.value("agent", "summary_interval")),
        state_dir=loaded.value("agent", "state_dir"),
        run_dir=loaded.value("agent", "run_dir"),
        graceful_shutdown_timeout_s=float(loaded.value("DEFAULT", "graceful_shutdown_timeout")),
    )


def libvirt_options_from(loaded: Loaded) -> LibvirtOptions:
    """``connection_uri``, or the system URI of ``virt_type``."""
    uri = loaded.value("libvirt", "connection_uri") or URIS[loaded.value("libvirt", "virt_type")]
    return LibvirtOptions(uri=uri)


def lvm_options_from(loaded: Loaded) -> LvmOptions:
    """The groups to audit. Raises ConfigError on a name that LVM cannot have given."""
    bad = [name for name in _groups(loaded) if not _lvm_name(name)]
    if bad:
        listed = loaded.value("lvm", "volume_groups")
        homes = [("lvm", "volume_groups") if name in listed else ("libvirt", "images_volume_group") for name in bad]
        pairs = zip(homes, bad, strict=True)
        raise ConfigError(*(f"{loaded.quote(*home)}: {name!r} is not a name of a volume group" for home, name in pairs))
    return LvmOptions(groups=_groups(loaded), deadline_s=loaded.value("lvm", "deadline"))


def identity_paths_from(loaded: Loaded) -> IdentityPaths:
    """Folders of every configuration file read, nova's included, in the order to look (spec/reconcile.md 2)."""
    folders = [*map(os.path.dirname, loaded.files), *map(os.path.abspath, loaded.config_dirs)]
    folders += map(os.path.dirname, loaded.nova_files)
    return IdentityPaths(
        config_dirs=tuple(dict.fromkeys(folders)),
        nova_state_path=loaded.nova.state_path,
        state_dir=loaded.value("agent", "state_dir"),
    )


BUILDERS: tuple[Callable[[Loaded], object], ...] = (
    settings_from,
    agent_options_from,
    libvirt_options_from,
    lvm_options_from,
    state_options_from,
    identity_paths_from,
)


def check(loaded: Loaded) -> tuple[str, ...]:
    """Every problem that keeps this configuration from working, one sentence each; empty when there is none."""
    problems = list(_auth_problems(loaded))
    for build in BUILDERS:
        try:
            build(loaded)
        except ConfigError as error:
            problems += error.problems
    return tuple(dict.fromkeys(problems))


def require(loaded: Loaded) -> None:
    """Raise ConfigError with every problem of ``check``."""
    if problems := check(loaded):
        raise ConfigError(*problems)


def notices(loaded: Loaded) -> tuple[str, ...]:
    """What works but will not for ever; the daemon logs them once at start."""
    if loaded.value("DEFAULT", "vcpu_pin_set"):
        return (f"{loaded.quote('DEFAULT', 'vcpu_pin_set')}: deprecated, use [compute] cpu_shared_set",)
    return ()


def _interval_s(seconds: int) -> float | None:
    if seconds < 0:
        return None
    return float(seconds) if seconds else DEFAULT_INTERVAL_S


def _ratio(loaded: Loaded, name: str) -> RatioPolicy:
    # 0.0 is "unset" to nova (hypervisor-audit 4.2), so that one file serves both.
    configured = loaded.value("DEFAULT", f"{name}_allocation_ratio") or None
    initial = loaded.value("DEFAULT", f"initial_{name}_allocation_ratio")
    if not initial:
        quoted = loaded.quote("DEFAULT", f"initial_{name}_allocation_ratio")
        raise ConfigError(f"{quoted}: must be more than 0, or the class has no capacity")
    return RatioPolicy(configured=configured, initial=initial)


def _images_type(loaded: Loaded) -> str:
    configured: str = loaded.value("libvirt", "images_type")
    if configured != "default":
        return configured
    return "qcow2" if loaded.value("DEFAULT", "use_cow_images") else "flat"


def _groups(loaded: Loaded) -> tuple[str, ...]:
    groups = set(loaded.value("lvm", "volume_groups"))
    if _images_type(loaded) == "lvm" and (own := loaded.value("libvirt", "images_volume_group")):
        groups.add(own)
    return tuple(sorted(groups))


def _lvm_name(name: str) -> bool:
    return bool(_LVM_NAME.match(name)) and name not in (".", "..")


CpuSet = tuple[int, ...] | None


def _cpu_sets(loaded: Loaded, problems: list[str]) -> tuple[CpuSet, CpuSet, CpuSet]:
    """(shared, dedicated, vcpu_pin_set) by the rules of hypervisor-audit 4.1."""
    shared = _cpu_set(loaded, "compute", "cpu_shared_set", problems)
    dedicated = _cpu_set(loaded, "compute", "cpu_dedicated_set", problems)
    pinned = _cpu_set(loaded, "DEFAULT", "vcpu_pin_set", problems)
    if both := set(shared or ()) & set(dedicated or ()):
        where = f"{loaded.quote('compute', 'cpu_dedicated_set')} and {loaded.quote('compute', 'cpu_shared_set')}"
        problems.append(f"{where}: CPUs {render_cpu_list(both)} are in both")
    if loaded.value("DEFAULT", "reserved_host_cpus") and pinned is None and (shared or dedicated):
        name = "cpu_shared_set" if shared else "cpu_dedicated_set"
        reserved = loaded.quote("DEFAULT", "reserved_host_cpus")
        problems.append(f"{reserved}: cannot stand beside {loaded.quote('compute', name)}")
    if pinned is not None and dedicated is not None:
        own = loaded.quote("DEFAULT", "vcpu_pin_set")
        problems.append(f"{own}: cannot stand beside {loaded.quote('compute', 'cpu_dedicated_set')}")
    return shared, dedicated, pinned


def _cpu_set(loaded: Loaded, group: str, option: str, problems: list[str]) -> CpuSet:
    text = loaded.value(group, option)
    if not text:
        return None
    try:
        return parse_cpu_list(text)
    except ValueError as error:
        problems.append(f"{loaded.quote(group, option)}: {error}")
        return None


def _role_problems(loaded: Loaded) -> Iterable[str]:
    if loaded.value("agent", "role") == Role.COMPANION.value:
        yield f"{loaded.quote('agent', 'role')}: this role is not built yet; set owner or observer"


def _storage_problems(loaded: Loaded) -> Iterable[str]:
    images = loaded.quote("libvirt", "images_type")
    if loaded.value("libvirt", "images_type") == "lvm" and not loaded.value("libvirt", "images_volume_group"):
        yield f"{images}: needs [libvirt] images_volume_group, which is not set"
    if loaded.value("libvirt", "images_type") == "rbd":
        yield f"{images}: Ceph pools are not measured yet, and the local file system is not what DISK_GB means there"


def _memory_problems(loaded: Loaded) -> Iterable[str]:
    ratio = _ratio(loaded, "ram")
    name = "ram_allocation_ratio" if ratio.configured is not None else "initial_ram_allocation_ratio"
    if loaded.value("libvirt", "file_backed_memory") and (ratio.configured or ratio.initial) != 1.0:
        quoted = loaded.quote("DEFAULT", name)
        yield f"{quoted}: must be 1.0 with {loaded.quote('libvirt', 'file_backed_memory')}"


def _absolute(loaded: Loaded, *options: tuple[str, str]) -> list[str]:
    relative = (option for option in options if not os.path.isabs(loaded.value(*option)))
    return [f"{loaded.quote(*option)}: must be an absolute path" for option in relative]


def _auth_problems(loaded: Loaded) -> Iterable[str]:
    section = loaded.value("placement", "auth_section") or "placement"
    auth_type = loaded.value(section, "auth_type")
    if not auth_type:
        looked = ", ".join((*loaded.searched, *loaded.value("agent", "nova_conf")))
        yield f"[{section}] auth_type is not set: Placement cannot be asked without it (looked in {looked})"
        return
    for group, opt in loaded.options:
        if group == section and opt.required and loaded.value(group, opt.dest) in (None, ""):
            yield f"[{section}] {opt.dest} is not set: {loaded.quote(section, 'auth_type')} needs it"
