"""oslo.messaging, after the backend was chosen: imported from here, the order of imports cannot be wrong."""

from __future__ import annotations

from agent.backend import choose_threads

choose_threads()

import oslo_messaging  # noqa: E402 - after the choice

__all__ = ["oslo_messaging"]
