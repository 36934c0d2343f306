"""Decide which guests should be on this host according to nova's rows, and whether these rows could be read."""

from __future__ import annotations

from agent.model.memo import for_the_same_arguments
from agent.model.nova import NovaState
from agent.model.snapshot import Snapshot
from agent.resources.volumes import VolumeOwners


def guests_of(snapshot: Snapshot) -> VolumeOwners:
    """Return the possible owners of volumes.

    Without nova as a source ([state] source = none), each domain of libvirt counts as an instance with the same uuid.
    """
    state, host = snapshot.nova.value, snapshot.host.value
    domains = host.domains if host else ()
    if state is None:
        return VolumeOwners(instance_uuids=frozenset(), state_known=False, domains=domains)
    if not state.kind.has_cloud:
        uuids = frozenset(domain.uuid for domain in domains)
        return VolumeOwners(instance_uuids=uuids, state_known=host is not None, domains=domains)
    return VolumeOwners(instance_uuids=expected_here(state), state_known=True, domains=domains)


@for_the_same_arguments
def expected_here(state: NovaState) -> frozenset[str]:
    """Return the uuids of the instances that may have a guest on this host.

    These are the instances whose row in nova names this host, and the instances with a migration in progress.
    """
    living = {i.uuid for i in state.instances if i.host == state.host and not i.deleted}
    moving = {m.instance_uuid for m in state.migrations if m.in_progress}
    return frozenset(living | moving)
