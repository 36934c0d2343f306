"""Parse what one emulator offers on one machine type, from ``virConnectGetDomainCapabilities``.

Like nova, this module collects the values of every enum ``bus`` or ``modelType``, whatever element the enum is in. For
example, ``redirdev`` has an enum ``bus`` with the value usb, so usb is among the buses. The module ignores an element
tpm, launchSecurity, sev or tdx unless it has supported="yes". Pure: no I/O.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable

from agent.model.host.capabilities import DomainCapabilities, SevLimits
from agent.sources.libvirt.xml_values import document, number, text_of


def parse_domain_capabilities(xml: str, asked: Iterable[str]) -> DomainCapabilities:
    """Parse the capabilities of a machine type. Raises SourceInconsistent.

    ``asked`` has the name and the aliases of the machine type.
    """
    where = "domain capabilities"
    root = document(xml, "domainCapabilities", where)
    arch = text_of(root, "arch", where)
    machine = text_of(root, "machine", f"{where} of {arch}")
    place = f"{where} of {arch} {machine}"
    tpm = _supported(root, "./devices/tpm")
    versions = _values(tpm, "backendVersion")
    return DomainCapabilities(
        arch=arch,
        domain_type=text_of(root, "domain", place),
        machines=tuple(sorted({machine, *asked})),  # all names that identify the machine type of this document
        buses=_values(root, "bus"),
        video_models=_values(root, "modelType"),
        loader_secure=_values(root.find("./os/loader"), "secure"),
        tpm_models=_values(tpm, "model"),
        tpm_backends=_values(tpm, "backendModel"),
        tpm_versions=versions or None,
        launch_security=_values(_supported(root, "./features/launchSecurity"), "sectype"),
        sev=_sev(_supported(root, "./features/sev"), f"{place}: <sev>"),
        tdx=_supported(root, "./features/tdx") is not None,
    )


def _supported(root: ET.Element, path: str) -> ET.Element | None:
    element = root.find(path)
    return element if element is not None and element.get("supported") == "yes" else None


def _values(element: ET.Element | None, enum: str) -> frozenset[str]:
    """Return the values of all enums with the name ``enum`` below ``element``, at any depth."""
    if element is None:
        return frozenset()
    lists = (found for found in element.iter("enum") if found.get("name") == enum)
    texts = (value.text for found in lists for value in found.iterfind("value"))
    return frozenset(stripped for text in texts if text and (stripped := text.strip()))


def _sev(element: ET.Element | None, where: str) -> SevLimits | None:
    if element is None:
        return None
    return SevLimits(
        max_guests=number(element.findtext("maxGuests"), f"{where}: maxGuests"),
        max_es_guests=number(element.findtext("maxESGuests"), f"{where}: maxESGuests"),
    )
