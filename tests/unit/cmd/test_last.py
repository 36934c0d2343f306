"""Commands with --last: the answer from the daemon's report, without any source."""

import dataclasses
import datetime
import json
from pathlib import Path
from typing import Any

import pytest

from agent.host_files.reports import write_report
from agent.model.report import AuditReport, Outcome
from agent.render.documents import audit_document, inventory_rows, ledger_rows, storage_rows, trait_rows
from tests.rigs.commands import stocktake_here
from tests.rigs.configs import ALONE
from tests.rigs.host import Ended
from tests.rigs.reports import FINDING, LEAKED, REPORT

#: Sources that cannot be read: a command that asked one of them would say so.
DEAD = (
    "[libvirt]\nconnection_uri = test:///nonexistent\n[DEFAULT]\nhost = h\ninstances_path = /nonexistent\n"
    "update_resources_interval = 60\n[lvm]\nvolume_groups = missing\n"
)
COMMANDS = {
    "audit": ("audit",),
    "findings": ("findings",),
    "ledger": ("ledger",),
    "storage": ("ledger", "--storage"),
    "explain": ("explain", "VCPU"),
    "inventory": ("inventory",),
    "traits": ("traits",),
}


class Host:
    """A configuration whose daemon has left a report of a given age, or none."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config_file = folder / "stocktake.conf"
        text = ALONE.replace("[agent]", f"[agent]\nstate_dir = {folder}/state\nrun_dir = {folder}")
        self.config_file.write_text(text + DEAD)

    def reported(self, report: AuditReport = REPORT, age_s: float = 12.0) -> AuditReport:
        at = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=age_s)
        written = dataclasses.replace(report, started_at=at.isoformat(timespec="milliseconds").replace("+00:00", "Z"))
        write_report(str(self.folder), written)
        return written

    def run(self, *arguments: str) -> Ended:
        return stocktake_here("--config-file", self.config_file, *arguments, "--last")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def whole(report: AuditReport) -> AuditReport:
    """Return the report as if every source had been read."""
    sources = tuple(dataclasses.replace(source, ok=True, error=None) for source in report.sources)
    return dataclasses.replace(report, sources=sources, outcome=Outcome.FINDINGS, error=None)


@pytest.mark.parametrize("name", COMMANDS)
def test_with_last_the_first_line_shows_the_report_age(host, name):
    """A command with `--last` uses the daemon's saved report, and its first line shows the report's time and age."""
    report = host.reported(whole(REPORT))
    done = host.run(*COMMANDS[name])
    first = done.stdout.splitlines()[0]
    assert first.startswith(f"from the daemon's report of {report.started_at}, 1")
    assert first.endswith(" s old")
    # A source that could not be read would be named here.
    assert done.stderr == ""
    assert done.code in (0, 3)


def document(host: Host, *arguments: str) -> Any:
    return host.run(*arguments, "-f", "json").document


def test_the_option_last_prints_the_saved_audit_as_json(host):
    """A command with `--last -f json` prints the last audit that the daemon saved, and makes no new audit."""
    report = host.reported()
    assert document(host, "audit") == audit_document(report)
    assert document(host, "ledger") == ledger_rows(report)
    assert document(host, "ledger", "--storage") == storage_rows(report.storage)
    wanted = [row for row in inventory_rows(report.inventory) if row["total"] is not None]
    assert [(row["resource_class"], row["free"]) for row in document(host, "inventory")] == [
        (row["resource_class"], row["free"]) for row in wanted
    ]
    assert len(document(host, "traits")) == len(trait_rows(report))
    assert [row["id"] for row in document(host, "findings", "--code", "volume-foreign")] == [FINDING.finding.id]
    assert document(host, "explain", LEAKED)["started_at"] == report.started_at


def test_ledger_exits_2_if_the_daemon_could_not_read_data(host):
    """`stocktake ledger --last` exits with 2 if the daemon could not read some data in its last audit."""
    host.reported()
    done = host.run("ledger")
    assert done.code == 2
    assert "stocktake: some data could not be read: " in done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_with_last_exits_2_if_the_report_is_too_old(host, name):
    """A command with --last exits with 2 if the daemon's report is older than three audit intervals."""
    host.reported(whole(REPORT), age_s=200.0)
    done = host.run(*COMMANDS[name])
    assert done.code == 2
    assert "s old, more than 3 intervals of 60 s: is stocktake-agent running?" in done.stderr
    assert done.stdout.startswith("from the daemon's report of ")


@pytest.mark.parametrize("name", COMMANDS)
def test_with_last_a_command_exits_75_without_a_report(host, name):
    """The daemon has saved no report since boot, so a command with `--last` has nothing to show."""
    done = host.run(*COMMANDS[name], "-f", "json")
    assert (done.code, done.document["error"]["kind"]) == (75, "unavailable")
    assert "does not exist, so no daemon has reported since boot" in done.stderr


def test_with_last_a_failed_audit_causes_exit_75(host):
    """The daemon could not read enough data for its last audit, so `stocktake ledger --last` has nothing to show."""
    host.reported(dataclasses.replace(REPORT, outcome=Outcome.UNREADABLE))
    assert host.run("ledger").code == 75


def test_a_damaged_row_of_the_saved_report_is_left_out(host):
    """With `--last`, a command leaves out a damaged row of the saved report and exits with 2."""
    host.reported(whole(REPORT))
    path = host.folder / "report.json"
    written = json.loads(path.read_text())
    written["traits"][0]["trait"] = None
    path.write_text(json.dumps(written))
    done = host.run("traits", "-f", "json")
    assert (done.code, len(done.document)) == (2, len(REPORT.traits) - 1)
    assert (
        f"{path}: this command leaves out an unreadable row of the report: traits[0]: trait is not text" in done.stderr
    )


def test_with_last_the_report_time_is_above_the_table(host):
    """With `--last`, the line above the table shows the time of the daemon's saved report."""
    host.reported(whole(REPORT))
    lines = host.run("traits", "-c", "trait").stdout.splitlines()
    assert lines[0].startswith("from the daemon's report of ")
    assert lines[1].lower() == "trait"


def test_the_options_publish_and_last_cannot_be_combined(host):
    """`stocktake audit --publish --last` exits with 127: `--publish` needs a new audit, `--last` makes none."""
    host.reported()
    done = host.run("audit", "--publish")
    assert (done.code, done.stdout) == (127, "")
    assert "--publish needs a new audit, and --last runs none: leave out --last" in done.stderr
