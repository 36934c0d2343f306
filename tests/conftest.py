"""Before anything of oslo is imported: eventlet stays out, the threading backend is chosen (docs/internals.md)."""

import sys

sys.modules["eventlet"] = None  # type: ignore[assignment]

from oslo_service import backend  # noqa: E402

backend.init_backend(backend.BackendType.THREADING)
