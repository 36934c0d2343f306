"""Provide the functions that all parsers of libvirt's XML use: parse a document; get a child, a text or a number.

Every attribute is a string, and any element or attribute may be missing. If one of them cannot be parsed, these
functions raise SourceInconsistent, which names the element or attribute. They raise no other exception, even if the
text is not XML. A document with a DOCTYPE is refused before it is parsed: a DOCTYPE can declare entities, and entities
can make the parsed text huge. Pure: no I/O.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from agent.errors import SourceInconsistent

_SOURCE = "libvirt"
_LONGEST_REASON = 400
_WHOLE = re.compile(r"[0-9]{1,18}")
_HEX = re.compile(r"(?:0[xX])?[0-9a-fA-F]{1,8}")
# The number of bytes in each of libvirt's units. As in libvirt's virScaleInteger, the letter case of a unit does not
# matter. Without a unit, scaled_bytes assumes KiB, libvirt's default for memory.
_UNITS: dict[str, int] = {"b": 1, "bytes": 1}
for _power, _letter in enumerate("kmgtpe", start=1):
    _UNITS |= {_letter: 1 << 10 * _power, f"{_letter}ib": 1 << 10 * _power, f"{_letter}b": int(1000**_power)}


def document(xml: str, root_tag: str, where: str) -> ET.Element:
    """Parse ``xml`` and return its root element, which must be a ``root_tag``. Raises SourceInconsistent."""
    if "<!DOCTYPE" in xml:
        raise odd(where, "the XML has a document type declaration, which libvirt never writes")
    try:
        root = ET.fromstring(xml)
    except (ET.ParseError, ValueError) as error:
        raise odd(where, f"the XML does not parse ({error})") from error
    if root.tag != root_tag:
        raise odd(where, f"the XML has the root element <{root.tag}>, not <{root_tag}>")
    return root


def odd(where: str, what: str) -> SourceInconsistent:
    """Return the error to raise: ``where`` names the part of the document, and ``what`` says what is wrong with it."""
    return SourceInconsistent(_SOURCE, f"{where}: {what}"[:_LONGEST_REASON])


def child(parent: ET.Element, tag: str, where: str) -> ET.Element:
    """Return the first child with that tag. Raises SourceInconsistent if there is none."""
    element = parent.find(tag)
    if element is None:
        raise odd(where, f"no <{tag}>")
    return element


def text_of(parent: ET.Element, tag: str, where: str) -> str:
    """Return the text of a child. Raises SourceInconsistent if the child is missing or empty."""
    text = optional_text(parent, tag)
    if text is None:
        raise odd(where, f"no <{tag}>" if parent.find(tag) is None else f"<{tag}> is empty")
    return text


def optional_text(parent: ET.Element, path: str) -> str | None:
    """Return the text at a path, or None if the element is missing or empty."""
    return (parent.findtext(path) or "").strip() or None


def attribute(element: ET.Element, name: str, where: str) -> str:
    """Return the value of an attribute. Raises SourceInconsistent if the attribute is missing or empty."""
    value = element.get(name)
    if not value:
        raise odd(where, f"<{element.tag}> has no attribute {name}")
    return value


def number(text: str | None, where: str) -> int:
    """Return the text as a whole number. Raises SourceInconsistent on a missing, negative or malformed number."""
    stripped = (text or "").strip()
    if _WHOLE.fullmatch(stripped) is None:
        raise odd(where, f"{text!r} is not a whole number")
    return int(stripped)


def optional_number(text: str | None, where: str) -> int | None:
    """Return the text as a whole number, or None if ``text`` is None. Raises SourceInconsistent as ``number`` does."""
    return None if text is None else number(text, where)


def hexadecimal(text: str | None, where: str) -> int:
    """Return a number that libvirt writes in hexadecimal, such as the PCI id ``0x1af4``. Raises SourceInconsistent."""
    stripped = (text or "").strip()
    if _HEX.fullmatch(stripped) is None:
        raise odd(where, f"{text!r} is not a hexadecimal number")
    return int(stripped, 16)


def scaled_bytes(value: int, unit: str | None, where: str) -> int:
    """Return ``value``, which is in libvirt's ``unit``, as bytes. Raises SourceInconsistent."""
    factor = _UNITS.get((unit or "KiB").lower())
    if factor is None:
        raise odd(where, f"unknown unit {unit!r}")
    return value * factor


def size_bytes(element: ET.Element, where: str) -> int:
    """Return the size in an element such as ``<memory unit='KiB'>``, in bytes. Raises SourceInconsistent."""
    place = f"{where}: <{element.tag}>"
    return scaled_bytes(number(element.text, place), element.get("unit"), place)
