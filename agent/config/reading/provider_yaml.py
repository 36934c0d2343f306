"""Read provider.yaml files: inventories and traits that operators add to providers.

The files are every ``*.yaml`` in the folder ``[compute] provider_config_location``, in nova's format, schema version 1.
Each error names file and line. The checks are stricter than nova's schema: they also reject values that Placement would
reject at every audit (a total of 0, a reserve above the total), and a repeated key, for which YAML silently uses the
last value.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.config.loaded import Loaded
from agent.config.problems import refuse
from agent.config.yaml_budget import check_parts, read_bounded
from agent.errors import ConfigError
from agent.host_files.regular_file import open_regular
from agent.model.placement import Inventory
from agent.model.provider_config import COMPUTE_NODE, ProviderEntry
from agent.text.custom_names import NAME_LIMIT, is_custom_name

SUPPORTED_MAJOR = 1
KNOWN_MINOR = 0
_VERSION = re.compile(r"(?P<major>[0-9]{1,9})\.(?P<minor>[0-9]{1,9})")
_UUID = r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}\Z"
_NAME = rf"^[A-Z0-9_]{{1,{NAME_LIMIT}}}\Z"
# The largest amount and ratio that Placement accepts (placement/schemas/inventory.py). An amount is an INTEGER in
# Placement's database.
_MOST = 2**31 - 1
_MOST_RATIO = 3.40282e38
_KEY_TAGS = ("tag:yaml.org,2002:str", "tag:yaml.org,2002:merge")
_AMOUNT = {"type": "integer", "minimum": 1, "maximum": _MOST}
_INVENTORY = {
    "type": "object",
    "properties": {
        "total": _AMOUNT,
        "reserved": {"type": "integer", "minimum": 0, "maximum": _MOST},
        "min_unit": _AMOUNT,
        "max_unit": _AMOUNT,
        "step_size": _AMOUNT,
        "allocation_ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": _MOST_RATIO},
    },
    "required": ["total"],
    "additionalProperties": False,
}
_IDENTIFICATION = {
    "type": "object",
    "properties": {
        "uuid": {"anyOf": [{"type": "string", "pattern": _UUID}, {"const": COMPUTE_NODE}]},
        "name": {"type": "string", "minLength": 1, "maxLength": 200},
    },
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
}


def _list_of(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"additional": {"type": "array", "items": items}}}


_PROVIDER = {
    "type": "object",
    "properties": {
        "identification": _IDENTIFICATION,
        "inventories": _list_of(
            {"type": "object", "patternProperties": {_NAME: _INVENTORY}, "additionalProperties": False}
        ),
        "traits": _list_of({"type": "string", "pattern": _NAME}),
    },
    "required": ["identification"],
}
_SCHEMA = {"type": "object", "properties": {"providers": {"type": "array", "items": _PROVIDER}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderFiles:
    """The entries of all provider.yaml files, sorted by file name. ``notices`` says which entries have no effect."""

    entries: tuple[ProviderEntry, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Document:
    """One provider.yaml file: its content, and the line of each part of the content."""

    path: str
    content: Any
    lines: Mapping[tuple[str | int, ...], int]

    def at(self, *where: str | int) -> str:
        """Return ``file:line`` of the part at the path ``where``, or of the nearest enclosing part that has a line."""
        known = next((where[:n] for n in range(len(where), 0, -1) if where[:n] in self.lines), ())
        return f"{self.path}:{self.lines.get(known, 1)}"


def read_provider_files(folder: str) -> ProviderFiles:
    """Return the content of every ``*.yaml`` in the folder; nothing if the folder does not exist.

    Raises ConfigError with the file and line of each problem.
    """
    entries: list[ProviderEntry] = []
    notices: list[str] = []
    problems: list[str] = []
    for path in _paths(folder):
        try:
            document = _document(path)
            notices += _version_notices(document)
            _check_schema(document)
            for index in range(len(document.content.get("providers", ()))):
                entry = _entry(document, index)
                if entry.inventories or entry.traits:
                    entries.append(entry)
                else:
                    notices.append(
                        f"{entry.origin}: no effect: the entry for {_who(entry)} adds no inventory and no trait"
                    )
        except ConfigError as error:
            problems += error.problems
    refuse((*problems, *_named_twice(entries)))
    return ProviderFiles(entries=tuple(entries), notices=tuple(notices))


def _paths(folder: str) -> list[str]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".yaml") and not name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be read: {error.strerror}") from error
    return [os.path.join(folder, name) for name in names]


def _document(path: str) -> _Document:
    # Import the YAML parser here, so that hosts without such files do not load it.
    import yaml

    try:
        with open_regular(path) as file:
            loader = yaml.SafeLoader(read_bounded(path, file))
            try:
                node = loader.get_single_node()
                if node is not None:
                    check_parts(path, node)
                lines = dict(_places(path, node)) if node is not None else {}
                content = loader.construct_document(node) if node is not None else None
            finally:
                loader.dispose()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        reason = getattr(error, "problem", None) or "the file cannot be parsed"
        raise ConfigError(f"{path}:{line}: not valid YAML: {reason}") from error
    return _Document(path, content, lines)


def _places(path: str, node: Any, where: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], int]]:  # noqa: ANN401 - yaml has no types
    """Yield (keys and indexes, line number) for each value.

    Raises ConfigError if a key occurs twice or is not a string.
    """
    import yaml

    yield where, node.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _places(path, item, (*where, index))
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag not in _KEY_TAGS:
                raise ConfigError(f"{path}:{line}: the key {key.value!r} is not a string")
            if key.value in seen:
                raise ConfigError(f"{path}:{line}: {key.value} is named twice in one mapping")
            seen.add(key.value)
            yield from _places(path, value, (*where, key.value))
            # Messages should name the key's line and not the value's, because operators search for the key. So yield
            # the key's line last: the caller's dict keeps the last line of each part.
            yield (*where, key.value), line


def _version_notices(document: _Document) -> list[str]:
    content = document.content
    meta = content.get("meta") if isinstance(content, dict) else None
    text = meta.get("schema_version") if isinstance(meta, dict) else None
    if text is None:
        raise ConfigError(f"{document.at('meta')}: meta: schema_version is missing; add schema_version: '1.0'")
    version = _VERSION.fullmatch(text) if isinstance(text, str) else None
    where = document.at("meta", "schema_version")
    if version is None:
        raise ConfigError(f"{where}: schema_version is {text!r}, not a string like '1.0'")
    if int(version["major"]) != SUPPORTED_MAJOR:
        raise ConfigError(f"{where}: schema_version {text} is not supported; the agent reads versions 1.x")
    if int(version["minor"]) > KNOWN_MINOR:
        return [f"{where}: schema_version {text} is newer than 1.{KNOWN_MINOR}: the agent ignores new parts"]
    return []


def _check_schema(document: _Document) -> None:
    import jsonschema

    errors = jsonschema.Draft7Validator(_SCHEMA).iter_errors(document.content)
    found = sorted(errors, key=lambda error: list(map(str, error.path)))
    refuse(f"{document.at(*error.path)}: {_place(error.path)}{error.message}" for error in found)


def _place(path: Sequence[str | int]) -> str:
    names = [part for part in path if isinstance(part, str)]
    return f"{'/'.join(names)}: " if names else ""


def _entry(document: _Document, index: int) -> ProviderEntry:
    provider = document.content["providers"][index]
    identification = provider["identification"]
    uuid = identification.get("uuid")
    problems: list[str] = []
    if identification.get("name") == COMPUTE_NODE:
        where = document.at("providers", index, "identification", "name")
        problems.append(
            f"{where}: no provider has the name {COMPUTE_NODE}; to name all compute nodes, write uuid: {COMPUTE_NODE}"
        )
    entry = ProviderEntry(
        origin=document.at("providers", index),
        uuid=uuid if uuid is None or uuid == COMPUTE_NODE else uuid.lower(),
        name=identification.get("name"),
        inventories=_inventories(document, index, problems),
        traits=_traits(document, index, problems),
    )
    refuse(problems)
    return entry


def _inventories(document: _Document, index: int, problems: list[str]) -> tuple[Inventory, ...]:
    found: dict[str, Inventory] = {}
    base = ("providers", index, "inventories", "additional")
    for number, group in enumerate(_additional(document.content["providers"][index], "inventories")):
        for name, fields in group.items():
            where = document.at(*base, number, name)
            inventory = _inventory(name, fields)
            if name in found:
                problems.append(f"{where}: {name} is named twice for one provider")
            problems += _refusals(where, inventory)
            found[name] = inventory
    return tuple(found[name] for name in sorted(found))


def _inventory(name: str, fields: Mapping[str, Any]) -> Inventory:
    """Return the inventory, with Placement's default for each missing field.

    ``int()`` is needed, because JSON Schema accepts 4.0 as an integer.
    """
    ratio = float(fields.get("allocation_ratio", 1.0))
    amounts = {field: int(value) for field, value in fields.items() if field != "allocation_ratio"}
    return Inventory(resource_class=name, **amounts, allocation_ratio=ratio)


def _refusals(where: str, inventory: Inventory) -> Iterator[str]:
    name = inventory.resource_class
    if not is_custom_name(name):
        yield f"{where}: {name} is not a custom class, and only custom classes can be added"
    if inventory.reserved > inventory.total:
        yield f"{where}: {name}: reserved {inventory.reserved} is above the total {inventory.total}"
    if math.isnan(inventory.allocation_ratio):
        yield f"{where}: {name}: allocation_ratio is not a number"
    if inventory.min_unit > inventory.max_unit:
        yield f"{where}: {name}: min_unit {inventory.min_unit} is above max_unit {inventory.max_unit}"


def _traits(document: _Document, index: int, problems: list[str]) -> frozenset[str]:
    named = _additional(document.content["providers"][index], "traits")
    base = ("providers", index, "traits", "additional")
    problems += [
        f"{document.at(*base, number)}: {trait} is not a custom trait, and only custom traits can be added"
        for number, trait in enumerate(named)
        if not is_custom_name(trait)
    ]
    return frozenset(named)


def _additional(provider: Mapping[str, Any], part: str) -> Sequence[Any]:
    found: Sequence[Any] = provider.get(part, {}).get("additional", ())
    return found


def _named_twice(entries: Sequence[ProviderEntry]) -> Iterator[str]:
    first: dict[str, str] = {}
    for entry in entries:
        who = _who(entry)
        if who in first:
            yield f"{entry.origin}: provider {who} is named in {first[who]} already"
        first.setdefault(who, entry.origin)


def _who(entry: ProviderEntry) -> str:
    return entry.uuid or entry.name or ""


def provider_entries(loaded: Loaded) -> tuple[ProviderEntry, ...]:
    """Return all entries of all provider.yaml files. Raises ConfigError with file and line of each problem."""
    return read_provider_files(loaded.value("compute", "provider_config_location")).entries


def provider_notices(loaded: Loaded) -> tuple[str, ...]:
    """Return notices about the ignored parts of the provider.yaml files.

    There are no notices if a file is invalid, because ``provider_entries`` reports the invalid file.
    """
    try:
        return read_provider_files(loaded.value("compute", "provider_config_location")).notices
    except ConfigError:
        return ()
