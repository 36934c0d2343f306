"""Turn amounts of resource classes into text, for findings and for commands. All texts use the same units and format.

MEMORY_MB and DISK_GB are named after MB and GB, but count MiB and GiB. Every other class counts things, and the unit is
the name of the class. A text that has already named the class omits this unit: "8" instead of "8 VCPU".
"""

from __future__ import annotations

_UNITS = {"MEMORY_MB": "MiB", "DISK_GB": "GiB"}
_LENGTHS = (("d", 86_400), ("h", 3_600), ("min", 60))


def unit_of(resource_class: str) -> str:
    """Return the unit of the class: MiB for MEMORY_MB, GiB for DISK_GB, else the name of the class."""
    return _UNITS.get(resource_class, resource_class)


def number_text(number: float) -> str:
    """Return a number as text: a whole number with all its digits (1 TiB is 1048576 MiB, not 1.04858e+06).

    Any other number has up to twelve significant digits. This hides rounding errors (16.1 x 24 is 386.4), and shows a
    ratio of 1.0625 in full.
    """
    return str(int(number)) if float(number).is_integer() else f"{number:.12g}"


def beside_its_class(resource_class: str, number: float) -> str:
    """Return the amount for a text or table that already names the class: ``8``, ``4096 MiB``."""
    return with_unit(resource_class, number) if resource_class in _UNITS else number_text(number)


def with_unit(resource_class: str, number: float) -> str:
    """Return the amount with its unit: ``8 VCPU``, ``4096 MiB``."""
    return f"{number_text(number)} {unit_of(resource_class)}"


def with_class(resource_class: str, number: float) -> str:
    """Return the amount for a text that does not yet name the class: ``8 VCPU``, ``4096 MiB of MEMORY_MB``."""
    text = with_unit(resource_class, number)
    return f"{text} of {resource_class}" if resource_class in _UNITS else text


def age_text(seconds: float) -> str:
    """Return an age in the largest unit of which there are at least two: ``91 s``, ``4 min``, ``2 h``, ``5 d``."""
    unit, length = next(((unit, length) for unit, length in _LENGTHS if seconds >= 2 * length), ("s", 1))
    return f"{int(seconds // length)} {unit}"


def is_or_are(number: float) -> str:
    """Return the verb after an amount: 1 PCPU *is*, 8 VCPU *are*, 0 VCPU *are*."""
    return "is" if number == 1 else "are"


def requested(resource_class: str, number: float) -> str:
    """Return the beginning of a sentence: ``requested 8 VCPU``, ``requested 1 GiB of DISK_GB``."""
    return f"requested {with_class(resource_class, number)}"
