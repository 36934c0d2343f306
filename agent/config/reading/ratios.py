"""Read the allocation ratios: the ratio that every audit sets, and the initial ratio of a new resource class."""

from __future__ import annotations

from agent.config.load import Loaded
from agent.config.reading.bounds import bounded
from agent.model.settings import RatioPolicy


def ratio(loaded: Loaded, name: str) -> RatioPolicy:
    """Return the ratios of ``cpu``, ``ram`` or ``disk``. 0.0 means unset, as in nova: one file works for both."""
    return RatioPolicy(
        configured=loaded.value("DEFAULT", f"{name}_allocation_ratio") or None,
        initial=bounded(loaded, "DEFAULT", f"initial_{name}_allocation_ratio"),
    )
