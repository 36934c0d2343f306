"""Compute three lists of amounts from one snapshot: promised by nova, held on the host, recorded in Placement.

A guest is foreign if nova does not expect it on this host. While nova's data cannot be read, no guest counts as
foreign. Pure.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable

from agent.books.compare import CHILD
from agent.books.occupancy import instances_of_domains, occupied
from agent.model.books import Books
from agent.model.claim import UNMANAGED_CAUSES, Cause, Claim, Consumer, Ledger, Origin
from agent.model.nova import NovaState
from agent.model.occupancy import Occupied
from agent.model.own_consumers import OWN_KIND, own_consumers
from agent.model.placement import ROOT, PlacementView, ProviderKey
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.nested import BUILTIN as NESTED_FAMILIES
from agent.resources import BUILTIN
from agent.resources.base import promised_of
from agent.resources.guests import guests_of

NOTHING = Occupied(occupancies=())


def books(snapshot: Snapshot, settings: Settings, node: str | None) -> Books:
    """Return what nova promised, what the host holds and what Placement recorded, each as a list of amounts."""
    state = promise_of(snapshot, node)
    view = snapshot.placement.value
    taken = occupied(state, node, view.consumer_uuids if view else frozenset()) if state and node else NOTHING
    promised = Ledger.of(_promised(taken, settings, view))
    held = _held(snapshot, settings)
    recorded = Ledger.of((*_listed(view), *_unlisted(view))) if view else Ledger()
    return Books(
        promised=promised,
        held=held,
        recorded=recorded,
        unmanaged=_unmanaged(held, recorded),
        occupied=taken,
        state_known=state is not None and node is not None,
        host_known=snapshot.host.ok,
        recorded_known=snapshot.placement.ok,
    )


def _promised(taken: Occupied, settings: Settings, view: PlacementView | None) -> Iterable[Claim]:
    """Yield what instances and migrations take on this host according to nova's database.

    The database does not say which child provider an instance uses. So a claim of a child provider's class has the
    provider key CHILD. Exception: in Placement, the consumer has an allocation of the class on the root provider.
    """
    for resource in BUILTIN:
        yield from resource.promised(taken.occupancies, settings)
    names = {name for family in NESTED_FAMILIES for name in family.flavor_classes(settings)}
    for name in sorted(names):
        on_root = _holders_on_root(view, name)
        for claim in promised_of(name, taken.occupancies):
            yield claim if claim.consumer.key in on_root else dataclasses.replace(claim, provider_key=CHILD)


def _holders_on_root(view: PlacementView | None, name: str) -> frozenset[str]:
    """Return the consumers with allocations of class ``name`` on the root provider.

    Older nova releases put these allocations on the root, newer ones on a child.
    """
    held = view.allocations if view else ()
    return frozenset(
        a.consumer_uuid for a in held if a.resource_class == name and view and a.provider_uuid == view.root_uuid
    )


def _unmanaged(held: Ledger, recorded: Ledger) -> Ledger:
    """Return the amounts on this host that nova does not manage, such as the memory of a guest unknown to nova.

    An amount is left out if Placement has an allocation of the same resource class for the same consumer.
    """
    counted = {(c.consumer.key, c.resource_class) for c in recorded.claims}
    return Ledger.of(
        c for c in held.claims if c.cause in UNMANAGED_CAUSES and (c.consumer.key, c.resource_class) not in counted
    )


def promise_of(snapshot: Snapshot, node: str | None) -> NovaState | None:
    """Return nova's data, None if unknown. With [state] source = none, libvirt's domains take the instances' place."""
    state = snapshot.nova.value
    if state is None or state.kind.has_cloud:
        return state
    if snapshot.host.value is None or node is None:
        return None
    return dataclasses.replace(state, instances=instances_of_domains(snapshot.host.value.domains, state.host, node))


def digest(written: Books) -> str:
    """Return a digest of nova's instances and this host's guests and their sizes.

    A change in Placement must not change the digest. Placement decides whether the consumer of a moving instance is the
    instance or its migration, so the digest contains the instance instead of the consumer.
    """
    promised = sorted((c.instance_uuid or "", c.resource_class, c.amount) for c in written.promised.claims)
    held = sorted((c.consumer.key, c.resource_class, c.amount, c.cause.value) for c in written.held.claims)
    return hashlib.sha256(repr((promised, held)).encode()).hexdigest()


def _held(snapshot: Snapshot, settings: Settings) -> Ledger:
    claims = [claim for resource in BUILTIN for claim in resource.held(snapshot, settings)]
    guests = guests_of(snapshot)
    if not guests.state_known:
        return Ledger.of(claims)
    return Ledger.of(_relabelled(claim, guests.instance_uuids) for claim in claims)


def _relabelled(claim: Claim, expected: frozenset[str]) -> Claim:
    # A guest that the cloud does not expect on this host is foreign, even if it is an instance on another host.
    if claim.cause is Cause.INSTANCE and claim.consumer.key not in expected:
        return dataclasses.replace(claim, cause=Cause.FOREIGN_GUEST)
    return claim


def provider_key(view: PlacementView, provider_uuid: str) -> ProviderKey:
    """Return the key of a provider of the tree: ROOT for the root provider, else ("provider", uuid)."""
    return ROOT if provider_uuid == view.root_uuid else ProviderKey("provider", provider_uuid)


def _listed(view: PlacementView) -> Iterable[Claim]:
    own = own_consumers(view.root_uuid)
    for a in view.allocations:
        yield Claim(
            consumer=_consumer(a.consumer_uuid, own.get(a.consumer_uuid)),
            cause=own.get(a.consumer_uuid, Cause.RECORDED_ONLY),
            resource_class=a.resource_class,
            amount=a.amount,
            provider_key=provider_key(view, a.provider_uuid),
            source=Origin("placement", "allocations", a.consumer_uuid),
        )


def _unlisted(view: PlacementView) -> Iterable[Claim]:
    """Yield an amount for each usage that Placement counts but lists for no consumer.

    The scheduler subtracts these usages too, so they belong to the recorded amounts.
    """
    for usage in view.unlisted:
        yield Claim(
            consumer=Consumer(key=f"unlisted/{usage.provider_uuid}", kind="unknown"),
            cause=Cause.USAGE_UNLISTED,
            resource_class=usage.resource_class,
            amount=usage.amount,
            provider_key=provider_key(view, usage.provider_uuid),
            source=Origin("placement", "usages", usage.provider_uuid),
        )


def _consumer(uuid: str, cause: Cause | None) -> Consumer:
    """Return the consumer. If the agent did not create the consumer, ``cause`` is None and the kind is unknown."""
    if cause is None:
        return Consumer(key=uuid, kind="unknown", uuid=uuid)
    return Consumer(key=uuid, kind=OWN_KIND, name=f"unmanaged {cause.value}", uuid=uuid)
