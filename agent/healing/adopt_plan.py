"""Decide how this host gets its provider back after a rename, a move of the service or a reinstallation.

There are two cases. First: the provider or the compute node record with this host's uuid has an old node or host name.
Then adopt writes the new name. Second: the file with the host's uuid was lost, and a provider with another uuid has
this node's name. Then adopt gives this host the uuid of that provider.

adopt refuses a rename while nova's database has the old node name for instances that are not deleted. nova finds
instances by host and node name, so after the rename the instances' allocations would seem to belong to another host.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from agent.model.adoption import (
    AdoptFacts,
    AdoptPlan,
    AdoptRefusal,
    AdoptStep,
    FileStep,
    NameStep,
    RecordStep,
)
from agent.model.node_record import NodeRecord
from agent.model.nova import ComputeNode, NovaState
from agent.model.owners import AGENT_OWNER, RIVAL
from agent.model.placement import Provider
from agent.model.plan import RenameProvider, SaveComputeNode
from agent.model.settings import Role, Settings
from agent.provider_tree.rival import is_alive

#: A refusal: (name of the guard rail, reason).
_Refusal = tuple[str, str]

RESTART = "restart stocktake-agent afterwards: the running agent keeps the identity that it read at its start"


def adoption(facts: AdoptFacts, settings: Settings) -> AdoptPlan:
    """Return the plan of ``adopt``. The function is pure: equal facts yield plans with equal digests."""
    uuid = _wanted(facts)
    if uuid is None:
        return AdoptPlan(notes=("nothing to adopt: no provider has this node's name or this host's uuid",))
    steps: tuple[AdoptStep, ...] = (*_file(facts, uuid), *_names(facts, uuid), *_record(facts, settings, uuid))
    notes = _notes(facts, uuid)
    if not steps:
        agree = "nothing to adopt: this host, Placement and nova's database agree on the host's uuid and names"
        return AdoptPlan(uuid=uuid, notes=notes or (agree,))
    refusals = tuple(
        AdoptRefusal(guard=guard, why=why, unread=guard == "state")
        for guard, why in _refusals(facts, settings, uuid, steps)
    )
    if refusals:
        return AdoptPlan(uuid=uuid, refusals=refusals, notes=notes)
    return AdoptPlan(uuid=uuid, steps=steps, notes=(*notes, RESTART))


def _wanted(facts: AdoptFacts) -> str | None:
    """Return the uuid that this host should have.

    If a provider with another uuid has this node's name, return that provider's uuid. Otherwise return this host's
    uuid, or None if neither Placement nor nova knows this host's uuid.
    """
    if facts.holder_root is not None:
        return facts.holder_root.uuid
    is_known = facts.own_root is not None or _row(facts, facts.identity) is not None
    return facts.identity if is_known else None


def _file(facts: AdoptFacts, uuid: str) -> tuple[FileStep, ...]:
    if uuid == facts.identity:
        return ()
    return (FileStep(path=facts.file.path, before=facts.file.text, after=f"{uuid}\n"),)


def _names(facts: AdoptFacts, uuid: str) -> tuple[NameStep, ...]:
    """Return the renames: first of the children that are named after the root, then of the root itself.

    Children that other services created keep their names. The root comes last: if a run is interrupted, the root's old
    name shows the next run which children still need the rename.
    """
    root = facts.own_root
    if root is None or facts.own is None or uuid != root.uuid or root.name == facts.node:
        return ()
    named = [
        (child, facts.node + child.name.removeprefix(root.name))
        for child in facts.own.providers
        if child.uuid != root.uuid and _is_still_named_after(root.name, facts.node, child)
    ]
    named.append((root, facts.node))
    return tuple(NameStep(before=p.name, write=RenameProvider(provider_uuid=p.uuid, name=name)) for p, name in named)


def _is_still_named_after(old: str, new: str, child: Provider) -> bool:
    """Return True if nova or the agent created the child and its name still begins with the root's old name.

    If the root ``a`` gets the name ``a_b``, a renamed child such as ``a_b_x`` still begins with ``a_``. Then return
    False for a child whose name begins with ``a_b_``: this child is already renamed.
    """
    is_renamed = new.startswith(f"{old}_") and child.name.startswith(f"{new}_")
    return child.name.startswith(f"{old}_") and not is_renamed and bool(child.traits & {AGENT_OWNER, RIVAL})


def _record(facts: AdoptFacts, settings: Settings, uuid: str) -> tuple[RecordStep, ...]:
    """Return the step that corrects host, node name and service in the compute node record with this uuid.

    Return an empty tuple if the record is right or could not be read.
    """
    stored = _stored(facts, uuid)
    if stored is None:
        return ()
    service = facts.state.service if facts.state else None
    record = dataclasses.replace(
        stored,
        host=settings.host,
        hypervisor_hostname=facts.node,
        service_id=service.id if service and stored.host != settings.host else stored.service_id,
    )
    changed = record.changes(stored)
    return (RecordStep(stored=stored, write=SaveComputeNode(record=record, changed=changed)),) if changed else ()


def _stored(facts: AdoptFacts, uuid: str) -> NodeRecord | None:
    return next((record for state in _states(facts) for record in state.records if record.uuid == uuid), None)


def _notes(facts: AdoptFacts, uuid: str) -> tuple[str, ...]:
    """Return a note if the compute node row has an old host or node name and adopt cannot correct the row."""
    state = facts.state
    row = _row(facts, uuid)
    if row is None or state is None or _stored(facts, uuid) is not None:
        return ()
    if (row.host, row.hypervisor_hostname) == (facts.host, facts.node):
        return ()
    why = "the agent did not read the whole row" if state.kind.writes_records else "the agent cannot write the row"
    return (
        f"compute node row {row.id} has host {row.host} and node {row.hypervisor_hostname}. The command adopt cannot "
        f"correct the row, because {why} ([state] source = {state.kind.value}). The finding identity-changed stays "
        "until an operator corrects the row",
    )


# Guard rails ----------------------------------------------------------------------------------------------------------


def _refusals(facts: AdoptFacts, settings: Settings, uuid: str, steps: tuple[AdoptStep, ...]) -> Iterable[_Refusal]:
    if settings.role is not Role.OWNER:
        yield "role", f"adopt needs [agent] role = owner, but the role is {settings.role.value}"
    if facts.state is None:
        yield (
            "state",
            "nova's data was not read, so it is unknown whether another host has the same compute node uuid: "
            f"{facts.state_error}",
        )
    yield from _alive(facts, settings)
    if any(isinstance(step, FileStep) for step in steps):
        yield from _of_another_uuid(facts, uuid)
    yield from _left_behind(facts, uuid)
    if any(isinstance(step, NameStep | RecordStep) for step in steps):
        yield from _instances(facts, uuid)


def _alive(facts: AdoptFacts, settings: Settings) -> Iterable[_Refusal]:
    for state in _states(facts):
        if is_alive(state, settings):
            yield "alive", f"nova-compute of host {state.host} is alive"
    asked = {facts.host, *(state.host for state in facts.others)}
    for row in _live(facts):
        if row.host not in asked:
            yield "alive", f"compute node row {row.id} names host {row.host}, and nova-compute may be alive there"


def _of_another_uuid(facts: AdoptFacts, uuid: str) -> Iterable[_Refusal]:
    # The agent may write only its own compute_id file. If the identity comes from a compute node row, no compute_id
    # file exists yet, so the agent may write one in its state directory.
    if facts.origin and facts.origin != facts.file.path and not facts.origin.startswith("compute_nodes id"):
        why = f"this host's identity comes from {facts.origin}, which the agent never writes; put {uuid} there by hand"
        yield "file", why
    if facts.own is not None and facts.own.allocations:
        too = (
            "; the provider that has this node's name has allocations too"
            if facts.holder and facts.holder.allocations
            else ""
        )
        yield "allocations", f"adopt would lose the allocations of this host's provider {facts.identity}{too}"
    root = facts.holder_root
    if root is not None and not root.traits & {AGENT_OWNER, RIVAL}:
        yield "owner", f"perhaps provider {root.uuid} is no compute node: its traits lack {RIVAL} and {AGENT_OWNER}"


def _left_behind(facts: AdoptFacts, uuid: str) -> Iterable[_Refusal]:
    """Yield a refusal for each live row with this host and node but another uuid: nova allows only one such row."""
    for row in _live(facts):
        if row.uuid != uuid and (row.host, row.hypervisor_hostname) == (facts.host, facts.node):
            yield "row", f"compute node row {row.id} also names this host and node, but has another uuid: {row.uuid}"


def _instances(facts: AdoptFacts, uuid: str) -> Iterable[_Refusal]:
    row = _row(facts, uuid)
    old = {row.hypervisor_hostname if row else None, facts.own_root.name if facts.own_root else None}
    hosts = {facts.host, row.host if row else facts.host}
    named = {
        instance.uuid
        for state in _states(facts)
        for instance in state.instances
        if not instance.deleted
        and instance.host in hosts
        and instance.node in old
        and (instance.host, instance.node) != (facts.host, facts.node)
    }
    if named:
        yield (
            "instances",
            f"nova's database has the old host or node name for {len(named)} instances, and nova finds instances by "
            f"these names; give the host its old name back, or change the instances' rows first "
            f"({', '.join(sorted(named)[:3])})",
        )


def _states(facts: AdoptFacts) -> tuple[NovaState, ...]:
    return (facts.state, *facts.others) if facts.state else facts.others


def _live(facts: AdoptFacts) -> tuple[ComputeNode, ...]:
    return tuple(row for row in (facts.state.nodes if facts.state else ()) if not row.deleted)


def _row(facts: AdoptFacts, uuid: str | None) -> ComputeNode | None:
    return next((row for row in _live(facts) if row.uuid == uuid), None)
