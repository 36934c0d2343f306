"""Turn nova's objects, as they come over RPC, into rows with the names of the cell database's columns. Pure.

What a newcomer would get wrong: nova_rows is the one parser of what nova says, for
both sources, so the documents of an instance are made text again here, as the database
holds them. ``deleted`` is a truth value here and a number there; nova_rows reads both.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from agent.errors import SourceInconsistent
from agent.sources.nova.columns import COLUMNS
from agent.sources.nova.documents import SOURCE, Row, short

Fields = Mapping[str, object]

INSTANCE_ATTRIBUTES = ("flavor", "numa_topology", "migration_context")
# What says where an instance is and whether it is at rest: each has a NULL that means something else than unknown.
_DECISIVE = ("host", "node", "vm_state", "task_state", "deleted", "hidden")
# Columns of instance_extra that are not documents of their own.
_NO_DOCUMENTS = frozenset({"id", "instance_uuid", "deleted", "flavor"})
_DOCUMENTS = tuple(name for name in COLUMNS["instance_extra"] if name not in _NO_DOCUMENTS)


def object_fields(primitive: object, name: str) -> dict[str, object]:
    """The fields of one object, whatever its version. Raises SourceInconsistent where it is no such object."""
    if not isinstance(primitive, dict):
        raise SourceInconsistent(SOURCE, f"nova-conductor: a {name} is not an object but {short(primitive)}")
    kind, fields = primitive.get("nova_object.name"), primitive.get("nova_object.data")
    if kind != name or not isinstance(fields, dict):
        raise SourceInconsistent(SOURCE, f"nova-conductor: {short(kind)} with {short(fields)} is no {name}")
    return fields


def list_fields(primitive: object, name: str) -> tuple[dict[str, object], ...]:
    """The fields of each object of a list object (``InstanceList`` of ``Instance``). Raises SourceInconsistent."""
    objects = object_fields(primitive, name).get("objects")
    if not isinstance(objects, list):
        raise SourceInconsistent(SOURCE, f"nova-conductor: objects of a {name} is no list but {short(objects)}")
    return tuple(object_fields(each, name.removesuffix("List")) for each in objects)


def service_row(fields: Fields) -> Row:
    """A row of ``services``."""
    return _row("services", fields)


def node_row(fields: Fields) -> Row:
    """A row of ``compute_nodes``."""
    return _row("compute_nodes", fields)


def migration_row(fields: Fields) -> Row:
    """A row of ``migrations``."""
    return _row("migrations", fields)


def boot_disk_row(fields: Fields) -> Row:
    """A row of ``block_device_mapping``."""
    return _row("block_device_mapping", fields)


def pci_row(fields: Fields) -> Row:
    """A row of ``pci_devices``."""
    return _row("pci_devices", fields)


def instance_row(fields: Fields) -> Row:
    """A row of ``instances`` with what ``instance_extra`` says of it, as nova_rows.CellRows has them.

    nova leaves ``flavor`` out where ``instance_extra`` has no row or no flavor: then there is no extra row here.
    Raises SourceInconsistent on what cannot be written as JSON. An object without one of the fields that decide
    is unread: nothing is concluded from a NULL that nova did not say.
    """
    if lacking := [name for name in _DECISIVE if name not in fields]:
        return unread_instance_row(fields, f"the object lacks {', '.join(lacking)}")
    extra = {name: _text(fields.get(name)) for name in _DOCUMENTS}
    if "flavor" not in fields:
        return {**_row("instances", fields), "extra_id": None, "extra_deleted": None, "flavor": None, **extra}
    flavors = {"cur": fields["flavor"], "old": fields.get("old_flavor"), "new": fields.get("new_flavor")}
    known = {"extra_id": fields.get("id"), "extra_deleted": 0, "flavor": _text(flavors)}
    return {**_row("instances", fields), **known, **extra}


def unread_instance_row(fields: Fields, words: str) -> Row:
    """An instance of which conductor could read the columns alone, and what it said of the rest."""
    documents = dict.fromkeys(_DOCUMENTS)
    known = {"extra_id": fields.get("id"), "extra_deleted": 0, "flavor": {"nova-conductor": words}}
    return {**_row("instances", fields), **documents, **known}


def rows(primitive: object, name: str, row: Callable[[Fields], Row]) -> tuple[Row, ...]:
    """The rows of a list object. Raises SourceInconsistent."""
    return tuple(row(fields) for fields in list_fields(primitive, name))


def _row(table: str, fields: Fields) -> dict[str, object]:
    # What a newer or older minor version lacks is NULL.
    return {column: fields.get(column) for column in COLUMNS[table]}


def _text(value: object) -> str | None:
    if value is None:
        return None
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise SourceInconsistent(SOURCE, f"nova-conductor: {short(value)} is no JSON: {error}") from error
