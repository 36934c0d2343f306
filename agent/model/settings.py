"""What the operator decided, read once from configuration. An audit uses the Settings it started with."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Role(enum.Enum):
    """Who writes what (design 2.1)."""

    OWNER = "owner"
    COMPANION = "companion"
    OBSERVER = "observer"


class UnmanagedPolicy(enum.Enum):
    """What to do with use that the cloud does not know."""

    RESERVE = "reserve"
    REPORT = "report"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioPolicy:
    """An allocation ratio: ``configured`` always wins; else what Placement has; else ``initial``."""

    configured: float | None
    initial: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Reserves, ratios, policies. Units are in the names."""

    role: Role
    takeover: bool
    host: str
    cpu_ratio: RatioPolicy
    memory_ratio: RatioPolicy
    disk_ratio: RatioPolicy
    reserved_host_cpus: int
    reserved_host_memory_mib: int
    reserved_host_disk_mib: int
    cpu_shared_set: tuple[int, ...] | None
    cpu_dedicated_set: tuple[int, ...] | None
    vcpu_pin_set: tuple[int, ...] | None
    cpu_power_management: bool
    file_backed_memory_mib: int
    images_type: str
    images_volume_group: str | None
    instances_path: str
    volume_groups: tuple[str, ...]
    foreign_volumes: UnmanagedPolicy
    unknown_guests: UnmanagedPolicy
    confirm_audits: int
    service_down_time_s: int
    full_read_every: int
    consumer_reads: int
    source_deadline_s: float
    conflict_rounds: int = 4

    @property
    def disk_group(self) -> str | None:
        """The volume group that DISK_GB counts, or None where it counts a file system."""
        return self.images_volume_group if self.images_type == "lvm" else None
