"""Return unused memory to the machine after the first audit.

Imports and the first read of every guest and of Placement leave about a megabyte free inside the C library's heap,
which the process would keep forever.
"""

from __future__ import annotations

import ctypes
import gc


def trim_heap() -> None:
    """Collect garbage and trim the heap; with another C library than glibc, only collect."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
