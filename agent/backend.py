"""Choose oslo.service's threading backend before oslo.messaging is imported: it asks for eventlet's by itself.

The choice cannot be undone, and with eventlet shut out (cmd/) the wrong one is an error at import.
"""

from __future__ import annotations


def choose_threads() -> None:
    """Select the threading backend where none is selected yet."""
    from oslo_service import backend

    if backend.get_backend_type() is None:
        backend.init_backend(backend.BackendType.THREADING)
