"""Write sizes of storage for a page. Pure."""

from __future__ import annotations

from agent.text.amounts import number_text

_UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20))


def size_text(size_bytes: float) -> str:
    """Return a size with one decimal in the largest unit that gives at least 1: ``8.1 TiB``."""
    unit = next(((name, factor) for name, factor in _UNITS if size_bytes >= factor), None)
    return f"{number_text(size_bytes)} bytes" if unit is None else f"{size_bytes / unit[1]:.1f} {unit[0]}"
