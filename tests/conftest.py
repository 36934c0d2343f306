"""Before anything of oslo is imported: eventlet stays out, the threading backend is chosen (docs/internals.md)."""

import pathlib
import sys

sys.modules["eventlet"] = None  # type: ignore[assignment]
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from oslo_service import backend  # noqa: E402

backend.init_backend(backend.BackendType.THREADING)
