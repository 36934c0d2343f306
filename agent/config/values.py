"""Configuration values of the parts outside the audit, one small class for each part."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.model.nova import StateKind


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """Options of the daemon. ``interval_s`` is None if no timer triggers audits."""

    interval_s: float | None
    event_driven: bool
    event_settle_s: float
    event_cap_s: float
    peer_audit_interval_s: float
    summary_interval_s: float
    state_dir: str
    run_dir: str
    graceful_shutdown_timeout_s: float
    start_splay_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class LibvirtOptions:
    """The libvirt URI, and the machine types and CPU models whose capabilities the agent reads.

    ``machine_types`` are (architecture, machine type), one for each architecture;
    ``cpu_models`` is empty unless ``cpu_mode`` is custom.
    """

    uri: str
    virt_type: str = "kvm"
    machine_types: tuple[tuple[str, str], ...] = ()
    cpu_mode: str | None = None
    cpu_models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LvmOptions:
    """Volume groups to audit, sorted; ``deadline_s`` is the time-out of one LVM command."""

    groups: tuple[str, ...]
    deadline_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageOptions:
    """Folders of the guests' disks and of the cached images; nova.conf may place the cache elsewhere."""

    instances_path: str
    cache_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CephOptions:
    """The pool of the guests' disks; ``user`` is for ``ceph --id``, ``conf`` for ``--conf``; None is ceph's default."""

    pool: str
    user: str | None
    conf: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOptions:
    """The state source. ``connection`` is None unless the source is SQL; it contains a password, so repr omits it."""

    kind: StateKind
    connection: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityPaths:
    """Folders to search for the file ``compute_id``, in order: ``config_dirs``, ``nova_state_path``, ``state_dir``.

    ``nova_state_path`` is None without nova.conf.
    """

    config_dirs: tuple[str, ...]
    nova_state_path: str | None
    state_dir: str
