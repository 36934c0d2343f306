"""libvirt's XML for tests: documents that libvirt 9.0 printed on a real host, and documents made by hand for others.

The real documents have a QEMU version or ``test_driver`` in their names, or describe the devices of bus 0. Only uuids
and MAC addresses were replaced in them.
"""

from __future__ import annotations

import functools
from pathlib import Path

_FOLDER = Path(__file__).with_name("libvirt_xml")


@functools.cache
def documents(kind: str) -> dict[str, str]:
    """Return all documents of a kind by name: capabilities, domain_capabilities or node_devices."""
    return {path.stem: path.read_text() for path in sorted((_FOLDER / kind).glob("*.xml"))}


def document(kind: str, name: str) -> str:
    """Return one document."""
    return documents(kind)[name]


def expanded_cpu() -> str:
    """Return baselineCPU's answer for the host of ``x86_64_qemu_7_2``."""
    return (_FOLDER / "expanded_cpu.xml").read_text()
