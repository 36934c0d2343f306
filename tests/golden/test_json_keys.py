"""The keys of the JSON documents that other programs read: a key may be added, never renamed or removed.

json_keys.json is the reviewed list. After an addition, add the key to the list; a key that leaves the list breaks the
programs that read it.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from agent.bus.host_state import Sending, host_state
from agent.bus.notices import notices
from agent.host_files.history import FindingsFile
from agent.model.finding import (
    Booked,
    GoneFinding,
    GoneReason,
    History,
    Loss,
    Remedy,
    RemedyKind,
    Sighting,
)
from agent.render.documents import audit_document, finding_document, gone_document, report_document
from agent.render.status import last_report, status_document
from agent.telemetry.finding_changes import Change, FindingChange
from tests.rigs.reports import FINDING, REPORT

LIST = Path(__file__).with_name("json_keys.json")
REMEDY = Remedy(kind=RemedyKind.INSPECT, words="see", command="virsh list --all")
SEEN = dataclasses.replace(FINDING, finding=dataclasses.replace(FINDING.finding, remedies=(REMEDY,)))
GONE = GoneFinding(seen=SEEN, reason=GoneReason.HEALED, words="w", entry_id="e", actor="a")
REPORTED = dataclasses.replace(REPORT, findings=(SEEN,), gone=(GONE,))


def documents(folder: Path) -> dict[str, Any]:
    """Return one document of each kind."""
    changes = tuple(FindingChange(change=change, seen=SEEN) for change in (Change.APPEARED, Change.CONFIRMED))
    gone = FindingChange(change=Change.GONE, seen=SEEN, gone=GONE)
    appeared, confirmed, ended, end = notices(REPORTED, (*changes, gone))
    audit = audit_document(REPORTED)
    return {
        "report.json": report_document(REPORTED),
        "audit": audit,
        "audit.placement": audit["placement"],
        "source": audit["sources"][0],
        "finding": finding_document(SEEN),
        "finding.evidence": finding_document(SEEN)["evidence"][0],
        "finding.remedies": finding_document(SEEN)["remedies"][0],
        "gone": gone_document(GONE),
        "status": status_document(last_report(report_document(REPORTED), "report.json", REPORT.started_at, 60.0)),
        **of_the_file(folder),
        "notification appeared": appeared.payload,
        "notification confirmed": confirmed.payload,
        "notification gone": ended.payload,
        "notification audit.end": end.payload,
        "host state": host_state(REPORTED, Sending(at="t", interval_s=60.0, agent_version="1")),
    }


def of_the_file(folder: Path) -> dict[str, Any]:
    finding = SEEN.finding
    sighting = Sighting(
        id=finding.id,
        code=finding.code,
        first_seen_at="2026-11-21T12:00:00Z",
        last_seen_at="2026-11-21T12:00:00Z",
        times=1,
        evidence_digest="d",
        finding=finding,
        booked=(Booked("c", "VCPU", 1, 1, 1),),
    )
    history = History(sightings=(sighting,), losses=(Loss("libvirt", "2026-11-21T12:00:00Z", 1, 1),))
    FindingsFile(str(folder)).save(history)
    document = json.loads((folder / "findings.json").read_text())
    (row,) = document["sightings"]
    return {"findings.json": document, "findings.json sightings": row, "findings.json finding": row["finding"]}


def keys(folder: Path) -> dict[str, list[str]]:
    return {name: sorted(document) for name, document in documents(folder).items()}


@pytest.mark.parametrize("name", json.loads(LIST.read_text()))
def test_json_documents_keep_their_guaranteed_keys(tmp_path, name):
    """Other programs read the agent's JSON documents, so each guaranteed key must stay in its document."""
    assert set(json.loads(LIST.read_text())[name]) - set(keys(tmp_path)[name]) == set()


def test_each_key_of_a_json_document_was_reviewed(tmp_path):
    """A key that is new in one of the agent's JSON documents must first be added to the reviewed list."""
    known = json.loads(LIST.read_text())
    assert {name: sorted(set(found) - set(known.get(name, ()))) for name, found in keys(tmp_path).items()} == {
        name: [] for name in keys(tmp_path)
    }
