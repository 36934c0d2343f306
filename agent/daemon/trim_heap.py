"""Give memory that is no longer used back to the machine, once the first audit has shown how much that is.

Imports, the first look at every guest and at Placement leave about a megabyte free inside
the C library's heap that the process would keep for ever.
"""

from __future__ import annotations

import ctypes
import gc


def give_back() -> None:
    """Collect, and trim the heap; nothing where the C library is another one than glibc."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
