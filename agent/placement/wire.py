"""Parse Placement's JSON into values, and render values as Placement's JSON; offer_wire.py parses usages and summaries.

A field that Placement leaves out gets Placement's default, so that two inventories can be compared by ``==``. A parser
raises PlacementUnavailable if any part of an answer has an unexpected shape, instead of skipping that part. The only
parser that never raises is ``parse_refusal``. Pure: no I/O.

The generation in an answer is the provider's generation at the time of that answer. It may be newer than the
generation in the list of providers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from agent.errors import AnswerTooLarge, PlacementUnavailable
from agent.model.ancestry import ancestors
from agent.model.placement import MAX_UNIT_DEFAULT, Allocation, ConsumerRecord, Inventory, Provider, Written
from agent.model.plan import CreateProvider, MoveProvider, PutAllocations, Reshape
from agent.text.numbers import MOST_RATIO, finite, whole

UNKNOWN_TYPE = "unknown"


class Microversion(NamedTuple):
    """A microversion that can be compared: 1.9 is below 1.30."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventories:
    """The answer of ``…/inventories``: all inventories of a provider at one generation, sorted by class."""

    generation: int
    inventories: tuple[Inventory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The answer of ``…/traits``: all traits of a provider at one generation."""

    generation: int
    traits: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregates:
    """The answer of ``…/aggregates`` (1.19): all aggregates of a provider at one generation."""

    generation: int
    aggregates: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocations:
    """The answer of ``…/allocations`` (1.28): a provider's allocations at one generation, sorted by consumer."""

    generation: int
    allocations: tuple[Allocation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What an error answer of Placement says: a code for programs and a text. Both may be empty.

    Placement sends the code from microversion 1.23 on.
    """

    code: str
    detail: str


def nothing(body: object) -> None:
    """Check that the answer has no body (201, 204). Raises PlacementUnavailable if it has a body."""
    if body is not None:
        raise _odd("the answer", "has a body, although it must be empty", body)


def parse_maximum(body: object) -> Microversion:
    """Return the newest microversion of v1 in the root document."""
    for version in _items(_object(body, "root document"), "versions"):
        found = _object(version, "version")
        if str(found.get("id", "")).startswith("v1."):
            return _microversion(_text(found, "max_version"))
    raise _odd("root document", "does not list version v1 of the API", body)


def parse_providers(body: object) -> tuple[Provider, ...]:
    """Parse ``GET /resource_providers`` (1.14), in Placement's order, without inventories, traits and aggregates."""
    providers = tuple(parse_provider(item) for item in _items(_object(body, "provider list"), "resource_providers"))
    if len({provider.uuid for provider in providers}) != len(providers):
        raise _odd("provider list", "names a provider twice", body)
    return providers


def parse_provider(body: object) -> Provider:
    """Parse one provider from an answer of ``GET /resource_providers`` (1.14) or of ``POST`` to it (1.20)."""
    found = _object(body, "provider")
    parent = found.get("parent_provider_uuid")
    if parent is not None and not (isinstance(parent, str) and parent):
        raise _odd("provider", "has an invalid parent_provider_uuid", parent)
    return Provider(
        uuid=_text(found, "uuid"),
        name=_text(found, "name"),
        parent_uuid=parent,
        generation=_number(found, "generation"),
    )


def parents_first(providers: Iterable[Provider]) -> tuple[Provider, ...]:
    """Return the providers sorted by depth, then by name.

    A provider whose parent is not in ``providers`` counts as a root. Raises PlacementUnavailable if it finds a loop.
    """
    by_uuid = {provider.uuid: provider for provider in providers}
    parent_of = {provider.uuid: provider.parent_uuid for provider in by_uuid.values()}

    def depth(provider: Provider) -> int:
        above = ancestors(provider.uuid, parent_of)
        if provider.uuid in above:
            raise _odd("provider tree", "has a loop that contains the provider", provider.uuid)
        return len(above)

    return tuple(sorted(by_uuid.values(), key=lambda provider: (depth(provider), provider.name, provider.uuid)))


def parse_inventories(body: object) -> Inventories:
    """Parse the answer to ``GET`` or ``PUT …/inventories``."""
    found = _object(body, "inventories")
    records = _mapping(found, "inventories")
    return Inventories(
        generation=_number(found, "resource_provider_generation"),
        inventories=tuple(_inventory(name, records[name]) for name in sorted(records)),
    )


def render_inventories(inventories: Iterable[Inventory], generation: int) -> dict[str, object]:
    """Return the body of ``PUT …/inventories`` with every field, because a PUT resets fields that are left out."""
    return {
        "resource_provider_generation": generation,
        "inventories": {
            inventory.resource_class: {
                "total": inventory.total,
                "reserved": inventory.reserved,
                "min_unit": inventory.min_unit,
                "max_unit": inventory.max_unit,
                "step_size": inventory.step_size,
                "allocation_ratio": inventory.allocation_ratio,
            }
            for inventory in inventories
        },
    }


def parse_traits(body: object) -> Traits:
    """Parse the answer to ``GET`` or ``PUT …/traits``."""
    found = _object(body, "traits")
    return Traits(generation=_number(found, "resource_provider_generation"), traits=_names(found, "traits"))


def parse_trait_names(body: object) -> frozenset[str]:
    """Parse ``GET /traits``: the name of every trait that this Placement knows."""
    return _names(_object(body, "traits"), "traits")


def render_traits(traits: Iterable[str], generation: int) -> dict[str, object]:
    """Return the body of ``PUT …/traits``; an empty list removes all traits."""
    return {"resource_provider_generation": generation, "traits": sorted(traits)}


def parse_aggregates(body: object) -> Aggregates:
    """Parse the answer to ``GET`` or ``PUT …/aggregates`` (1.19)."""
    found = _object(body, "aggregates")
    return Aggregates(generation=_number(found, "resource_provider_generation"), aggregates=_names(found, "aggregates"))


def render_aggregates(aggregates: Iterable[str], generation: int) -> dict[str, object]:
    """Return the body of ``PUT …/aggregates`` (1.19)."""
    return {"resource_provider_generation": generation, "aggregates": sorted(aggregates)}


def render_provider(write: CreateProvider) -> dict[str, object]:
    """Return the body of ``POST /resource_providers``. A root gets no parent key: Placement rejects a null (400)."""
    body: dict[str, object] = {"uuid": write.provider_uuid, "name": write.name}
    if write.parent_uuid is not None:
        body["parent_provider_uuid"] = write.parent_uuid
    return body


def render_move(write: MoveProvider) -> dict[str, object]:
    """Return the body of ``PUT /resource_providers/{uuid}`` (1.14).

    This request also replaces the name, so the body repeats it. A null parent makes the provider a root (1.37).
    """
    return {"name": write.name, "parent_provider_uuid": write.parent_uuid}


def parse_allocations(body: object, provider_uuid: str, most: int) -> Allocations:
    """Parse ``GET …/allocations`` of one provider (1.28: with each consumer's generation).

    Raises AnswerTooLarge if there are more than ``most`` allocations.
    """
    found = _object(body, "allocations")
    consumers = _mapping(found, "allocations")
    listed = sum(len(_mapping(_object(each, "allocation"), "resources")) for each in consumers.values())
    if listed > most:
        raise AnswerTooLarge(f"the provider has {listed} allocations, but the limit for one provider is {most}")
    return Allocations(
        generation=_number(found, "resource_provider_generation"),
        allocations=tuple(
            allocation
            for consumer in sorted(consumers)
            for allocation in _held_by(consumer, provider_uuid, _object(consumers[consumer], "allocation"))
        ),
    )


def parse_consumer(body: object, consumer_uuid: str, written: Written | None = None) -> ConsumerRecord:
    """Parse the answer to ``GET /allocations/{consumer}`` (1.28).

    Microversion 1.38 added the consumer's type. ``written`` is from the answer's headers: the time of the last write.
    If the consumer does not exist, Placement answers 200 without allocations; the record then has no generation.
    """
    found = _object(body, "consumer")
    providers = _mapping(found, "allocations")
    generation = _number(found, "consumer_generation") if providers else None
    return ConsumerRecord(
        consumer_uuid=consumer_uuid,
        generation=generation,
        project_id=_text(found, "project_id") if providers else None,
        user_id=_text(found, "user_id") if providers else None,
        allocations=tuple(
            Allocation(
                consumer_uuid=consumer_uuid,
                consumer_generation=generation,
                provider_uuid=provider,
                resource_class=resource_class,
                amount=amount,
            )
            for provider in sorted(providers)
            for resource_class, amount in _amounts(_object(providers[provider], "allocation"))
        ),
        consumer_type=_consumer_type(found) if providers else None,
        # Without allocations, Placement sends the present time as Last-Modified, which is not the time of a write.
        written=written if providers else None,
    )


def render_allocations(write: PutAllocations) -> dict[str, object]:
    """Return the body of ``PUT /allocations/{consumer}`` (1.28; 1.38 if the body contains a type).

    A PUT without allocations deletes the consumer.
    """
    held: dict[str, dict[str, int]] = {}
    for allocation in write.allocations:
        held.setdefault(allocation.provider_uuid, {})[allocation.resource_class] = allocation.amount
    body: dict[str, object] = {
        "allocations": {provider: {"resources": amounts} for provider, amounts in held.items()},
        "project_id": write.project_id,
        "user_id": write.user_id,
        "consumer_generation": write.consumer_generation,
    }
    if write.consumer_type is not None:
        body["consumer_type"] = write.consumer_type
    return body


def render_reshape(write: Reshape) -> dict[str, object]:
    """Return the body of ``POST /reshaper`` (1.30).

    Inventories have the form of ``PUT …/inventories``, allocations the form of ``POST /allocations``.
    """
    return {
        "inventories": {uuid: render_inventories(own, generation) for uuid, generation, own in write.inventories},
        "allocations": {each.consumer_uuid: render_allocations(each) for each in write.allocations},
    }


def parse_refusal(body: object) -> Refusal:
    """Return the first entry of an error body. A missing part becomes an empty string."""
    errors = body.get("errors") if isinstance(body, Mapping) else None
    first = errors[0] if isinstance(errors, list) and errors else None
    if not isinstance(first, Mapping):
        return Refusal(code="", detail="")
    return Refusal(code=str(first.get("code") or ""), detail=" ".join(str(first.get("detail") or "").split()))


def _inventory(resource_class: str, record: object) -> Inventory:
    found = _object(record, f"inventory of {resource_class}")
    return Inventory(
        resource_class=resource_class,
        total=_number(found, "total"),
        reserved=_number(found, "reserved", 0),
        min_unit=_number(found, "min_unit", 1),
        max_unit=_number(found, "max_unit", MAX_UNIT_DEFAULT),
        step_size=_number(found, "step_size", 1),
        allocation_ratio=_ratio(found.get("allocation_ratio", 1.0)),
    )


def _ratio(value: object) -> float:
    ratio = finite(value)
    if ratio is None or abs(ratio) > MOST_RATIO:
        raise _odd("allocation_ratio", "is not a number that Placement can store", value)
    return ratio


def _held_by(consumer: str, provider_uuid: str, found: Mapping[str, object]) -> tuple[Allocation, ...]:
    generation = _number(found, "consumer_generation")
    return tuple(
        Allocation(
            consumer_uuid=consumer,
            consumer_generation=generation,
            provider_uuid=provider_uuid,
            resource_class=resource_class,
            amount=amount,
        )
        for resource_class, amount in _amounts(found)
    )


def _consumer_type(found: Mapping[str, object]) -> str | None:
    # Placement reports "unknown" for a consumer that was created without a type, and rejects "unknown" in a request.
    value = found.get("consumer_type")
    if value is not None and not isinstance(value, str):
        raise _odd("consumer_type", "is not a string", value)
    return None if value == UNKNOWN_TYPE else value


def _amounts(found: Mapping[str, object]) -> tuple[tuple[str, int], ...]:
    resources = _mapping(found, "resources")
    return tuple((name, _number(resources, name)) for name in sorted(resources))


def _microversion(text: str) -> Microversion:
    major, dot, minor = text.partition(".")
    if not (dot and major.isdecimal() and minor.isdecimal() and len(text) < 12 and text.isascii()):
        raise _odd("max_version", "is not a microversion", text)
    return Microversion(int(major), int(minor))


def _object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise _odd(what, "is not a JSON object", value)
    return value


def _mapping(found: Mapping[str, object], key: str) -> Mapping[str, object]:
    return _object(found.get(key), key)


def _items(found: Mapping[str, object], key: str) -> list[object]:
    value = found.get(key)
    if not isinstance(value, list):
        raise _odd(key, "is not a list", value)
    return value


def _names(found: Mapping[str, object], key: str) -> frozenset[str]:
    values = _items(found, key)
    if not all(isinstance(value, str) for value in values):
        raise _odd(key, "has an entry that is not a string", values)
    return frozenset(str(value) for value in values)


def _text(found: Mapping[str, object], key: str) -> str:
    value = found.get(key)
    if not isinstance(value, str) or not value:
        raise _odd(key, "is not a string", value)
    return value


def _number(found: Mapping[str, object], key: str, default: int | None = None) -> int:
    value = found.get(key, default)
    number = whole(value)
    if number is None:
        raise _odd(key, "is not a 64-bit integer", value)
    return number


def _odd(what: str, why: str, value: object) -> PlacementUnavailable:
    # The error does not contain the whole value, which may be megabytes long. The value's type suffices to find out
    # what is wrong with the answer.
    return PlacementUnavailable(f"answer not understood: {what} {why}: {_shape(value)}")


def _shape(value: object) -> str:
    if isinstance(value, str | int | float | None):
        return (
            repr(value)[:60] if not isinstance(value, int) else f"{type(value).__name__} with {value.bit_length()} bits"
        )
    return type(value).__name__
