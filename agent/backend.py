"""Prepare oslo.service for the import of oslo.messaging, without eventlet. The agent itself does not use oslo.service.

oslo.messaging derives its server from ``oslo_service.service.ServiceBase``. oslo.service takes that class from a
backend, by default from eventlet's, and does not let a process change its backend later. agent/cmd blocks the import of
eventlet, so the default would fail: another backend must be selected before oslo.messaging is imported.
"""

from __future__ import annotations

import abc
import importlib.util
import sys
import types


def choose_threads() -> None:
    """Select oslo.service's threading backend unless a backend is selected already.

    oslo.service before 4.2 (OpenStack 2025.1) has no threading backend, and oslo.service before 4.0 has no backends at
    all. For both, this function installs a stand-in module with the one class that oslo.messaging uses.
    """
    if not _has_threading_backend():
        sys.modules.setdefault("oslo_service.service", _service_module())
        return
    from oslo_service import backend

    if backend.get_backend_type() is None:
        backend.init_backend(backend.BackendType.THREADING)


def _has_threading_backend() -> bool:
    try:
        names = ("oslo_service.backend._threading", "oslo_service.backend.threading")
        return any(importlib.util.find_spec(name) is not None for name in names)
    except ModuleNotFoundError:
        return False


def _service_module() -> types.ModuleType:
    """Return a stand-in for the module ``oslo_service.service``."""
    module = types.ModuleType("oslo_service.service")
    module.ServiceBase = abc.ABC  # type: ignore[attr-defined]  # has the abstract methods start, stop, reset, wait
    return module
