"""Numbers that nova-compute takes in a wider range than makes sense: what they must be, and what holds in their place.

The option's own type takes what nova-compute's takes, because a number outside is refused in our file only.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from agent.config.load import Key, Loaded
from agent.config.reading.problems import problems_of, refuse
from agent.config.reading.tolerance import novas_notices, refuse_ours
from agent.errors import ConfigError


class Bound(NamedTuple):
    """Whether a number is inside, and what it must be in words."""

    holds: Callable[[Any], bool]
    words: str


_AT_LEAST_1 = Bound(lambda number: number >= 1, "must be at least 1")
_MORE_THAN_0 = Bound(lambda number: number > 0, "must be more than 0, or the class has no capacity")

BOUNDS: dict[Key, Bound] = {
    # Nova's compute service raises one that is not above its report_interval.
    ("DEFAULT", "service_down_time"): _AT_LEAST_1,
    ("DEFAULT", "rpc_response_timeout"): _AT_LEAST_1,
    # Only for a class that Placement does not have yet, and only where no ratio is set.
    ("DEFAULT", "initial_cpu_allocation_ratio"): _MORE_THAN_0,
    ("DEFAULT", "initial_ram_allocation_ratio"): _MORE_THAN_0,
    ("DEFAULT", "initial_disk_allocation_ratio"): _MORE_THAN_0,
    # Placement's largest total. Read only where libvirt offers TDX.
    ("libvirt", "num_intel_tdx_guests"): Bound(lambda number: number <= 2**31 - 1, "must be at most 2147483647"),
}


def bounded(loaded: Loaded, group: str, option: str) -> Any:  # noqa: ANN401 - an option's type is the option's
    """The number in force, or the default where nova.conf's is outside its bound. Raises ConfigError for ours."""
    return _bounded(loaded, (group, option))


def _bounded(loaded: Loaded, key: Key) -> Any:  # noqa: ANN401 - as above
    problems = tuple(_problems(loaded, key))
    refuse_ours(loaded, key, problems)
    return loaded.default(*key) if problems else loaded.value(*key)


def check_bounds(loaded: Loaded) -> None:
    """Raise ConfigError with every number of ours that is outside its bound."""
    refuse(problems_of(loaded, [functools.partial(_bounded, key=key) for key in BOUNDS]))


def bound_notices(loaded: Loaded) -> Iterator[str]:
    """Numbers in nova.conf that are outside their bound."""
    for key in BOUNDS:
        with contextlib.suppress(ConfigError):
            yield from novas_notices(loaded, key, _problems(loaded, key), "the default holds")


def _problems(loaded: Loaded, key: Key) -> Iterator[str]:
    value = loaded.value(*key)
    if value is not None and not BOUNDS[key].holds(value):
        yield f"{loaded.quote(*key)}: {BOUNDS[key].words}"
