"""Before anything of oslo is imported: eventlet stays out, the threading backend is chosen (docs/internals.md)."""

import os
import pathlib
import sys

sys.modules["eventlet"] = None  # type: ignore[assignment]
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from hypothesis import HealthCheck, settings  # noqa: E402
from oslo_service import backend  # noqa: E402

backend.init_backend(backend.BackendType.THREADING)

# `ci` gives the same examples each time; `deep` looks further, by hand. A busy
# machine is slow without any fault of ours, so no example has a deadline.
settings.register_profile(
    "ci", derandomize=True, max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "deep", max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
