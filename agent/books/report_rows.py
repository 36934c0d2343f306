"""Turn a decision into the rows that commands and the report print: ledger, inventory, traits and evacuations."""

from __future__ import annotations

from collections.abc import Mapping

from agent.books.compare import CHILD, SHARED
from agent.model.books import DesiredProvider, DesiredTree, ReserveTerms
from agent.model.claim import Cause, Claim
from agent.model.compared import Row, Subject
from agent.model.nova import NovaState
from agent.model.placement import ROOT, Inventory, PlacementView, Provider, ProviderKey
from agent.model.report import EvacuationNote, InventoryRow, LedgerRow, TraitRow, Verdict


def reserve_rows(wanted: DesiredTree | None, subject: Subject) -> tuple[LedgerRow, ...]:
    """Return the operator's reserves, one row for each class."""
    reserves = wanted.root.reserves if wanted else ()
    found = [_reserve_row(terms, name, amount, subject) for terms in reserves for name, amount in terms.terms[:1]]
    return tuple(row for row in found if row)


def ledger_rows(rows: tuple[Row, ...], view: PlacementView | None, subject: Subject) -> tuple[LedgerRow, ...]:
    """Return one row per consumer, class and provider."""
    shared = tuple(sharing.provider for sharing in view.shared) if view else ()
    names = {provider.uuid: provider.name for provider in (*view.providers, *shared)} if view else {}
    return tuple(_ledger_row(row, *_provider(row.provider_key, names, subject)) for row in rows)


def _reserve_row(terms: ReserveTerms, name: str, amount: int, subject: Subject) -> LedgerRow | None:
    if not name.startswith("reserved_host"):
        return None
    return LedgerRow(
        consumer_uuid=None,
        consumer_key=name,
        consumer_name=name,
        consumer_kind="host",
        cause=Cause.HOST_RESERVED.value,
        provider=subject.node or "",
        provider_uuid=subject.root_uuid or "",
        resource_class=terms.resource_class,
        promised=None,
        held=amount,
        recorded=None,
        verdict=Verdict.RESERVED,
        source=f"config [DEFAULT] {name}",
    )


def _ledger_row(row: Row, provider_uuid: str, provider_name: str) -> LedgerRow:
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
    )


def _causes(claims: tuple[Claim, ...]) -> str:
    """Return the cause; a same-host resize with a single consumer has two causes, joined by "+"."""
    promised = [c.cause.value for c in claims if c.source.system == "nova"]
    return "+".join(dict.fromkeys(promised)) or claims[0].cause.value


def _provider(key: ProviderKey, names: dict[str, str], subject: Subject) -> tuple[str, str]:
    """Return (uuid, name) of the provider."""
    if key == ROOT:
        return subject.root_uuid or "", subject.node or ""
    if key == CHILD:
        return "", f"a child of {subject.node or ''}"
    return key.name, names.get(key.name, key.name)


def inventory_rows(view: PlacementView | None, wanted: DesiredTree | None) -> tuple[InventoryRow, ...]:
    """Return every class of every provider of the tree, the agent's or not: wanted beside recorded."""
    desired = {p.uuid: p for p in wanted.providers} if wanted else {}
    observed = {p.uuid: p for p in view.providers} if view else {}
    used = view.used if view else {}
    rows: list[InventoryRow] = []
    for uuid in dict.fromkeys([*desired, *observed]):
        rows.extend(_inventory_rows(desired.get(uuid), observed.get(uuid), used, known=view is not None))
    return tuple(rows)


def _inventory_rows(
    wanted: DesiredProvider | None, observed: Provider | None, used: Mapping[tuple[str, str], int], *, known: bool
) -> list[InventoryRow]:
    uuid = wanted.uuid if wanted else observed.uuid if observed else ""
    name = (observed.name if observed else "") or (wanted.name if wanted else "")
    mine = {i.resource_class: i for i in (wanted.inventories if wanted else ())}
    theirs = {i.resource_class: i for i in (observed.inventories if observed else ())}
    terms = {t.resource_class: t.terms for t in (wanted.reserves if wanted else ())}
    return [
        InventoryRow(
            provider=name,
            provider_uuid=uuid,
            wanted=_wanted(resource_class, mine, theirs, wanted),
            recorded=theirs.get(resource_class),
            used=used.get((uuid, resource_class), 0) if known else None,
            terms=terms.get(resource_class, ()),
        )
        for resource_class in sorted({*mine, *theirs})
    ]


def _wanted(
    resource_class: str,
    mine: dict[str, Inventory],
    theirs: dict[str, Inventory],
    wanted: DesiredProvider | None,
) -> Inventory | None:
    """Return the desired inventory; a class that is frozen or not owned keeps the inventory that Placement has."""
    if resource_class in mine:
        return mine[resource_class]
    frozen = {f.resource_class for f in wanted.frozen} if wanted else set()
    owned = wanted.owned_classes - frozen if wanted else frozenset()
    return None if resource_class in owned else theirs.get(resource_class)


def trait_rows(view: PlacementView | None, wanted: DesiredTree | None) -> tuple[TraitRow, ...]:
    """Return every trait of every provider of the tree; a trait that the agent does not decide is the operator's."""
    rows: list[TraitRow] = []
    desired = {p.uuid: p for p in wanted.providers} if wanted else {}
    observed = {p.uuid: p for p in view.providers} if view else {}
    for uuid in dict.fromkeys([*desired, *observed]):
        rows.extend(_trait_rows(desired.get(uuid), observed.get(uuid)))
    return tuple(rows)


def _trait_rows(wanted: DesiredProvider | None, observed: Provider | None) -> list[TraitRow]:
    uuid = wanted.uuid if wanted else observed.uuid if observed else ""
    name = (observed.name if observed else "") or (wanted.name if wanted else "")
    wished = wanted.traits_wanted if wanted else frozenset()
    decided = wished | (wanted.traits_unwanted if wanted else frozenset())
    recorded = observed.traits if observed else frozenset()
    return [
        TraitRow(
            provider=name,
            provider_uuid=uuid,
            trait=trait,
            wanted=trait in wished or (trait not in decided),
            recorded=trait in recorded,
            owner="ours" if trait in decided else "operator",
        )
        for trait in sorted(wished | recorded)
    ]


def evacuation_notes(state: NovaState | None) -> tuple[EvacuationNote, ...]:
    """Return the newest finished evacuation away from this host per instance: ``explain`` shows that each counts 0."""
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
