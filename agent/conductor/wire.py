"""Turn nova's objects, as RPC delivers them, into rows with the column names of the cell database. Pure: no I/O.

agent/sources/nova/rows.py parses the rows of both sources, conductor and cell database. This module therefore turns an
instance's nested objects (such as its flavor) back into JSON text, as the database stores them. ``deleted`` is a
Boolean in an object and a number in the database; rows.py reads both.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping

from agent.errors import SourceInconsistent
from agent.sources.nova.columns import COLUMNS
from agent.sources.nova.documents import SOURCE, Row, short

Fields = Mapping[str, object]

# Columns of instance_extra that contain JSON, except ``flavor``, which instance_row builds from three fields.
_DOCUMENTS = ("numa_topology", "migration_context")
INSTANCE_ATTRIBUTES = ("flavor", *_DOCUMENTS)
# Fields that say where an instance is and whether an operation on it is in progress. In each of these fields NULL has
# a meaning, so NULL cannot mean "unknown".
_DECISIVE = ("host", "node", "vm_state", "task_state", "deleted", "hidden")


def object_fields(primitive: object, name: str) -> dict[str, object]:
    """Return the fields of ``primitive``. Raises SourceInconsistent if ``primitive`` is no object of class ``name``."""
    if not isinstance(primitive, dict):
        raise SourceInconsistent(SOURCE, f"nova-conductor sent {short(primitive)} instead of object {name}")
    kind, fields = primitive.get("nova_object.name"), primitive.get("nova_object.data")
    if kind != name or not isinstance(fields, dict):
        raise SourceInconsistent(SOURCE, f"nova-conductor sent {short(kind)} with {short(fields)} instead of {name}")
    return fields


def list_fields(primitive: object, name: str) -> tuple[dict[str, object], ...]:
    """Return the fields of each object in a list object such as InstanceList.

    Raises SourceInconsistent if ``primitive`` is not a list object of class ``name``, or if it contains an object of
    another class.
    """
    objects = object_fields(primitive, name).get("objects")
    if not isinstance(objects, list):
        raise SourceInconsistent(SOURCE, f"nova-conductor sent a {name} with {short(objects)} instead of a list")
    return tuple(object_fields(each, name.removesuffix("List")) for each in objects)


def uuids(answer: object) -> frozenset[str]:
    """Return the uuids in an answer that is a plain list; raise SourceInconsistent for anything else."""
    if not isinstance(answer, list) or not all(isinstance(each, str) for each in answer):
        raise SourceInconsistent(SOURCE, f"nova-conductor sent {short(answer)} instead of a list of uuids")
    return frozenset(answer)


def _row(table: str, fields: Fields) -> Row:
    # If the object's version lacks a field, the value of the column is None, as for NULL.
    return {column: fields.get(column) for column in COLUMNS[table]}


service_row = functools.partial(_row, "services")
node_row = functools.partial(_row, "compute_nodes")
migration_row = functools.partial(_row, "migrations")
boot_disk_row = functools.partial(_row, "block_device_mapping")
pci_row = functools.partial(_row, "pci_devices")
bare_instance_row = functools.partial(_row, "instances")


def instance_row(fields: Fields) -> Row:
    """Return a row of ``instances`` joined with its ``instance_extra`` columns, as CellRows (nova/rows.py) expects it.

    ``fields`` are the fields of nova-conductor's Instance object. nova omits the field ``flavor`` if ``instance_extra``
    has no flavor. The columns ``extra_id``, ``extra_deleted`` and ``flavor`` are then None.

    In the fields in ``_DECISIVE``, NULL has a meaning. So if such a field is missing, return the row of an unreadable
    instance (``unread_instance_row``). Raises SourceInconsistent if a value cannot be written as JSON.
    """
    if lacking := [name for name in _DECISIVE if name not in fields]:
        return unread_instance_row(fields, f"the Instance lacks {', '.join(lacking)}")
    extra = {name: _text(fields.get(name)) for name in _DOCUMENTS}
    if "flavor" not in fields:
        return {**_row("instances", fields), "extra_id": None, "extra_deleted": None, "flavor": None, **extra}
    flavors = {"cur": fields["flavor"], "old": fields.get("old_flavor"), "new": fields.get("new_flavor")}
    known = {"extra_id": fields.get("id"), "extra_deleted": 0, "flavor": _text(flavors)}
    return {**_row("instances", fields), **known, **extra}


def unread_instance_row(fields: Fields, words: str) -> Row:
    """Return the row of an instance with unusable JSON columns. Its column ``flavor`` gets the reason, ``words``."""
    documents = dict.fromkeys(_DOCUMENTS)
    known = {"extra_id": fields.get("id"), "extra_deleted": 0, "flavor": {"nova-conductor": words}}
    return {**_row("instances", fields), **documents, **known}


def rows(primitive: object, name: str, row: Callable[[Fields], Row]) -> tuple[Row, ...]:
    """Return one row for each object in a list object; raise SourceInconsistent for anything else."""
    return tuple(row(fields) for fields in list_fields(primitive, name))


def _text(value: object) -> str | None:
    if value is None:
        return None
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise SourceInconsistent(
            SOURCE, f"nova-conductor sent {short(value)}, which cannot be written as JSON: {error}"
        ) from error
