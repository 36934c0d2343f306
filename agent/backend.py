"""Select oslo.service's threading backend before the import of oslo.messaging, which would select eventlet's backend.

oslo.service does not let a process change its backend later. agent/cmd blocks the import of eventlet, so eventlet's
backend could not be imported.
"""

from __future__ import annotations


def choose_threads() -> None:
    """Select the threading backend unless a backend is selected already."""
    from oslo_service import backend

    if backend.get_backend_type() is None:
        backend.init_backend(backend.BackendType.THREADING)
