"""Check some numeric options more strictly than nova-compute, which accepts numbers that cannot work.

The options' oslo.config types are as tolerant as in nova-compute, so this module checks the bounds. In Stocktake's own
files, a number out of bounds is an error. In nova.conf, the agent ignores such a number, uses the default and logs a
notice.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from agent.config.loaded import Key, Loaded
from agent.config.problems import Tolerated, problems_of, refuse
from agent.errors import ConfigError


class Bound(NamedTuple):
    """``holds`` returns whether a number is valid; ``words`` describes the valid range."""

    holds: Callable[[Any], bool]
    words: str


_AT_LEAST_1 = Bound(lambda number: number >= 1, "must be at least 1")
_MORE_THAN_0 = Bound(lambda number: number > 0, "must be above 0, or the resource class has no capacity")

BOUNDS: dict[Key, Bound] = {
    # No bound requires a service_down_time above report_interval, because nova-compute itself increases a
    # service_down_time that is not above report_interval.
    ("DEFAULT", "service_down_time"): _AT_LEAST_1,
    ("DEFAULT", "rpc_response_timeout"): _AT_LEAST_1,
    # An initial ratio applies only if Placement has no inventory of the class yet and no allocation ratio is set.
    ("DEFAULT", "initial_cpu_allocation_ratio"): _MORE_THAN_0,
    ("DEFAULT", "initial_ram_allocation_ratio"): _MORE_THAN_0,
    ("DEFAULT", "initial_disk_allocation_ratio"): _MORE_THAN_0,
    # Placement accepts no inventory total above this bound. nova-compute reads the option only if libvirt offers TDX.
    ("libvirt", "num_intel_tdx_guests"): Bound(lambda number: number <= 2**31 - 1, "must be at most 2147483647"),
}


def bounded(loaded: Loaded, group: str, option: str) -> Any:  # noqa: ANN401 - an option's type is the option's
    """Return the option's number, or the option's default if nova.conf sets a number outside the bound.

    Raises ConfigError if Stocktake's own files set a number outside the bound.
    """
    check = _tolerated((group, option))
    check.refuse_own(loaded)
    return loaded.default(group, option) if any(check.problems(loaded)) else loaded.value(group, option)


def check_bounds(loaded: Loaded) -> None:
    """Raise ConfigError with a sentence for each number in Stocktake's own files that is out of bounds."""
    refuse(problems_of(loaded, [_tolerated(key).refuse_own for key in BOUNDS]))


def bound_notices(loaded: Loaded) -> Iterator[str]:
    """Yield a notice for each number in nova.conf that is outside its bound."""
    for key in BOUNDS:
        with contextlib.suppress(ConfigError):
            yield from _tolerated(key).notices(loaded)


def _tolerated(key: Key) -> Tolerated:
    return Tolerated(key, functools.partial(_problems, key=key), "the agent uses the default")


def _problems(loaded: Loaded, key: Key) -> Iterator[str]:
    value = loaded.value(*key)
    if value is not None and not BOUNDS[key].holds(value):
        yield f"{loaded.quote(*key)}: {BOUNDS[key].words}"
