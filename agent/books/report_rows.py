"""Turn the result of an audit into the rows that commands and reports show: ledger, inventory, traits, evacuations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from agent.books.compare import CHILD, SHARED
from agent.books.settling import settling_because
from agent.model.books import DesiredProvider, DesiredTree
from agent.model.claim import Cause, Claim
from agent.model.compared import Row, Subject
from agent.model.host.facts import HostFacts
from agent.model.nova import NovaState
from agent.model.placement import ROOT, PlacementView, Provider, ProviderKey
from agent.model.report import ConsumerName, EvacuationNote, InventoryRow, LedgerRow, ProviderPlace, TraitRow, Verdict


def reserve_rows(wanted: DesiredTree | None, subject: Subject) -> tuple[LedgerRow, ...]:
    """Return one ledger row for each reserve that the operator configured (``reserved_host_*``)."""
    reserves = wanted.root.reserves if wanted else ()
    own = ((terms.resource_class, *terms.terms[0]) for terms in reserves if terms.terms)
    return tuple(_reserve_row(*term, subject) for term in own if term[1].startswith("reserved_host"))


def ledger_rows(
    rows: tuple[Row, ...], view: PlacementView | None, state: NovaState | None, subject: Subject
) -> tuple[LedgerRow, ...]:
    """Return one row per consumer, class and provider. ``state`` shows which moves and tasks nova has in progress."""
    shared = tuple(sharing.provider for sharing in view.shared) if view else ()
    names = {p.uuid: p.name for p in (*view.providers, *shared)} if view else {}
    return tuple(
        _ledger_row(row, *_provider(row.provider_key, names, subject), settling_because(row, state)) for row in rows
    )


def _reserve_row(resource_class: str, name: str, amount: int, subject: Subject) -> LedgerRow:
    return LedgerRow(
        consumer_uuid=None,
        consumer_key=name,
        consumer_name=name,
        consumer_kind="host",
        cause=Cause.HOST_RESERVED.value,
        provider=subject.node or "",
        provider_uuid=subject.root_uuid or "",
        resource_class=resource_class,
        promised=None,
        held=amount,
        recorded=None,
        verdict=Verdict.RESERVED,
        source=f"config [DEFAULT] {name}",
    )


def _ledger_row(row: Row, provider_uuid: str, provider_name: str, settling: str) -> LedgerRow:
    first = row.claims[0]
    sizes = [c.size_bytes for c in row.claims if c.size_bytes is not None]
    return LedgerRow(
        consumer_uuid=first.consumer.uuid,
        consumer_key=row.key,
        consumer_name=row.consumer_name,
        consumer_kind=row.consumer_kind,
        cause=_causes(row.claims),
        provider=provider_name,
        provider_uuid=provider_uuid,
        resource_class=row.resource_class,
        promised=row.promised,
        held=row.held,
        recorded=row.recorded,
        verdict=row.verdict,
        source=", ".join(dict.fromkeys(str(c.source) for c in row.claims)),
        size_bytes=sum(sizes) if sizes else None,
        outside_tree=row.provider_key.kind == SHARED,
        settling=settling,
    )


def _causes(claims: tuple[Claim, ...]) -> str:
    """Return why the consumer takes its amount, such as ``instance``.

    In a same-host resize, a consumer may have two reasons, for the old and for the new size. They are joined by "+".
    """
    promised = [c.cause.value for c in claims if c.source.system == "nova"]
    return "+".join(dict.fromkeys(promised)) or claims[0].cause.value


def _provider(key: ProviderKey, names: dict[str, str], subject: Subject) -> tuple[str, str]:
    """Return (uuid, name) of the provider."""
    if key == ROOT:
        return subject.root_uuid or "", subject.node or ""
    if key == CHILD:
        return "", f"a child provider of {subject.node or ''}"
    return key.name, names.get(key.name, key.name)


def inventory_rows(view: PlacementView | None, wanted: DesiredTree | None) -> tuple[InventoryRow, ...]:
    """Return a row for each class of each provider, with the wanted inventory and the inventory in Placement.

    Classes that the agent does not own have rows too.
    """
    used = view.used if view else None
    rows = (row for provider in _providers(view, wanted) for row in _inventory_rows(provider, used))
    return tuple(rows) if wanted is not None else tuple(replace(row, is_decided=False) for row in rows)


class _Provider(NamedTuple):
    """A provider as the agent wants it and as Placement has it; one of the two may be None."""

    uuid: str
    name: str
    wanted: DesiredProvider | None
    observed: Provider | None


def _providers(view: PlacementView | None, wanted: DesiredTree | None) -> Iterator[_Provider]:
    desired = {p.uuid: p for p in (wanted.providers if wanted else ())}
    observed = {p.uuid: p for p in (view.providers if view else ())}
    for uuid in {**desired, **observed}:
        there, own = observed.get(uuid), desired.get(uuid)
        yield _Provider(uuid, (there.name if there else "") or (own.name if own else ""), own, there)


def _inventory_rows(provider: _Provider, used: Mapping[tuple[str, str], int] | None) -> Iterator[InventoryRow]:
    wanted, observed = provider.wanted, provider.observed
    own = {i.resource_class: i for i in (wanted.inventories if wanted else ())}
    recorded = {i.resource_class: i for i in (observed.inventories if observed else ())}
    terms = {t.resource_class: t.terms for t in (wanted.reserves if wanted else ())}
    # If the agent does not manage a class, or does not know its inventory now (``frozen``), the inventory in Placement
    # stays.
    frozen = frozenset(f.name for f in wanted.frozen) if wanted else frozenset()
    removed = wanted.owned_classes - frozen if wanted else frozenset()
    for name in sorted({*own, *recorded}):
        yield InventoryRow(
            provider=provider.name,
            provider_uuid=provider.uuid,
            wanted=own.get(name) or (None if name in removed else recorded.get(name)),
            recorded=recorded.get(name),
            used=None if used is None else used.get((provider.uuid, name), 0),
            terms=terms.get(name, ()),
            is_decided=name not in frozen,
        )


def provider_places(view: PlacementView | None, wanted: DesiredTree | None) -> tuple[ProviderPlace, ...]:
    """Return each provider with its parent in Placement, or its wanted parent if Placement lacks the provider."""
    places = ((each, each.observed or each.wanted) for each in _providers(view, wanted))
    return tuple(ProviderPlace(each.name, each.uuid, known.parent_uuid) for each, known in places if known)


def trait_rows(view: PlacementView | None, wanted: DesiredTree | None) -> tuple[TraitRow, ...]:
    """Return a row for each trait of each provider. A trait that the agent sets or removes has owner "ours"."""
    return tuple(row for provider in _providers(view, wanted) for row in _trait_rows(provider))


def _trait_rows(provider: _Provider) -> Iterator[TraitRow]:
    wished = provider.wanted.traits_wanted if provider.wanted else frozenset()
    decided = wished | (provider.wanted.traits_unwanted if provider.wanted else frozenset())
    recorded = provider.observed.traits if provider.observed else frozenset()
    for trait in sorted(wished | recorded):
        yield TraitRow(
            provider=provider.name,
            provider_uuid=provider.uuid,
            trait=trait,
            wanted=trait in wished or trait not in decided,
            recorded=trait in recorded,
            owner="ours" if trait in decided else "operator",
        )


def evacuation_notes(state: NovaState | None) -> tuple[EvacuationNote, ...]:
    """Return each instance's newest finished evacuation away from this host, which ``explain`` shows with amount 0."""
    instances = {i.uuid: i for i in (state.instances if state else ())}
    newest = {m.instance_uuid: m for m in sorted(state.finished_evacuations if state else (), key=lambda m: m.id)}
    notes = []
    for uuid, migration in sorted(newest.items()):
        instance = instances.get(uuid)
        flavor = instance.flavor if instance else None
        notes.append(
            EvacuationNote(
                instance_uuid=uuid,
                migration_uuid=migration.uuid or str(migration.id),
                status=migration.status,
                vcpus=flavor.vcpus if flavor else None,
                memory_mib=flavor.memory_mib if flavor else None,
                dest_host=migration.dest_host or "unknown",
            )
        )
    return tuple(notes)


def consumer_names(state: NovaState | None, host: HostFacts | None) -> tuple[ConsumerName, ...]:
    """Return the names that nova and libvirt have for instances and guests, sorted."""
    found = {(instance.name, instance.uuid) for instance in (state.instances if state else ())}
    found |= {(domain.name, domain.uuid) for domain in (host.domains if host else ())}
    return tuple(ConsumerName(*pair) for pair in sorted(found) if pair[0] != pair[1])
