"""The documents of ``watch`` for programs: every host, stable keys, null or an empty cell for unknown values."""

import datetime
import json

from agent.fleet.documents import COLUMNS, MESSAGE_KEYS, _of_message, csv_row, fleet_document, host_document
from agent.fleet.view import Away
from tests.rigs.fleet_hosts import AT, amounts, broken, cell, clean, expected, seen, view

FLEET = view(
    cell(
        seen(clean("a")),
        seen(broken("b", number=2, leaked={"VCPU": 8}, held_back=1, resources=amounts(3, 1024, None)), age_s=12),
        name="cell-1",
        expected=expected("a", "b", "c"),
        away=Away(since=AT - datetime.timedelta(minutes=1), error="refused"),
        odd=1,
    )
)
A, B, C = FLEET.rows


def test_the_fleet_json_has_fixed_keys_and_every_host():
    """`stocktake watch` can show all hosts as one JSON document.

    The document has a fixed set of top-level keys and one entry for each host.
    """
    document = fleet_document(FLEET)
    assert document.keys() == {
        "schema_version", "at", "cells", "counts", "expected", "problems", "leaked", "missing", "uncovered",
        "held_back", "hosts_not_known", "hosts",
    }  # fmt: skip
    assert (document["schema_version"], document["at"]) == (1, "2026-11-22T03:11:07Z")
    assert [host["host"] for host in document["hosts"]] == ["a", "b", "c"]
    assert (document["expected"], document["leaked"], document["hosts_not_known"]) == (3, {"VCPU": 8}, 1)
    assert (document["counts"]["clean"], document["counts"]["error"], document["counts"]["never"]) == (1, 1, 1)
    assert json.loads(json.dumps(document, allow_nan=False)) == document


def test_the_fleet_json_shows_an_unreachable_broker():
    """The JSON of `stocktake watch` shows since when a cell's message broker is unreachable, and the error."""
    assert fleet_document(FLEET)["cells"] == [
        {
            "name": "cell-1", "broker": "rabbit://rabbit.example.org:5672/", "away_since": "2026-11-22T03:10:07Z",
            "error": "refused", "hosts": 2, "expected": 3, "hosts_with_odd_messages": 1, "hosts_left_out": 0,
        }
    ]  # fmt: skip


def test_the_host_json_has_the_values_of_the_last_message():
    """The JSON of `stocktake watch` shows each host's findings, leaked amounts and resources from its last message."""
    document = host_document(B, AT)
    assert (document["condition"], document["age_s"], document["for_s"]) == ("error", 12.0, 732.0)
    assert (document["findings"], document["leaked"], document["held_back"]) == (
        {"allocation-leaked": 2},
        {"VCPU": 8},
        1,
    )
    assert document["worst"]["code"] == "allocation-leaked"
    assert document["resources"][0] == {
        "resource_class": "VCPU", "total": 48, "reserved": 0, "allocation_ratio": 4.0, "used": 4, "free": 3,
    }  # fmt: skip


def test_an_unseen_host_has_nulls_in_the_json():
    """In the JSON of a host that never sent a message, the keys for its message have the value null."""
    document = host_document(C, AT)
    assert document.keys() == host_document(B, AT).keys()
    assert {document[name] for name in MESSAGE_KEYS} == {None}
    assert tuple(_of_message(A.seen)) == MESSAGE_KEYS


def test_a_csv_row_has_an_empty_cell_for_an_unknown_value():
    """The CSV of `stocktake watch` has a plain value in each cell; an unknown amount is an empty cell, not 0."""
    rows = [dict(zip(COLUMNS, csv_row(row, AT), strict=True)) for row in FLEET.rows]
    assert all(not isinstance(cell, dict | list) for row in rows for cell in row.values())
    known = rows[1]
    assert (known["findings"], known["errors"], known["leaked_vcpu"], known["leaked_disk_gib"]) == (2, 2, 8, 0)
    assert (known["free_vcpu"], known["free_memory_mib"], known["free_disk_gib"]) == (3, 1024, "")
    assert (rows[2]["leaked_vcpu"], rows[2]["findings"], rows[2]["condition"]) == ("", "", "never")
