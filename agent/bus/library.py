"""Import oslo.messaging after the backend is chosen: modules that import it from here cannot get the order wrong."""

from __future__ import annotations

from agent.backend import choose_threads

choose_threads()

import oslo_messaging  # noqa: E402 - after the choice

__all__ = ["oslo_messaging"]
