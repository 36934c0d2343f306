"""Parse the XML of a domain.

If this fails, the parser raises SourceInconsistent, which names the domain and the faulty element or attribute. Any
text may be passed: the parser raises no other exception. Pure: no I/O.
"""

from __future__ import annotations

import re
import uuid
import xml.etree.ElementTree as ET

from agent.model.host.cpuset import parse_cpu_list
from agent.model.host.facts import Disk, Domain, DomainState
from agent.model.nova import Flavor
from agent.model.units import MIB
from agent.sources.libvirt.node_device_xml import address_of
from agent.sources.libvirt.xml_values import attribute, child, document, number, odd, size_bytes, text_of

# Matches nova's element ``instance`` in a domain's metadata. nova has written versions 1.0 and 1.1 of the metadata; the
# elements that this module reads are the same in both versions.
_NOVA_NAMESPACE = re.compile(r"\{http://openstack\.org/xmlns/libvirt/nova/[0-9.]+\}instance")
_SOURCE_ATTRIBUTES = ("file", "dev", "dir", "name", "path", "usage")


def parse_domain(xml: str, state: DomainState) -> Domain:
    """Return a domain from the text of ``virDomainGetXMLDesc``.

    ``vcpus`` is the current number of vCPUs. ``memory_mib`` is the maximum memory, all of which the host must provide,
    so the amount is rounded up. Disks are sorted by target. Raises SourceInconsistent.
    """
    root = document(xml, "domain", "domain")
    name = text_of(root, "name", "domain")
    where = f"domain {name}"
    flavor_of = _nova_metadata(root)
    return Domain(
        uuid=_uuid(text_of(root, "uuid", where), where),
        name=name,
        state=state,
        vcpus=_current_vcpus(root, where),
        memory_mib=-(-size_bytes(child(root, "memory", where), where) // MIB),
        pinned_cpus=_pinned_cpus(root, where),
        disks=_disks(root, where),
        managed_by_nova=flavor_of is not None,
        nova_flavor=None if flavor_of is None else _nova_flavor(flavor_of, where),
        current_memory_mib=_current_memory_mib(root, where),
        pci_addresses=_pci_addresses(root, where),
        maximum_vcpus=number(child(root, "vcpu", where).text, f"{where}: <vcpu>"),
        mdev_uuids=_mdev_uuids(root, where),
    )


def _uuid(text: str, where: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError as error:
        raise odd(where, f"uuid {text!r} is not a uuid") from error


def _current_vcpus(root: ET.Element, where: str) -> int:
    element = child(root, "vcpu", where)
    place = f"{where}: <vcpu>"
    maximum = number(element.text, place)
    current = maximum if element.get("current") is None else number(element.get("current"), place)
    if not 0 < current <= maximum:
        raise odd(place, f"the number of current vCPUs is {current}, not between 1 and the maximum {maximum}")
    return current


def _pinned_cpus(root: ET.Element, where: str) -> tuple[int, ...]:
    pinned: set[int] = set()
    for pin in root.iterfind("./cputune/vcpupin"):
        try:
            pinned.update(parse_cpu_list(pin.get("cpuset") or ""))
        except ValueError as error:
            raise odd(where, f"<vcpupin>: {error}") from error
    return tuple(sorted(pinned))


def _disks(root: ET.Element, where: str) -> tuple[Disk, ...]:
    disks = [_disk(element, where) for element in root.iterfind("./devices/disk")]
    # A container's disks are its <filesystem> elements; in a virtual machine a <filesystem> only shares a folder.
    if root.findtext("./os/type") == "exe":
        disks += [_container_disk(element, where) for element in root.iterfind("./devices/filesystem")]
    return tuple(sorted(disks, key=lambda disk: (disk.target, disk.kind, disk.source or "")))


def _disk(element: ET.Element, where: str) -> Disk:
    place = f"{where}: <disk>"
    return Disk(
        target=attribute(child(element, "target", place), "dev", place),
        kind=attribute(element, "type", place),
        source=_disk_source(element.find("source")),
        format=_driver_type(element),
    )


def _container_disk(element: ET.Element, where: str) -> Disk:
    place = f"{where}: <filesystem>"
    return Disk(
        target=attribute(child(element, "target", place), "dir", place),
        kind=element.get("type") or "mount",
        source=_disk_source(element.find("source")),
        format=_driver_type(element),
    )


def _driver_type(element: ET.Element) -> str | None:
    driver = element.find("driver")
    return None if driver is None else driver.get("type")


def _pci_addresses(root: ET.Element, where: str) -> tuple[str, ...]:
    """Return the PCI addresses of passed-through devices, including passed-through network interfaces."""
    found = [
        *root.iterfind("./devices/hostdev[@type='pci']/source/address"),
        *root.iterfind("./devices/interface[@type='hostdev']/source/address"),
    ]
    return tuple(sorted(address_of(element, f"{where}: <hostdev>") for element in found))


def _mdev_uuids(root: ET.Element, where: str) -> tuple[str, ...]:
    """Return the uuids of passed-through mediated devices; libvirt identifies these devices only by uuid."""
    found = root.iterfind("./devices/hostdev[@type='mdev']/source/address")
    return tuple(sorted(_uuid(attribute(element, "uuid", f"{where}: <hostdev>"), where) for element in found))


def _disk_source(source: ET.Element | None) -> str | None:
    """Return a disk's path or name: ``POOL/VOLUME`` for a volume of a storage pool, None for an empty drive."""
    if source is None:
        return None
    if source.get("pool") and source.get("volume"):
        return f"{source.get('pool')}/{source.get('volume')}"
    return next((value for value in map(source.get, _SOURCE_ATTRIBUTES) if value), None)


def _nova_metadata(root: ET.Element) -> ET.Element | None:
    metadata = root.find("metadata")
    return next((e for e in (metadata if metadata is not None else ()) if _NOVA_NAMESPACE.fullmatch(e.tag)), None)


def _nova_flavor(instance: ET.Element, where: str) -> Flavor | None:
    namespace = instance.tag.partition("}")[0] + "}"
    flavor = instance.find(f"{namespace}flavor")
    if flavor is None:
        return None
    place = f"{where}: nova's flavor"

    def amount(tag: str) -> int:
        return number(flavor.findtext(f"{namespace}{tag}"), f"{place}: {tag}")

    return Flavor(
        id=0,
        name=flavor.get("name") or "",
        vcpus=amount("vcpus"),
        memory_mib=amount("memory"),
        root_gib=amount("disk"),
        ephemeral_gib=amount("ephemeral"),
        swap_mib=amount("swap"),
    )


def _current_memory_mib(root: ET.Element, where: str) -> int | None:
    current = root.find("currentMemory")
    return None if current is None else size_bytes(current, where) // MIB
