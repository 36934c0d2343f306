"""The JSON Schema files in etc/schemas are those that their maker writes, and the documents of the program fit them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent.cmd.command_line.failures import error_document, failure_of
from agent.errors import ConfigError
from agent.render.documents import inventory_rows, ledger_rows, report_document, storage_rows, trait_rows
from agent.render.findings_grid import COLUMNS, finding_row
from tests.rigs.json_documents import full_report, heal_answer, status_answer, undo_answer
from tests.rigs.schemas import FOLDER, complaints
from tools import make_schemas
from tools.schema_changes import DOCUMENTS


def _examples() -> dict[str, Any]:
    report = full_report()
    whole = report_document(report)
    return {
        "report": whole,
        "audit": whole["audit"],
        "status": status_answer(),
        "findings": [dict(zip(COLUMNS, finding_row(each), strict=True)) for each in whole["audit"]["findings"]],
        "ledger": ledger_rows(report),
        "ledger-storage": storage_rows(report.storage),
        "inventory": inventory_rows(report.inventory),
        "traits": trait_rows(report),
        "heal": heal_answer(),
        "undo": undo_answer(),
        "error": error_document(failure_of(ConfigError("one", "two"))),
    }


def test_the_schema_files_equal_the_output_of_their_generator():
    """The JSON Schema files in etc/schemas equal what tools/make_schemas.py writes."""
    assert {path.name: path.read_text() for path in FOLDER.iterdir()} == make_schemas.files()


@pytest.mark.parametrize("name", sorted(DOCUMENTS))
def test_each_schema_file_is_a_valid_json_schema(name: str):
    Draft202012Validator.check_schema(json.loads((FOLDER / f"{name}.schema.json").read_text()))


@pytest.mark.parametrize("name", sorted(_examples()))
def test_each_json_document_of_a_command_fits_its_schema(name: str):
    assert complaints(name, _examples()[name]) == []


@pytest.mark.parametrize("name", ["audit", "report", "heal"])
def test_a_schema_rejects_a_document_without_a_required_key(name: str):
    document = _examples()[name]
    assert [key for key in document if complaints(name, {k: v for k, v in document.items() if k != key}) == []] == []


def test_a_schema_rejects_a_finding_of_unknown_severity():
    """The JSON Schema of an audit rejects a finding with severity fatal, and lists the allowed severities."""
    document = _examples()["audit"]
    document["findings"][0]["severity"] = "fatal"
    assert complaints("audit", document) == [
        "$.findings[0].severity: 'fatal' is not one of ['error', 'warning', 'info']"
    ]


def test_each_key_in_a_json_schema_has_a_description():
    bare = [
        f"{name}: {key}"
        for name in DOCUMENTS
        for key, value in _properties(json.loads((FOLDER / f"{name}.schema.json").read_text()))
        if "description" not in value
    ]
    assert bare == []


def _properties(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, list):
        return [pair for part in value for pair in _properties(part)]
    if not isinstance(value, dict):
        return []
    own = list(value["properties"].items()) if isinstance(value.get("properties"), dict) and "type" in value else []
    return [*own, *(pair for part in value.values() for pair in _properties(part))]
