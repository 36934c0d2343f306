"""The agent's own files with bad rows: the agent skips and names each bad row, uses the good rows, loses nothing."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from tests.rigs.agent_process import Agent

AT = "2026-11-21T10:00:00.000Z"
RIVAL = {
    "id": "00000000-0000-5000-8000-000000000001",
    "code": "rival-writer",
    "first_seen_at": AT,
    "last_seen_at": AT,
    "times": 2,
    "evidence_digest": "aa",
}
# The gid of Debian's group adm.
GROUP = 4
LEFT = ["11111111-1111-4111-8111-111111111111", "old-name"]


@pytest.fixture
def agent(tmp_path):
    agent = Agent(tmp_path)
    (tmp_path / "state").mkdir()
    yield agent
    agent.close()


def remembered(agent: Agent, *sightings: object) -> Path:
    path = agent.folder / "state" / "findings.json"
    path.write_text(json.dumps({"schema_version": 1, "sightings": sightings, "left": [LEFT]}))
    return path


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("first_seen_at", "yesterday"),
        ("first_seen_at", "2026-11-21T10:00:00"),
        ("first_seen_at", 10**400),
        ("stands_since", "2026-11-21T12:00:00+02:00"),
        ("times", 2**63),
    ],
)
def test_an_invalid_row_in_findings_json_is_skipped(agent, name, value):
    """The agent skips an invalid row of findings.json and keeps a copy of the file.

    `stocktake status` shows which row is invalid.
    """
    path = remembered(agent, RIVAL, {**RIVAL, "id": "other", name: value})
    before = path.read_text()
    ended = agent.once()
    assert ended.returncode == 2, ended.stderr  # Placement cannot be reached
    assert "Traceback" not in ended.stderr
    assert "sightings[1]" in ended.stderr
    assert f"{path}.bad" in ended.stderr
    report = agent.report()
    assert report["outcome"] == "partial"
    assert any("sightings[1]" in note for note in report["notes"])
    shown = agent.stocktake("status")
    assert "sightings[1]" in shown.stdout
    assert before in {kept.read_text() for kept in path.parent.glob("findings.json*")}
    assert [row["id"] for row in json.loads(path.read_text())["sightings"] if row["code"] == "rival-writer"] != []


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="gives folders to another group")
def test_only_owner_and_group_can_read_the_agents_files(agent):
    """After an audit, report.json and findings.json have mode 0640 and the group of their folder."""
    run, state = agent.folder / "run", agent.folder / "state"
    run.mkdir()
    for folder in (run, state):
        os.chown(folder, -1, GROUP)
    (run / "report.json").write_text("{}")
    (run / "report.json").chmod(0o644)
    assert agent.run("--config-file", str(agent.conf), "--once", "--no-publish").returncode == 2
    assert stat.S_IMODE((run / "report.json").stat().st_mode) == 0o640, "a dry run leaves the report, and closes it"
    assert agent.once().returncode == 2
    for path in (run / "report.json", state / "findings.json"):
        assert (path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (GROUP, 0o640), path
