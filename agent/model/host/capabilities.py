"""The capabilities of the host's CPU and emulators that libvirt reports; the agent reads them once per connection.

A part that libvirt does not report is None, and ``missing`` names the part. The agent changes nothing in Placement that
depends on a missing part. An empty set means that libvirt reported no element.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCpu:
    """The host's CPU: ``<cpu>`` in libvirt's host capabilities.

    ``features`` are the features that libvirt lists for the host, and those that the host's CPU model implies. libvirt
    expands the model by baselineCPU. ``features`` is None if libvirt reports neither a model nor features.
    ``maxphysaddr`` has the attributes ``mode`` and ``bits`` of libvirt's element ``<maxphysaddr>``. If the element is
    absent, ``maxphysaddr`` is None. If the element has no ``bits``, only ``bits`` is None.
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
    """One ``<guest>`` of libvirt's capabilities: an architecture, an OS type (hvm, xen, exe) and its domain types."""

    arch: str
    os_type: str
    domain_types: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SevLimits:
    """The maximum number of encrypted guests: ``max_guests`` for SEV, ``max_es_guests`` for SEV-ES or SEV-SNP."""

    max_guests: int
    max_es_guests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainCapabilities:
    """The domain capabilities that libvirt reports for one architecture and machine type.

    ``machines``: the names of the machine type: the canonical name and all aliases.
    ``buses``: the values of every enum ``bus`` in the document.
    ``video_models``: the values of every enum ``modelType``.
    ``tpm_models``, ``tpm_backends``: empty if ``<tpm>`` is not supported.
    ``tpm_versions``: None if this libvirt does not list them.
    ``sev``: None if ``<sev>`` is not supported.
    ``tdx``: whether ``<tdx>`` is supported.
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
    """The parts of the capabilities that the agent requests from libvirt. The values are names for messages.

    MACHINE: the domain capabilities of one machine type or one architecture. DOMAIN: all domain capabilities.
    """

    HOST_CPU = "host CPU"
    HOST_FEATURES = "host CPU features"
    MODEL_FEATURES = "features of CPU model"
    GUESTS = "guests"
    DOMAIN = "domain capabilities"
    MACHINE = "domain capabilities of"
    VERSION = "hypervisor version"


# libvirt's answers about the emulators (QEMU). If one of these answers is missing, the agent does not know all that the
# emulators can do.
OF_EMULATORS = frozenset({Part.GUESTS, Part.DOMAIN, Part.MACHINE})


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingPart:
    """A part of the capabilities that could not be read, with libvirt's reason.

    ``detail`` is the CPU model if the part is MODEL_FEATURES, and the architecture with or without a machine type if
    the part is MACHINE. For other parts it is "". ``passing`` is True if the problem may end by itself, so that the
    next read may succeed. It is False if libvirt itself refused the request.
    """

    part: Part
    why: str
    detail: str = ""
    passing: bool = False

    @property
    def name(self) -> str:
        """The name of this part for messages, such as ``features of CPU model Westmere``."""
        return f"{self.part.value} {self.detail}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """All capabilities of one libvirt connection.

    ``domain``: the domain capabilities, sorted by architecture and machine type. Like nova, the agent leaves out an
    architecture whose emulator libvirt cannot run. ``domain`` is None if libvirt's driver has no getDomainCapabilities.
    ``missing``: the parts that could not be read.
    ``model_features``: pairs of a CPU model and its features. It has only the models that nova gives to guests with
    ``cpu_mode`` custom or none.
    """

    host_cpu: HostCpu
    guests: tuple[GuestKind, ...] = ()
    domain: tuple[DomainCapabilities, ...] | None = None
    model_features: tuple[tuple[str, frozenset[str]], ...] = ()
    missing: tuple[MissingPart, ...] = ()

    def of_arch(self, arch: str) -> tuple[DomainCapabilities, ...]:
        """Return the domain capabilities of one architecture, sorted by machine type."""
        return tuple(one for one in self.domain or () if one.arch == arch)
