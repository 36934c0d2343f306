"""The guard rails of heal, one module each (design 2.6). A new one is a file here and a line in its tuple.

In the order in which they are asked: the first that says no is the one that people are
told. BEFORE are asked of a finding, before its consumer is read; AFTER of the change as well.
"""

from __future__ import annotations

from agent.guards import (
    confirmed,
    identity,
    max_consumers,
    max_percent,
    minimum_age,
    no_rival,
    one_change,
    own_part,
    record_unmoved,
    recorded_fresh,
    repairable,
    role,
    sources_fresh,
    undone,
)
from agent.guards.base import Guard

BEFORE: tuple[Guard, ...] = (
    repairable.GUARD,
    role.GUARD,
    undone.GUARD,
    sources_fresh.GUARD,
    identity.GUARD,
    no_rival.GUARD,
    confirmed.GUARD,
    minimum_age.GUARD,
    recorded_fresh.GUARD,
)
AFTER: tuple[Guard, ...] = (
    record_unmoved.GUARD,
    own_part.GUARD,
    one_change.GUARD,
    max_consumers.GUARD,
    max_percent.GUARD,
)
BUILTIN: tuple[Guard, ...] = (*BEFORE, *AFTER)
