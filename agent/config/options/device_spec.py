"""Parse the values of ``[pci] device_spec``, and report each value that is invalid or probably a mistake.

In an address object, each part (domain, bus, slot, function) is a regular expression. The expression need match only
the start of the part: ``"bus": "8"`` means the buses 80 to 8f. In an address string, each part must match as a whole.
The parser converts both forms into expressions that match the whole part.
A device with the tag ``physical_network`` gets no provider in Placement, except if the tag is null.
nova-compute treats any unknown key as a tag. So a misspelt ``vendor_id`` is not an error but a missing filter: the
entry matches more devices than intended, up to all devices of the host.

Pure: no I/O.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from agent.model.host.device_spec import DeviceSpec
from agent.text.nearest import nearest

ANY = "*"
_PARTS = ("domain", "bus", "slot", "function")
_WIDTHS = dict(zip(_PARTS, (4, 2, 2, 1), strict=True))
_LARGEST = dict(zip(_PARTS, (0xFFFF, 0xFF, 0x1F, 0x7), strict=True))
_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)")
_FLAGS = re.compile(r"\(\?([aimsux]+)\)")
#: Keys that select the devices of an entry; every other key is a tag.
MATCHED = frozenset({"vendor_id", "product_id", "address", "devname"})
_STRICT = frozenset({"managed", "live_migratable", "one_time_use"})
#: Tags that have a meaning for nova-compute.
TAGS = _STRICT | {"physical_network", "trusted", "remote_managed", "resource_class", "traits"}
_TRUE = frozenset({"1", "t", "true", "on", "y", "yes"})
_FALSE = frozenset({"0", "f", "false", "off", "n", "no"})

T = TypeVar("T")
Address = tuple[tuple[str, str, str, str], str | None]
_ANY_ADDRESS: Address = ((".*", ".*", ".*", ".*"), None)


def parse_device_specs(texts: Sequence[str]) -> tuple[DeviceSpec, ...]:
    """Return the device specs in ``texts``, in order; each text is a JSON object or a list of objects.

    Raises ValueError if an entry is invalid. The error's ``args`` are one sentence per problem; each sentence begins
    with the invalid entry.
    """
    problems: list[str] = []
    specs = [
        spec
        for text in texts
        for entry, fields in _entries(text, problems)
        if (spec := _spec(entry, fields, problems)) is not None
    ]
    if problems:
        raise ValueError(*problems)
    return tuple(specs)


def _entries(text: str, problems: list[str]) -> list[tuple[str, dict[str, object]]]:
    """Parse one value of ``device_spec``. Return for each entry the fields, and the JSON text that messages show.

    In each returned pair, the JSON text comes first.
    """
    try:
        decoded = json.loads(text)
    except (ValueError, RecursionError) as error:
        problems.append(f"{text!r}: not JSON ({error})")
        return []
    if isinstance(decoded, dict):
        return [(text, decoded)]
    if not isinstance(decoded, list):
        problems.append(f"{text!r}: must be a JSON object or a list of objects")
        return []
    entries = []
    for element in decoded:
        shown = json.dumps(element)
        if isinstance(element, dict):
            entries.append((shown, element))
        else:
            problems.append(f"{shown}: must be a JSON object")
    return entries


def _spec(text: str, fields: dict[str, object], problems: list[str]) -> DeviceSpec | None:
    found: list[str] = []
    vendor_id = _tried(lambda: _id(fields, "vendor_id"), ANY, found)
    product_id = _tried(lambda: _id(fields, "product_id"), ANY, found)
    devname = _tried(lambda: _devname(fields), None, found)
    parts, single = _tried(lambda: _address(fields.get("address")), _ANY_ADDRESS, found)
    tags = [
        (name, _tried(lambda name=name: _tag(name, fields[name]), None, found))  # type: ignore[misc]
        for name in sorted(fields.keys() - MATCHED)
    ]
    if fields.get("address") and fields.get("devname"):
        found.append("one entry cannot have both address and devname")
    problems.extend(f"{text}: {problem}" for problem in found)
    if found:
        return None
    return DeviceSpec(
        text=text,
        vendor_id=vendor_id,
        product_id=product_id,
        address_parts=parts,
        single_address=single,
        devname=devname,
        tags=tuple(tags),
    )


def _tried(read: Callable[[], T], otherwise: T, problems: list[str]) -> T:
    try:
        return read()
    except ValueError as error:
        problems.append(str(error))
        return otherwise


def _id(fields: dict[str, object], name: str) -> str:
    text = _text(name, fields.get(name, ANY))
    return ANY if text.strip() == ANY else _hex(name, text, 0xFFFF, 4)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, not {json.dumps(value)}")  # noqa: TRY004 - each problem is one of these
    return value


def _hex(name: str, text: str, largest: int, width: int) -> str:
    found = _HEX.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{name} {text!r} is not a hexadecimal number")
    number = int(found[1], 16)
    if number > largest:
        raise ValueError(f"{name} {text!r} is above {largest:x}, the largest valid value")
    return f"{number:0{width}x}"


def _devname(fields: dict[str, object]) -> str | None:
    value = fields.get("devname")
    return None if value is None else _text("devname", value) or None


def _address(value: object) -> Address:
    if value in (None, "", {}):
        return _ANY_ADDRESS
    if isinstance(value, str):
        return _written(value)
    if isinstance(value, dict):
        return _expressions(value)
    raise ValueError(f"address must be a string or an object of regular expressions, not {json.dumps(value)}")


def _written(text: str) -> Address:
    """Parse an address string: parts may be missing on the left, and a missing part or ``*`` matches any value."""
    left, _, function = text.partition(".")
    named = left.split(":")
    if len(named) > 3:
        raise ValueError(f"address {text!r} has more parts than domain:bus:slot.function")
    texts = [part.strip() or ANY for part in (*[ANY] * (3 - len(named)), *named, function)]
    # Example of an error message: the bus of address '0000:zz:00.0': 'zz' is not a hexadecimal number.
    values = [
        ANY if part == ANY else _hex(f"the {name} of address {text!r}:", part, _LARGEST[name], _WIDTHS[name])
        for name, part in zip(_PARTS, texts, strict=True)
    ]
    domain, bus, slot, function = (".*" if part == ANY else part for part in values)
    single = None if ANY in values else f"{domain}:{bus}:{slot}.{function}"
    return (domain, bus, slot, function), single


def _expressions(value: dict[str, object]) -> Address:
    """Parse an address object. If all four parts are plain hexadecimal digits, the object names one PCI function."""
    written = [value.get(name, ".*") for name in _PARTS]
    domain, bus, slot, function = (_whole(name, part) for name, part in zip(_PARTS, written, strict=True))
    spelt = all(
        re.fullmatch(f"[0-9a-f]{{{_WIDTHS[name]}}}", str(part)) for name, part in zip(_PARTS, written, strict=True)
    )
    single = "{}:{}:{}.{}".format(*written) if spelt else None
    return (domain, bus, slot, function), single


def _whole(name: str, value: object) -> str:
    """Return ``value``, a regular expression, with ``.*`` added.

    Alone, ``value`` only matches the start of an address part. With ``.*`` it matches the whole part.
    """
    text = _text(f"{name} of address", value)
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{name} in the address is {text!r}, which is not a regular expression ({error})") from error
    if text == ".*":
        return text
    flags = _FLAGS.match(text)
    if flags is None:
        return f"(?:{text}).*"
    # Since Python 3.11, a global flag such as (?i) must be at the start of the expression, and so cannot be inside a
    # group. So (?i)TEXT becomes (?i:TEXT), a group with its own flag.
    # With the flag x, TEXT may end in a comment, which would hide the closing bracket of the group. So add a newline to
    # end the comment.
    end = "\n" if "x" in flags[1] else ""
    return f"(?{flags[1]}:{text[flags.end() :]}{end}).*"


def _tag(name: str, value: object) -> str | None:
    """Return a tag's value as text, with booleans normalised as nova-compute normalises them."""
    if value is None:
        return None
    if isinstance(value, (dict, list)):
        raise ValueError(f"{name} must be a single value, not {json.dumps(value)}")  # noqa: TRY004 - as above
    text = str(value)
    if name not in _STRICT and name != "remote_managed":
        return text
    lowered = text.strip().lower()
    if name in _STRICT and lowered not in _TRUE | _FALSE:
        raise ValueError(f"{name} must be true or false, not {json.dumps(value)}")
    return "true" if lowered in _TRUE else "false"


def oddities(spec: DeviceSpec) -> Iterable[str]:
    """Yield a warning for each key of ``spec`` that has no effect, and a warning if ``spec`` matches every device."""
    if _filter(spec) == (ANY, ANY, _ANY_ADDRESS[0], None, False):
        yield "offers guests every PCI device of the host: the entry has no vendor_id, product_id, address or devname"
    for name in [name for name, _ in spec.tags if name not in TAGS]:
        written = name.strip().lower().replace("-", "_").replace(" ", "_")
        if near := nearest(written, sorted(MATCHED | TAGS)):
            yield f"unknown key {name!r}, which nova ignores, so this key selects no devices; did you mean {near}?"
    idle = [name for name in ("resource_class", "traits") if spec.tag(name) is not None]
    if spec.tag("physical_network") and idle:
        verb = "has" if len(idle) == 1 else "have"
        yield f"{' and '.join(idle)} {verb} no effect, because a device with a physical_network is not in Placement"


def earlier_twin(spec: DeviceSpec, earlier: Sequence[DeviceSpec]) -> DeviceSpec | None:
    """Return the first entry in ``earlier`` with the same filters as ``spec``, or None.

    If there is such an entry, ``spec`` has no effect.
    """
    return next((other for other in earlier if _filter(other) == _filter(spec)), None)


def _filter(spec: DeviceSpec) -> tuple[object, ...]:
    # remote_managed is the only tag that filters devices: if true, devices without a card serial number do not match.
    remote = spec.tag("remote_managed") == "true"
    return spec.vendor_id, spec.product_id, spec.address_parts, spec.devname, remote
