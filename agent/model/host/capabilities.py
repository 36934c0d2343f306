"""What libvirt says that the host's CPU and its emulators can do. Asked once per connection.

A part that libvirt does not give is None and named in ``missing``: what rests on
it is unknown, and is left as it stands. An empty set says "none of them".
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCpu:
    """``<host><cpu>``.

    ``features`` are those of the host with its model's written out (baselineCPU,
    hypervisor-audit 2); None where libvirt gives neither a model nor features.
    ``maxphysaddr`` is (mode, bits or None), None where the host CPU has none.
    """

    arch: str
    model: str | None = None
    vendor: str | None = None
    sockets: int | None = None
    cores: int | None = None
    threads: int | None = None
    features: frozenset[str] | None = None
    maxphysaddr: tuple[str, int | None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestKind:
    """One ``<guest>``: an architecture (as libvirt writes it), hvm, xen or exe, and the domain types that run it."""

    arch: str
    os_type: str
    domain_types: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SevLimits:
    """How many encrypted guests the platform takes: SEV, and SEV-ES or SEV-SNP."""

    max_guests: int
    max_es_guests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainCapabilities:
    """``virConnectGetDomainCapabilities`` of one architecture and machine type.

    ``machines`` are the names that stand for it: as asked (an alias) and as
    libvirt expands it. ``buses`` are the values of every enum ``bus`` in the
    document, ``video_models`` of every enum ``modelType``. ``tpm_models`` and
    ``tpm_backends`` are empty where ``<tpm>`` is not supported; ``tpm_versions`` is
    None where this libvirt does not list them. ``sev`` is None where ``<sev>`` is
    not supported; ``tdx`` is whether ``<tdx>`` is.
    """

    arch: str
    domain_type: str
    machines: tuple[str, ...]
    buses: frozenset[str] = frozenset()
    video_models: frozenset[str] = frozenset()
    loader_secure: frozenset[str] = frozenset()
    tpm_models: frozenset[str] = frozenset()
    tpm_backends: frozenset[str] = frozenset()
    tpm_versions: frozenset[str] | None = None
    launch_security: frozenset[str] = frozenset()
    sev: SevLimits | None = None
    tdx: bool = False


class Part(enum.Enum):
    """What libvirt is asked, in words.

    MACHINE is what the emulator of one machine type, or of one architecture, can do; DOMAIN all of those.
    """

    HOST_CPU = "host CPU"
    HOST_FEATURES = "host CPU features"
    MODEL_FEATURES = "features of CPU model"
    GUESTS = "guests"
    DOMAIN = "domain capabilities"
    MACHINE = "domain capabilities of"
    VERSION = "hypervisor version"


# Parts without which it is not known, or known in part, what emulators can do.
OF_EMULATORS = frozenset({Part.GUESTS, Part.DOMAIN, Part.MACHINE})


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingPart:
    """A part of the capabilities that could not be read: which, and libvirt's reason.

    ``detail`` is the CPU model of MODEL_FEATURES, architecture (and machine type) of MACHINE, "" for a whole part.
    """

    part: Part
    why: str
    detail: str = ""

    @property
    def name(self) -> str:
        """The part in words, with its detail."""
        return f"{self.part.value} {self.detail}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """All of it.

    ``domain`` is sorted by architecture and machine; an architecture whose
    emulator libvirt cannot run has none, as in the reference, and is no missing
    part; None where the driver has no such call. ``model_features`` are
    (CPU model, its features) as asked for by ``cpu_mode`` custom and none.
    """

    host_cpu: HostCpu
    guests: tuple[GuestKind, ...] = ()
    domain: tuple[DomainCapabilities, ...] | None = None
    model_features: tuple[tuple[str, frozenset[str]], ...] = ()
    missing: tuple[MissingPart, ...] = ()

    def of_arch(self, arch: str) -> tuple[DomainCapabilities, ...]:
        """Those of one architecture, in order."""
        return tuple(one for one in self.domain or () if one.arch == arch)
