"""libvirt's XML for tests: documents that libvirt 9.0 gave on a real host, and such of other hosts, of our own making.

The first have a QEMU version or ``test_driver`` in their names, or describe the
devices of bus 0; in them only uuids and MAC addresses were replaced.
"""

from __future__ import annotations

import functools
from pathlib import Path

_FOLDER = Path(__file__).with_name("libvirt_xml")


@functools.cache
def documents(kind: str) -> dict[str, str]:
    """Name -> text of all documents of a kind: capabilities, domain_capabilities or node_devices."""
    return {path.stem: path.read_text() for path in sorted((_FOLDER / kind).glob("*.xml"))}


def document(kind: str, name: str) -> str:
    """One of them."""
    return documents(kind)[name]


def expanded_cpu() -> str:
    """What baselineCPU answered for the host of ``x86_64_qemu_7_2``."""
    return (_FOLDER / "expanded_cpu.xml").read_text()
