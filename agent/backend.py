"""Select oslo.service's threading backend before the import of oslo.messaging, which would select eventlet's backend.

oslo.messaging imports oslo.service since OpenStack 2026.1, and oslo.service does not let a process change its backend
later. agent/cmd blocks the import of eventlet, so eventlet's backend could not be imported. The agent itself does not
use oslo.service.
"""

from __future__ import annotations

import contextlib
import importlib.util


def choose_threads() -> None:
    """Select the threading backend unless a backend is selected already.

    oslo.service before 4.2 (OpenStack 2025.1 and older) has no threading backend; the oslo.messaging of these releases
    does not import oslo.service, so nothing needs to be selected.
    """
    with contextlib.suppress(ImportError):
        from oslo_service import backend

        names = ("oslo_service.backend._threading", "oslo_service.backend.threading")
        if any(importlib.util.find_spec(name) for name in names) and backend.get_backend_type() is None:
            backend.init_backend(backend.BackendType.THREADING)
