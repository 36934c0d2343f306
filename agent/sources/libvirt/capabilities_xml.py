"""Parse the host's CPU and guest types from ``virConnectGetCapabilities``, and build the arguments of baselineCPU.

``<host><cpu>`` names a model and lists only the features that the model does not have. libvirt's call baselineCPU
returns all features of the CPU, some under other names than the kernel's. A ``<domain>`` with children has its own
emulator and machine types. A ``<domain>`` without children uses the emulator and machine types of its parent
``<arch>``. Pure: no I/O.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass

from agent.model.host.capabilities import GuestKind, HostCpu
from agent.sources.libvirt.xml_values import attribute, child, document, number, optional_number, optional_text, text_of

# The aliases that nova's Architecture.canonicalize maps to one architecture.
_SAME_ARCH = {"i386": "i686", "i486": "i686", "i586": "i686", "x86_32": "i686", "x86_32p": "i686", "amd64": "x86_64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestDomain:
    """The emulator that runs guests of one domain type, and the aliases of its machine types.

    ``aliases`` are pairs of an alias and its machine type, in the order of the document. ``type`` is the domain type,
    such as kvm. ``type`` is None for a default emulator (``Guest.default``) that no domain type uses.
    """

    type: str | None
    emulator: str | None
    aliases: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    """One ``<guest>`` of the capabilities.

    ``domains`` are the domain types with an emulator of their own, in the document's order. ``default`` is the emulator
    for all other domain types.
    """

    arch: str
    os_type: str
    default: GuestDomain
    domains: tuple[GuestDomain, ...] = ()

    def domain_for(self, virt_type: str) -> GuestDomain:
        """Return the domain of type ``virt_type``, or else ``default``, as nova does."""
        return next((domain for domain in self.domains if domain.type == virt_type), self.default)

    @property
    def kind(self) -> GuestKind:
        """The ``<guest>`` as a GuestKind of agent/model."""
        types = tuple(domain.type for domain in self.domains if domain.type)
        return GuestKind(arch=self.arch, os_type=self.os_type, domain_types=types)


def capabilities_document(xml: str) -> ET.Element:
    """Return the root of the capabilities document. Raises SourceInconsistent if ``xml`` is another document."""
    return document(xml, "capabilities", "capabilities")


def host_cpu(capabilities: ET.Element) -> HostCpu:
    """Return the host's CPU, with the features that the capabilities document lists.

    ``features`` is None if the document has neither a model nor a feature: the features are then unknown, not absent.
    Raises SourceInconsistent.
    """
    where = "capabilities: host cpu"
    cpu = _host_cpu_element(capabilities)
    model = optional_text(cpu, "model")
    features = frozenset(_each_feature(cpu, where))
    sockets, cores, threads = _topology(cpu, where)
    return HostCpu(
        arch=canonical_arch(text_of(cpu, "arch", where)),
        model=model,
        vendor=optional_text(cpu, "vendor"),
        sockets=sockets,
        cores=cores,
        threads=threads,
        features=features if features or model else None,
        maxphysaddr=_maxphysaddr(cpu, where),
    )


def guests(capabilities: ET.Element) -> tuple[Guest, ...]:
    """Return every ``<guest>`` of the capabilities, in the order of the document. Raises SourceInconsistent."""
    return tuple(_guest(element) for element in capabilities.iterfind("guest"))


def canonical_arch(text: str) -> str:
    """Return nova's name of an architecture, such as i686 for i386."""
    return _SAME_ARCH.get(text.lower(), text.lower())


def host_question(capabilities: ET.Element) -> str:
    """Return the host's ``<cpu>`` as XML, to ask baselineCPU for the host's features. Raises SourceInconsistent."""
    return ET.tostring(_host_cpu_element(capabilities), encoding="unicode")


def model_question(capabilities: ET.Element, model: str) -> str:
    """Return a ``<cpu>`` with this model and no ``<feature>`` as XML, to ask baselineCPU for the model's features.

    As in nova's query, arch, vendor, topology and maxphysaddr are those of the host. Raises SourceInconsistent.
    """
    host = _host_cpu_element(capabilities)
    question = ET.Element("cpu")
    for tag in ("arch", "model", "vendor", "topology", "maxphysaddr"):
        if tag == "model":
            ET.SubElement(question, tag).text = model
        elif (found := host.find(tag)) is not None:
            question.append(found)
    return ET.tostring(question, encoding="unicode")


def expanded_features(xml: str) -> frozenset[str]:
    """Return the features in an answer of baselineCPU, without the disabled ones. Raises SourceInconsistent."""
    where = "answer of baselineCPU"
    return frozenset(_each_feature(document(xml, "cpu", where), where))


def _host_cpu_element(capabilities: ET.Element) -> ET.Element:
    return child(child(capabilities, "host", "capabilities"), "cpu", "capabilities: host")


def _each_feature(cpu: ET.Element, where: str) -> Iterator[str]:
    for feature in cpu.iterfind("feature"):
        if feature.get("policy") != "disable":
            yield attribute(feature, "name", where)


def _topology(cpu: ET.Element, where: str) -> tuple[int | None, int | None, int | None]:
    topology = cpu.find("topology")
    if topology is None:
        return None, None, None
    place = f"{where}: <topology>"
    sockets, cores, threads = (number(topology.get(name), place) for name in ("sockets", "cores", "threads"))
    return sockets, cores, threads


def _maxphysaddr(cpu: ET.Element, where: str) -> tuple[str, int | None] | None:
    element = cpu.find("maxphysaddr")
    if element is None:
        return None
    place = f"{where}: <maxphysaddr>"
    return attribute(element, "mode", place), optional_number(element.get("bits"), place)


def _guest(element: ET.Element) -> Guest:
    where = "capabilities: guest"
    arch = child(element, "arch", where)
    name = attribute(arch, "name", where)
    place = f"{where} {name}"
    domains = []
    type_beside = None
    for domain in arch.iterfind("domain"):
        kind = attribute(domain, "type", place)
        if len(domain):
            domains.append(_domain(domain, kind))
        else:
            type_beside = kind
            domains.append(_domain(arch, kind))
    return Guest(
        arch=name,
        os_type=text_of(element, "os_type", place),
        default=_domain(arch, type_beside),
        domains=tuple(domains),
    )


def _domain(element: ET.Element, kind: str | None) -> GuestDomain:
    aliases = tuple(
        (text, canonical)
        for machine in element.iterfind("machine")
        if (canonical := machine.get("canonical")) and (text := (machine.text or "").strip())
    )
    return GuestDomain(type=kind, emulator=optional_text(element, "emulator"), aliases=aliases)
