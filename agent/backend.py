"""Choose oslo.service's threading backend before oslo.messaging is imported, which would choose eventlet's.

oslo.service does not let a process change its backend later. agent/cmd shuts eventlet out, so the wrong backend
fails at import.
"""

from __future__ import annotations


def choose_threads() -> None:
    """Select the threading backend unless a backend is selected already."""
    from oslo_service import backend

    if backend.get_backend_type() is None:
        backend.init_backend(backend.BackendType.THREADING)
