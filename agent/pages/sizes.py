"""Write amounts for a page. Pure: no I/O.

One rule decides the unit of a size: MiB below 1 GiB, GiB up to 8192 GiB, and TiB from 8192 GiB on.

A size has at most one decimal. RAM (MEMORY_MB counts MiB) and disk (DISK_GB counts GiB) are sizes; every other class
counts things, and the name of the class is the unit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent.text.amounts import number_text

#: The sentence that tells a page's reader in which unit the page shows a size.
RULE = "sizes are in GiB; sizes below 1 GiB are in MiB, sizes of 8192 GiB or more are in TiB"
FIRST_CLASSES = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")
_MIB, _GIB, _TIB = 1 << 20, 1 << 30, 1 << 40
_TIB_FROM = 8192 * _GIB
_SIZES = {"MEMORY_MB": (_MIB, "RAM"), "DISK_GB": (_GIB, "disk")}
_TWICE = re.compile(r"(?<![\w.])([\d.]+ [MGT]iB) \(\1(, |\))")
_IN_TEXT = re.compile(r"(?<![\w.])(\d{4,18}) (MiB|bytes)\b")


def size_text(size_bytes: float) -> str:
    """Return a size in the unit that RULE names: ``119.9 GiB``, ``8.1 TiB``, ``512 MiB``; below 1 MiB in bytes."""
    size = abs(size_bytes)
    # A size just below 1 GiB, which would be rounded to 1024 MiB, is written in GiB.
    if size >= _TIB_FROM:
        divisor, unit = _TIB, "TiB"
    elif size >= _GIB - _MIB / 20:
        divisor, unit = _GIB, "GiB"
    elif size >= _MIB:
        divisor, unit = _MIB, "MiB"
    else:
        return f"{number_text(size_bytes)} bytes"
    return f"{_one_decimal(size_bytes / divisor)} {unit}"


def beside_its_class(resource_class: str, amount: float) -> str:
    """Return an amount for a text that already names the class: ``8``, ``16 GiB``."""
    if resource_class not in _SIZES:
        return number_text(round(amount, 1))
    return size_text(amount * _SIZES[resource_class][0]) if amount else "0 GiB"


def with_class(resource_class: str, amount: float) -> str:
    """Return an amount together with the name of its class: ``8 VCPU``, ``16 GiB RAM``, ``80 GiB disk``."""
    name = _SIZES[resource_class][1] if resource_class in _SIZES else resource_class
    return f"{beside_its_class(resource_class, amount)} {name}"


def listed(amounts: Mapping[str, int]) -> tuple[str, ...]:
    """Return one text for each class whose amount is not 0: VCPU, PCPU, RAM and disk first, the others by name."""
    return tuple(with_class(name, amounts[name]) for name in sorted(amounts, key=class_place) if amounts[name])


def class_place(name: str) -> tuple[int, str]:
    """Return a key that sorts VCPU, PCPU, MEMORY_MB and DISK_GB first, then the others by name."""
    return (FIRST_CLASSES.index(name) if name in FIRST_CLASSES else len(FIRST_CLASSES), name)


def by_the_rule(text: str) -> str:
    """Return a finding's text with sizes in readable units (see RULE): ``16 GiB`` in place of ``16384 MiB``.

    A size that is not round keeps its exact text, followed by the rounded size: ``4097 MiB (4 GiB)``. Otherwise sizes
    that differ by only 1 MiB would look equal. If the text has the same size in two units,
    ``120 GiB (128849018880 bytes)``, the result has the size once.
    """
    converted = _IN_TEXT.sub(_converted, text).replace(" of MEMORY_MB", " RAM").replace(" of DISK_GB", " disk")
    return _TWICE.sub(lambda found: f"{found[1]} (" if found[2] == ", " else found[1], converted)


def _converted(found: re.Match[str]) -> str:
    size = int(found[1]) * (_MIB if found[2] == "MiB" else 1)
    text = size_text(size)
    unit = next((unit for name, unit in (("TiB", _TIB), ("GiB", _GIB)) if text.endswith(name)), None)
    if unit is None:
        return found[0]
    return text if size * 10 % unit == 0 else f"{found[0]} ({text})"


def _one_decimal(number: float) -> str:
    return number_text(round(number, 1))
