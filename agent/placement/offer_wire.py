"""Parse Placement's answers into values: usages, provider summaries, names of resource classes.

As in agent/placement/wire.py, the parsers skip nothing, and raise PlacementUnavailable for any unexpected shape.

A provider summary has no inventories, only a ``capacity``: (total − reserved) × ratio, rounded down. The agent cannot
compute total, reserved and ratio from this one number, so it reads only the used amounts from a summary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agent.errors import PlacementUnavailable
from agent.text.numbers import whole

#: (class, amount), sorted.
Amounts = tuple[tuple[str, int], ...]


def parse_usages(body: object) -> Amounts:
    """Parse ``GET …/usages``: the used amount of each class of one provider."""
    return tuple(sorted(_numbers(_object(_object(body, "usages").get("usages"), "usages"))))


def parse_usages_at(body: object) -> tuple[int, Amounts]:
    """Parse ``GET …/usages`` into the provider's generation and the used amounts at that generation."""
    generation = whole(_object(body, "usages").get("resource_provider_generation"))
    if generation is None:
        raise _odd("resource_provider_generation of the usages is not a 64-bit integer", body)
    return generation, parse_usages(body)


def parse_summaries(body: object) -> dict[str, Amounts]:
    """Parse ``GET /allocation_candidates`` (1.29): the used amount of every class of each provider in the summaries."""
    summaries = _object(_object(body, "candidates").get("provider_summaries"), "provider_summaries")
    return {provider: tuple(sorted(_used(_object(found, "summary")))) for provider, found in summaries.items()}


def parse_class_names(body: object) -> frozenset[str]:
    """Parse ``GET /resource_classes`` (1.2): the name of every resource class."""
    found = _object(body, "resource classes").get("resource_classes")
    if not isinstance(found, list):
        raise _odd("resource_classes", found)
    names = [_object(each, "resource class").get("name") for each in found]
    if not all(isinstance(name, str) for name in names):
        raise _odd("the name of a resource class is not a string", names)
    return frozenset(str(name) for name in names)


def _used(summary: Mapping[str, object]) -> Iterator[tuple[str, int]]:
    resources = _object(summary.get("resources"), "resources")
    yield from _numbers({name: _object(each, name).get("used") for name, each in resources.items()})


def _numbers(found: Mapping[str, object]) -> Iterator[tuple[str, int]]:
    for name, value in found.items():
        amount = whole(value)
        if amount is None:
            raise _odd(f"the amount of {name} is not a 64-bit integer", value)
        yield name, amount


def _object(value: object, what: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise _odd(what, value)
    return value


def _odd(what: str, value: object) -> PlacementUnavailable:
    return PlacementUnavailable(f"answer not understood: {what}: received a value of type {type(value).__name__}")
