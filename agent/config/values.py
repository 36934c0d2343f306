"""What the parts outside the audit get from configuration: small values, one per part."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.model.nova import StateKind


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """For the daemon. ``interval_s`` None means that no timer asks for audits."""

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
    """Where libvirt is, and of which emulators and CPUs the capabilities are asked.

    ``machine_types`` are (architecture, machine type), the first of an architecture
    holds; ``cpu_models`` is empty unless ``cpu_mode`` is custom.
    """

    uri: str
    virt_type: str = "kvm"
    machine_types: tuple[tuple[str, str], ...] = ()
    cpu_mode: str | None = None
    cpu_models: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LvmOptions:
    """Volume groups to audit, sorted; ``deadline_s`` for one LVM command."""

    groups: tuple[str, ...]
    deadline_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageOptions:
    """Folders of the guests' disks and of the images that they were made from; the second lies in the first."""

    instances_path: str
    cache_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CephOptions:
    """The pool of the guests' disks; ``user`` for ``ceph --id``, ``conf`` for ``--conf``, None for ceph's own."""

    pool: str
    user: str | None
    conf: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOptions:
    """The state source. ``connection`` holds a password, so it is not in the repr; None but for SQL."""

    kind: StateKind
    connection: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityPaths:
    """Where ``compute_id`` may lie: folders in the order to look, nova's state_path (None without nova.conf), ours."""

    config_dirs: tuple[str, ...]
    nova_state_path: str | None
    state_dir: str
