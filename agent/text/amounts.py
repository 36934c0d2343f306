"""How amounts of resource classes are written, in findings and for operators: one table of units, one form of numbers.

The names of the classes say MB and GB, what they count is MiB and GiB. All other
classes count things: their only unit is their own name, and a text that has just
said it leaves it out.
"""

from __future__ import annotations

_UNITS = {"MEMORY_MB": "MiB", "DISK_GB": "GiB"}


def unit_of(resource_class: str) -> str:
    """MiB, GiB, or the class itself where it counts things."""
    return _UNITS.get(resource_class, resource_class)


def number_text(number: float) -> str:
    """Every digit of a whole number (1 TiB is 1048576 MiB, not 1.04858e+06), no float's tail (16.1 x 24 is 386.4).

    Else twelve significant digits: a ratio of 1.0625 must not look like one of 1.062.
    """
    return str(int(number)) if float(number).is_integer() else f"{number:.12g}"


def beside_its_class(resource_class: str, number: float) -> str:
    """For a text or a table that names the class by itself: ``8``, ``4096 MiB``."""
    unit = _UNITS.get(resource_class)
    return number_text(number) if unit is None else f"{number_text(number)} {unit}"


def with_unit(resource_class: str, number: float) -> str:
    """``8 VCPU``, ``4096 MiB``."""
    return f"{number_text(number)} {unit_of(resource_class)}"


def with_class(resource_class: str, number: float) -> str:
    """For a text in which nothing else says what is counted: ``8 VCPU``, ``4096 MiB of MEMORY_MB``."""
    text = with_unit(resource_class, number)
    return f"{text} of {resource_class}" if resource_class in _UNITS else text


def is_or_are(number: float) -> str:
    """The verb after an amount: 1 PCPU *is*, 8 VCPU *are*, and so are 0."""
    return "is" if number == 1 else "are"


def is_wanted(resource_class: str, number: float) -> str:
    """The head of a sentence: ``1 PCPU is wanted``, ``8 VCPU are wanted``."""
    return f"{with_class(resource_class, number)} {is_or_are(number)} wanted"
