"""Parse the JSON report of ``ndctl list -X``: the namespaces of persistent memory that guests can use.

If the host has no namespace, ndctl prints nothing. If the host has one, older versions of ndctl print one object, not a
list. A namespace may lack a name, and has a ``daxregion`` only in devdax mode. Guests can use only a namespace that has
both, so the parser skips all others.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

from agent.errors import SourceInconsistent
from agent.model.host.storage import PmemNamespace
from agent.model.snapshot import PMEM
from agent.text.numbers import whole


def parse_namespaces(text: str) -> tuple[PmemNamespace, ...]:
    """Return the devdax namespaces that have a name, sorted by name and device; sizes are bytes.

    The device path is ``/dev/`` plus the name of the region's first character device. Raises SourceInconsistent, which
    names the item that cannot be parsed.
    """
    found = (_namespace(item) for item in _items(text))
    return tuple(sorted((one for one in found if one is not None), key=lambda one: (one.name, one.device_path)))


def _items(text: str) -> list[object]:
    if not text.strip():
        return []
    try:
        report = json.loads(text)
    except (ValueError, RecursionError):
        _refuse("the report is not JSON")
    return report if isinstance(report, list) else [report]


def _namespace(item: object) -> PmemNamespace | None:
    if not isinstance(item, dict):
        _refuse(f"a namespace is not a JSON object: {item!r:.80}")
    name, region = item.get("name"), item.get("daxregion")
    if not name or region is None:
        return None
    if not isinstance(name, str) or not isinstance(region, dict):
        _refuse(f"namespace {name!r:.80}: name or daxregion has a wrong type")
    return PmemNamespace(
        name=name,
        device_path=f"/dev/{_character_device(name, region)}",
        size_bytes=_bytes(name, item, "size"),
        alignment_bytes=_bytes(name, region, "align"),
    )


def _character_device(name: str, region: dict[str, Any]) -> str:
    devices = region.get("devices")
    first = devices[0] if isinstance(devices, list) and devices else None
    device = first.get("chardev") if isinstance(first, dict) else None
    if not device or not isinstance(device, str):
        _refuse(f"namespace {name!r}: daxregion does not name a character device")
    return device


def _bytes(name: str, item: dict[str, Any], key: str) -> int:
    size_bytes = whole(item.get(key))
    if size_bytes is None or size_bytes <= 0:
        _refuse(f"namespace {name!r}: {key} is {item.get(key)!r:.80}, not a positive byte count")
    return size_bytes


def _refuse(what: str) -> NoReturn:
    raise SourceInconsistent(PMEM, f"ndctl list: {what}")
