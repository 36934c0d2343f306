"""Find this host's instances that nova is not changing now, and their libvirt domains, for the findings about guests.

nova may be changing an instance that has a task or a migration, or is being built, or whose database row was written in
the last seconds (agent/books/recency.py). Without a cloud ([state] source = none) there are no instances to find.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agent.books.recency import instance_just_changed
from agent.findings.base import AuditFacts
from agent.model.claim import Cause
from agent.model.host.facts import Domain
from agent.model.nova import NovaState
from agent.model.occupancy import Occupancy


def resting(audit: AuditFacts, is_wrong: Callable[[Occupancy, Domain], bool]) -> Iterator[tuple[Occupancy, Domain]]:
    """Yield each wrong instance of this host that nova is not changing now, with its libvirt domain; sorted by uuid."""
    state, host = audit.state, audit.snapshot.host.value
    if state is None or host is None or not state.kind.has_cloud:
        return
    moving = frozenset(m.instance_uuid for m in state.migrations if m.in_progress)
    domains = {domain.uuid: domain for domain in host.domains}
    for taken in audit.books.occupied.occupancies:
        domain = domains.get(taken.instance.uuid)
        # Almost no instance is wrong, so the cheapest order asks this first.
        if domain is None or not is_wrong(taken, domain):
            continue
        if taken.instance.uuid not in moving and _is_at_rest(taken, state):
            yield taken, domain


def _is_at_rest(taken: Occupancy, state: NovaState) -> bool:
    instance = taken.instance
    if taken.moving or taken.cause is not Cause.INSTANCE:
        return False
    if instance.task_state is not None or instance.vm_state == "building":
        return False
    return not instance_just_changed(instance, state.now)
