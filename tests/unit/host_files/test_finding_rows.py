"""A live finding is complete after a restart: text, remedies, evidence, times; and older versions read the file too."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.host_files import finding_rows
from agent.host_files.finding_rows import EVIDENCE, rows_of, sighting_of, with_text
from agent.host_files.history import FindingsFile
from agent.host_files.reports import write_report
from agent.model.finding import Booked, FindingState, History, Loss, Remedy, RemedyKind, SeenFinding, Severity, Sighting
from agent.model.settings import Role
from tests.rigs import reports
from tests.rigs.finding_worlds import PLANTED

T1, T2, T3 = (f"2026-11-21T12:0{minute}:00.000Z" for minute in range(1, 4))
REPOSITORY = Path(__file__).parents[3]
#: The last version of the agent that saved no text of findings.
WITHOUT_TEXT = "fc14c7348e0ce399352864636a9bc03581ab544b"


def sighting(finding, **changes: object) -> Sighting:
    made = Sighting(
        id=finding.id,
        code=finding.code,
        first_seen_at=T1,
        last_seen_at=T2,
        times=2,
        evidence_digest="d",
        stands_since=T1,
        counted_at=7,
        confirmed=True,
        finding=finding,
        booked=(Booked("c", "VCPU", None, 4, 8), Booked("c", "DISK_GB", 1, None, None, shared=True)),
        caused_by=("root",),
    )
    return dataclasses.replace(made, **changes)


def reread(one: Sighting) -> Sighting:
    (row,) = json.loads(json.dumps(list(rows_of((one,)))))
    return with_text(sighting_of(row), row)


@pytest.mark.parametrize("code", sorted(PLANTED))
def test_every_kind_of_saved_finding_is_read_back(code):
    """Every kind of finding can be saved and read back. Only long evidence is shortened."""
    for make in PLANTED[code]:
        for role in Role:
            for finding in (f for f in make().decision(role).findings if f.code == code):
                short = dataclasses.replace(finding, evidence=finding.evidence[:EVIDENCE])
                assert reread(sighting(finding)) == sighting(short)


FINDING = dataclasses.replace(
    reports.FINDING.finding,
    remedies=(Remedy(kind=RemedyKind.HEAL, words="repair", command="stocktake heal --finding 1"),),
    rests_on=frozenset({"lvm", "state"}),
    headline="who: what",
)


def test_a_saved_finding_keeps_at_most_20_pieces_of_evidence():
    """If a finding has more than 20 pieces of evidence, the agent saves only 20 of them."""
    finding = dataclasses.replace(FINDING, evidence=FINDING.evidence * 20)
    found = reread(sighting(finding))
    assert found.finding is not None
    assert (len(found.finding.evidence), found.evidence_digest, found.id) == (20, "d", finding.id)


def test_details_of_the_newest_warnings_are_omitted_first(monkeypatch):
    """If there are too many findings to save, the agent omits the details of the newest warnings first."""
    monkeypatch.setattr(finding_rows, "MOST_TEXTS", 2)
    error = dataclasses.replace(FINDING, severity=Severity.ERROR, subject="error")
    old, new = (dataclasses.replace(FINDING, subject=name) for name in ("old", "new"))
    all_three = (sighting(new, first_seen_at=T2), sighting(old), sighting(error, first_seen_at=T3))
    rows = {row["id"]: row for row in rows_of(all_three)}
    assert {one.id for one in (error, old)} == {finding_id for finding_id, row in rows.items() if "finding" in row}
    found = with_text(sighting_of(rows[new.id]), rows[new.id])
    assert found.finding is not None
    assert (found.finding.id, found.finding.severity, found.confirmed) == (new.id, Severity.WARNING, True)


@pytest.mark.parametrize(
    "damage",
    [
        {"finding": 1},
        {"finding": {}},
        {"booked": [[1, 2]]},
        {"booked": [["c", "VCPU", "many", None, None, False]]},
    ],
)
def test_a_saved_finding_is_loaded_without_unreadable_details(tmp_path, caplog, damage):
    """If the details of a saved finding are damaged, the agent loads the rest of the finding and logs a warning."""
    FindingsFile(str(tmp_path)).save(History(sightings=(sighting(FINDING),)))
    path = tmp_path / "findings.json"
    document = json.loads(path.read_text())
    document["sightings"][0] |= damage
    path.write_text(json.dumps(document))
    (found,) = FindingsFile(str(tmp_path)).load().sightings
    assert (found.id, found.finding, found.first_seen_at, found.confirmed) == (FINDING.id, None, T1, True)
    (warning,) = caplog.records
    assert f"the text of finding {FINDING.id} is lost" in warning.error


def test_a_saved_row_with_another_findings_details_is_rejected(tmp_path):
    """A saved row with the id of one finding and the details of another finding raises an error."""
    other = dataclasses.replace(FINDING, subject="another")
    (row,) = rows_of((sighting(FINDING),))
    (foreign,) = rows_of((sighting(other),))
    with pytest.raises(finding_rows.BadRow):
        with_text(sighting_of(row), row | {"finding": foreign["finding"]})


LOSS = Loss("libvirt", T1, 100, 3, is_error=True)


def test_findings_and_outages_are_restored_after_a_restart(tmp_path):
    """The agent saves findings and outages of sources in findings.json and loads both after a restart."""
    history = History(
        sightings=(sighting(FINDING),),
        boot="this",
        read_until=500,
        losses=(LOSS,),
        root_uuid="p1",
        settings_digest="s",
    )
    FindingsFile(str(tmp_path)).save(history)
    short = dataclasses.replace(FINDING, evidence=FINDING.evidence[:EVIDENCE])
    expected = dataclasses.replace(history, sightings=(sighting(short),))
    assert FindingsFile(str(tmp_path)).load() == expected


def last_report(run_dir: Path, **changes: object) -> None:
    seen = SeenFinding(
        finding=FINDING,
        confirmed=True,
        first_seen_at=T1,
        stands_since=T1,
        times=2,
        last_seen_at=T3,
        state=FindingState.CONFIRMED,
    )
    lost = dataclasses.replace(reports.REPORT.sources[0], name="libvirt", ok=False, lost_since=T1, losses=9)
    report = dataclasses.replace(reports.REPORT, findings=(seen,), sources=(lost,), boot="this", read_until=620)
    write_report(str(run_dir), dataclasses.replace(report, **changes))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (620, T3, 9)),
        ({"boot": "another"}, (500, T2, 3)),
        ({"read_until": 499}, (500, T2, 3)),
        ({"findings": ()}, (620, T2, 9)),
    ],
)
def test_newer_times_of_the_last_report_are_used(tmp_path, changes, expected):
    """If the last report is newer than findings.json, the agent takes the time of a finding from the report."""
    saved = History(sightings=(sighting(FINDING),), boot="this", read_until=500, losses=(LOSS,))
    FindingsFile(str(tmp_path), str(tmp_path)).save(saved)
    last_report(tmp_path, **changes)
    found = FindingsFile(str(tmp_path), str(tmp_path)).load()
    assert (found.read_until, found.sightings[0].last_seen_at, found.losses[0].audits) == expected


@pytest.mark.parametrize(
    ("row", "times"),
    [
        ({"times": 2}, 2),
        ({"times": 3}, 2),
        ({"times": 1}, 1),
        ({"times": 0, "state": FindingState.UNKNOWN}, 0),
        ({"times": 2, "stands_since": T2}, 0),
    ],
)
def test_the_lower_count_of_a_finding_is_loaded(tmp_path, row, times):
    """Both findings.json and the last report count the audits that saw a finding. The agent loads the lower count."""
    saved = History(sightings=(sighting(FINDING),), boot="this", read_until=500)
    FindingsFile(str(tmp_path), str(tmp_path)).save(saved)
    seen = SeenFinding(finding=FINDING, confirmed=True, first_seen_at=T1, stands_since=T1, last_seen_at=T3)
    last_report(tmp_path, findings=(dataclasses.replace(seen, **row),))
    found = FindingsFile(str(tmp_path), str(tmp_path)).load()
    assert (found.read_until, found.sightings[0].times) == (620, times)


def test_a_finding_not_in_the_last_report_has_audit_count_0(tmp_path):
    """If a saved finding is not in the last report, its count of audits in a row is 0 after a restart."""
    saved = History(sightings=(sighting(FINDING),), boot="this", read_until=500)
    FindingsFile(str(tmp_path), str(tmp_path)).save(saved)
    last_report(tmp_path, findings=())
    found = FindingsFile(str(tmp_path), str(tmp_path)).load()
    assert (found.read_until, found.sightings[0].times, found.sightings[0].confirmed) == (620, 0, True)


@pytest.mark.parametrize(
    ("status", "lasts"),
    [({}, True), ({"ok": True, "lost_since": None}, False), ({"lost_since": T2}, False), ({"name": "lvm"}, True)],
)
def test_a_saved_outage_ends_if_the_last_report_shows_its_end(tmp_path, status, lasts):
    """findings.json has an outage of libvirt, but libvirt was readable in the later report.json.

    The agent drops the outage.
    """
    saved = History(sightings=(sighting(FINDING),), boot="this", read_until=500, losses=(LOSS,))
    FindingsFile(str(tmp_path), str(tmp_path)).save(saved)
    lost = dataclasses.replace(reports.REPORT.sources[0], name="libvirt", ok=False, lost_since=T1, losses=3)
    last_report(tmp_path, sources=(dataclasses.replace(lost, **status),))
    assert bool(FindingsFile(str(tmp_path), str(tmp_path)).load().losses) == lasts


@pytest.mark.parametrize("alive_since", [440, 560, None])
def test_the_uptime_of_nova_compute_comes_from_report_json(tmp_path, alive_since):
    """A restarted agent takes nova-compute's uptime (nova_alive_since) from report.json, not findings.json."""
    saved = History(sightings=(sighting(FINDING),), boot="this", read_until=500, nova_alive_since=440)
    FindingsFile(str(tmp_path), str(tmp_path)).save(saved)
    last_report(tmp_path, nova_alive_since=alive_since)
    assert FindingsFile(str(tmp_path), str(tmp_path)).load().nova_alive_since == alive_since


def test_an_unchecked_finding_keeps_its_last_seen_time(tmp_path):
    """If the last audit could not check a finding, the finding keeps the last_seen_at of an earlier audit."""
    saved = History(sightings=(sighting(FINDING),), boot="this", read_until=500)
    FindingsFile(str(tmp_path), str(tmp_path)).save(saved)
    unknown = SeenFinding(
        finding=FINDING, confirmed=True, first_seen_at=T1, last_seen_at=T3, state=FindingState.UNKNOWN
    )
    last_report(tmp_path, findings=(unknown,))
    assert FindingsFile(str(tmp_path), str(tmp_path)).load().sightings[0].last_seen_at == T2


@pytest.mark.parametrize("text", ["", "{}", '{"schema_version": 1, "audit": []}'])
def test_the_findings_file_is_used_without_a_valid_report(tmp_path, text):
    """If report.json is empty or invalid, the agent loads the saved findings from findings.json alone."""
    saved = History(sightings=(sighting(FINDING),), boot="this", read_until=500)
    FindingsFile(str(tmp_path), str(tmp_path)).save(saved)
    (tmp_path / "report.json").write_text(text)
    assert FindingsFile(str(tmp_path), str(tmp_path)).load().read_until == 500


def test_a_save_by_another_process_is_loaded_once(tmp_path):
    """If another process saves findings.json, the agent loads the file once. The agent's own saves cause no load."""
    ours, theirs = FindingsFile(str(tmp_path)), FindingsFile(str(tmp_path))
    assert ours.load() == History()
    assert ours.changed() is None
    theirs.save(History(sightings=(sighting(FINDING),)))
    found = ours.changed()
    assert found is not None
    assert [one.id for one in found.sightings] == [FINDING.id]
    assert ours.changed() is None
    ours.save(History())
    assert ours.changed() is None


def old_agent(folder: Path) -> Path:
    """Return a folder with the package of the agent's last version that saved no text. Skips without that history."""
    packed = subprocess.run(["git", "archive", WITHOUT_TEXT, "agent"], cwd=REPOSITORY, capture_output=True, check=False)
    if packed.returncode:
        pytest.skip(f"git has no commit {WITHOUT_TEXT[:8]}: {packed.stderr.decode()[:80]}")
    folder.mkdir()
    subprocess.run(["tar", "-x", "-C", str(folder)], input=packed.stdout, check=True)
    return folder


OLD = """
import sys
sys.modules["eventlet"] = None
sys.path.insert(0, sys.argv[1])
from agent.host_files.history import FindingsFile
assert FindingsFile.__init__.__code__.co_filename.startswith(sys.argv[1])
store = FindingsFile(sys.argv[2])
found = store.load()
print([(s.id, s.times, s.first_seen_at, s.counted_at) for s in found.sightings], found.read_until, store.notes)
store.save(found)
"""


def test_an_older_agent_reads_and_writes_the_findings_file(tmp_path):
    """An older agent version can load findings.json and save a file that the newer version can load."""
    FindingsFile(str(tmp_path)).save(
        History(sightings=(sighting(FINDING),), boot="this", read_until=500, losses=(LOSS,))
    )
    folder = old_agent(tmp_path / "old")
    environment = {**os.environ, "PYTHONSAFEPATH": "1"}
    ended = subprocess.run(
        [sys.executable, "-c", OLD, str(folder), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == f"[('{FINDING.id}', 2, '{T1}', 7)] 500 ()"
    (found,) = FindingsFile(str(tmp_path)).load().sightings
    assert (found.id, found.times, found.first_seen_at, found.finding) == (FINDING.id, 2, T1, None)
