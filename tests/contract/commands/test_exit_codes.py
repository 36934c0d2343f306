"""The table of exit codes in docs/reference/exit-codes.md, cell by cell: a world for each cell, a run, and its code.

All worlds share one Placement. A world that a run changes is made for that run alone.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.host_files.reports import write_report
from agent.model.report import Outcome
from tests.rigs.commands import small_host, stocktake_here
from tests.rigs.configs import ALONE
from tests.rigs.host import Ended, empty_host
from tests.rigs.placement import Rest, running
from tests.rigs.reports import REPORT
from tests.rigs.source_tree import ROOT

NO_PLACEMENT = "[placement]\nendpoint_override = http://127.0.0.1:1\n"
NO_STATE = "[state]\nconnection = sqlite:////nowhere/cell.sqlite\n"
NOTHING = f"{NO_PLACEMENT}{NO_STATE}[libvirt]\nconnection_uri = test:///nowhere/node.xml\n"
OLD = "[heal]\nmin_age = 0\nmax_percent = 100\n"
YOUNG = "[heal]\nmin_age = 300\n"
OBSERVER = "[agent]\nrole = observer\n"


@dataclasses.dataclass(frozen=True)
class World:
    """A host whose commands read its configuration file and then one more."""

    folder: Path
    config_file: Path
    provider: str
    rest: Rest

    def run(self, *arguments: str, more: str = "") -> Ended:
        (self.folder / "more.conf").write_text(more)
        return stocktake_here("--config-file", self.config_file, "--config-file", self.folder / "more.conf", *arguments)

    def document(self, *arguments: str, more: str = "") -> Any:
        ended = self.run(*arguments, "-f", "json", more=more)
        assert ended.stdout, ended.stderr
        return ended.document

    def finding(self, code: str) -> str:
        """Return the first 8 characters of the id of the finding with this code."""
        return next(f["id"][:8] for f in self.document("audit")["findings"] if f["code"] == code)

    def plan(self, *arguments: str, more: str = "") -> tuple[str, ...]:
        """Return the arguments that approve the plan of this command."""
        return (*arguments, "--plan", self.document(*arguments, more=more)["digest"][:12], "--yes")


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    with running(tmp_path_factory.mktemp("placement")) as server:
        yield server


def _calm(folder: Path, rest: Rest) -> World:
    """Return a host on which nothing is wrong."""
    host = empty_host(folder, rest)
    world = World(folder, host.config_file, host.provider_uuid, rest)
    world.run("audit", "--publish")
    return world


def _wrong(folder: Path, rest: Rest) -> World:
    """Return a host with two leaks and a guest that the cloud does not know; its inventory was never published."""
    host = small_host(folder, rest)
    return World(folder, host.agent.config_file, host.agent.provider_uuid, rest)


def _renamed(folder: Path, rest: Rest) -> World:
    """Return a host whose provider and record have another name."""
    host = empty_host(folder, rest)
    body = {"name": f"old-{host.name}", "parent_provider_uuid": None}
    rest.done("PUT", f"/resource_providers/{host.provider_uuid}", body)
    return World(folder, host.config_file, host.provider_uuid, rest)


MAKERS: dict[str, Callable[[Path, Rest], World]] = {"calm": _calm, "wrong": _wrong, "renamed": _renamed}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, rest: Rest) -> Callable[[str], World]:
    """Return the world of this name, which no run may change."""
    made: dict[str, World] = {}

    def world(name: str) -> World:
        if name not in made:
            made[name] = MAKERS[name](tmp_path_factory.mktemp(name), rest)
        return made[name]

    return world


BOOKS = (("ledger",), ("ledger", "--storage"), ("explain", "VCPU"), ("inventory",), ("traits",))
DIFFS = (("inventory", "--diff"), ("traits", "--diff"))
LOOKS = (("audit",), ("findings",))
# (world, further configuration, command, exit code); the answer of a book does not depend on findings.
READING = [
    *((world, "", command, 0) for command in BOOKS for world in ("calm", "wrong")),
    *(("wrong", NO_PLACEMENT, command, 2) for command in BOOKS),
    *(("wrong", NOTHING, command, 75) for command in (*BOOKS, *DIFFS, *LOOKS)),
    *(("calm", "", command, 0) for command in DIFFS),
    *(("wrong", NO_PLACEMENT, command, 2) for command in DIFFS),
    *(("wrong", "", command, 3) for command in DIFFS),
    *(("calm", "", command, 0) for command in LOOKS),
    *(("calm", NO_PLACEMENT, command, 2) for command in LOOKS),
    *(("wrong", "", command, 3) for command in LOOKS),
    ("wrong", NO_STATE, ("ledger", "--resource-class", "vcpu"), 2),
    ("wrong", "", ("explain", "allocation-leaked"), 0),
    ("wrong", NO_PLACEMENT, ("config", "show"), 0),
    ("calm", "", ("journal",), 0),
    ("calm", "", ("heal",), 0),
    ("wrong", YOUNG, ("heal",), 0),
    ("wrong", OLD + NO_PLACEMENT, ("heal",), 2),
    ("wrong", OLD, ("heal",), 3),
    ("wrong", OLD + NOTHING, ("heal",), 75),
    ("calm", "", ("adopt",), 0),
    ("renamed", NO_STATE, ("adopt",), 2),
    ("renamed", NO_PLACEMENT, ("adopt",), 2),
    ("renamed", "", ("adopt",), 3),
    ("renamed", OBSERVER, ("adopt",), 5),
]


@pytest.mark.parametrize(("name", "more", "command", "code"), READING)
def test_exit_codes_of_read_only_commands_tell_the_result(shared, name, more, command, code):
    """For example, a command exits with 3 if it found differences, and with 75 if it could read nothing."""
    ended = shared(name).run(*command, more=more)
    assert ended.code == code, ended.stderr
    assert bool(ended.stdout) == (code != 75 and not (command == ("adopt",) and more == NO_PLACEMENT))


def test_heal_exits_75_or_5_if_it_cannot_repair_a_finding(shared):
    """`stocktake heal` exits with 75 for a finding that is too young, and with 5 for one that it never repairs."""
    world = shared("wrong")
    waits = world.run("heal", "--finding", world.finding("allocation-leaked"), more=YOUNG)
    assert waits.code == 75
    words = r"nothing to change now: the finding is younger than \[heal\] min_age \(300 s\); try again in \d+ s"
    assert re.fullmatch(words, waits.stdout.splitlines()[-1])
    assert world.run("heal", "--finding", world.finding("guest-unknown"), more=OLD).code == 5


def test_journal_exits_2_for_an_incomplete_line(tmp_path, rest):
    """`stocktake journal` exits with 2 if a line of its file is incomplete, and with 75 if the file cannot be read."""
    world = _calm(tmp_path, rest)
    journal = tmp_path / "state" / "journal.jsonl"
    journal.write_text("{torn\n")
    assert world.run("journal").code == 2
    journal.unlink()
    journal.mkdir()
    assert world.run("journal", "-f", "json").document["exit_code"] == 75


def test_audit_and_findings_exit_5_if_nova_is_the_owner(tmp_path, rest):
    """Nova-compute marked the host's provider with the trait OWNER_NOVA, so the agent must not write the provider."""
    world = _wrong(tmp_path, rest)
    rest.set_traits(world.provider, "OWNER_NOVA")
    assert [world.run(name).code for name in ("audit", "findings", "ledger")] == [5, 5, 0]


def test_heal_exits_4_after_it_carried_out_its_plan(tmp_path, rest):
    """Exit code 4 of `stocktake heal --plan DIGEST --yes` means that every step of the plan is done."""
    world = _wrong(tmp_path, rest)
    plan = world.plan("heal", more=OLD)
    assert world.run("heal", "--plan", "0" * 12, "--yes", more=OLD).code == 5
    assert world.run(*plan, more=OLD + NO_PLACEMENT).code == 2
    done = world.run(*plan, more=OLD)
    assert done.code == 4, done.stdout
    assert world.run("audit").code == 3, "the guest that the cloud does not know is still there"
    assert world.run("heal", more=OLD).code == 0
    again = world.run(*plan, more=OLD)
    assert (again.code, again.stdout.splitlines()[-1]) == (5, "nothing done: there is nothing to change any more")
    assert world.run(*world.plan("heal", more=OLD), more=OLD).code == 0, "a plan without a change"


def test_adopt_exits_4_after_it_carried_out_its_plan(tmp_path, rest):
    """Exit code 4 of `stocktake adopt --plan DIGEST --yes` means that every step of the plan is done."""
    world = _renamed(tmp_path, rest)
    plan = world.plan("adopt")
    assert world.run("adopt", "--plan", "0" * 12, "--yes").code == 5
    assert world.run(*plan, more=NO_PLACEMENT).code == 2
    assert world.run(*plan).code == 4
    assert world.run("adopt").code == 0
    assert world.run(*world.plan("adopt")).code == 0, "a plan without a change"
    (entry,) = world.document("journal")
    assert world.run("undo", entry["id"][:4]).code == 0
    assert world.run("undo", entry["id"]).code == 5, "undone already"


@pytest.mark.parametrize(
    ("outcome", "code"),
    [(Outcome.CLEAN, 0), (Outcome.PARTIAL, 2), (Outcome.FINDINGS, 3), (Outcome.REFUSED, 5), (Outcome.UNREADABLE, 75)],
)
def test_status_has_the_exit_code_of_the_last_audit(tmp_path, outcome, code):
    """`stocktake status` exits with 0 if the daemon's last audit was clean, and with 3 if it had findings."""
    path = tmp_path / "stocktake.conf"
    path.write_text(ALONE.replace("[agent]", f"[agent]\nstate_dir = {tmp_path}/state\nrun_dir = {tmp_path}/run"))
    assert stocktake_here("--config-file", path, "status").code == 75, "there is no report"
    now = datetime.datetime.now(datetime.UTC).isoformat()
    write_report(str(tmp_path / "run"), dataclasses.replace(REPORT, outcome=outcome, started_at=now))
    assert stocktake_here("--config-file", path, "status").code == code


def test_documented_exit_codes_of_ledger_and_audit_are_tested():
    """The tests cover exactly the exit codes that docs/reference/exit-codes.md lists for `ledger` and `audit`."""
    table = (ROOT / "docs/reference/exit-codes.md").read_text().partition("| Command | 0 | 2 | 3 | 4 | 5 | 75 |\n")[2]
    rows = [line.split("|") for line in table.partition("\n\n")[0].splitlines()[1:]]
    used = {name: {code for _, _, command, code in READING if command[0] == name} for name in ("ledger", "audit")}
    ledger, audit = (next(row for row in rows if f"`{name}`" in row[1]) for name in ("ledger", "audit"))
    assert [cell.strip() == "–" for cell in ledger[2:8]] == [code not in used["ledger"] for code in (0, 2, 3, 4, 5, 75)]
    assert [cell.strip() == "–" for cell in audit[2:8]] == [
        code not in used["audit"] | {5} for code in (0, 2, 3, 4, 5, 75)
    ]
