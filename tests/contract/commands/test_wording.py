"""Sentences that operators read: each is printed by a run, and its earlier wording is nowhere any more."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.cmd.changes.heal_output import nothing_because
from agent.cmd.changes.heal_text import Scenery, heal_blocks
from agent.cmd.naming.explain_what import answer
from agent.guards.base import GuardedFinding
from agent.guards.max_percent import GUARD as MAX_PERCENT
from agent.healing.plan import asked_for, heal_plan
from agent.model.heal import HealRefusal
from agent.model.report import AuditReport, LedgerRow, SourceStatus, Verdict
from agent.render.draw import drawn
from agent.render.layout import PLAIN
from agent.repairs import BY_CODE
from agent.why.text import lines
from tests.rigs.commands import stocktake_here
from tests.rigs.configs import ALONE
from tests.rigs.guard_cases import with_view
from tests.rigs.heal import leaks, record, scene_of
from tests.rigs.reports import PROVIDER, REPORT
from tests.rigs.source_tree import ROOT

DIGEST = "4d1b0c9a7e55"
EMPTY = {
    "node": "cmp1", "host": "cmp1", "digest": DIGEST + "ffff", "stale": True, "undecided": False, "unread": [],
    "actions": [], "refusals": [], "results": [], "nothing_because": None, "try_again_s": None, "command": None,
}  # fmt: skip
ACTION = {"finding_id": "87897f25", "consumer_uuid": "6f0d", "code": "x", "why": "y", "also_ends": []}


def _repair(_: Path) -> str:
    """Return why heal removes the allocations of a deleted instance that also has some on another host."""
    held = record("gone", here={"VCPU": 8}, there={"VCPU": 4})
    world, _ = leaks("gone")
    scene = scene_of(world, held)
    scene = dataclasses.replace(scene, records=(held,))
    seen = next(each for each in scene.findings if each.finding.code == "allocation-leaked")
    action = BY_CODE["allocation-leaked"].propose(scene, seen, held)
    return str(getattr(action, "why", action))


def _too_young(_: Path) -> str:
    refusal = HealRefusal(
        finding_id="1", code="x", consumer_uuid=None, guard="minimum-age", why="", waits=True, wait_s=115.5
    )
    return _end(nothing_because=nothing_because([refusal, refusal], 300.0))


def _end(**changes: object) -> str:
    return drawn(heal_blocks({**EMPTY, **changes}, Scenery()), PLAIN).splitlines()[-1]


def _limited(_: Path) -> str:
    """Return what the plan says about a finding beyond max_percent, on a host with 10 consumers."""
    world, held = leaks("a", "b")
    scene = scene_of(world, *held)
    actions = heal_plan(scene, asked_for(scene.findings, frozenset(BY_CODE), frozenset())).actions
    case = GuardedFinding(scene=scene, seen=scene.findings[0], repair=None, chosen=actions[:1])
    others = [record(f"c{number}", here={"VCPU": 1}) for number in range(10)]
    why = MAX_PERCENT.refuses(with_view(case, allocations=tuple(a for each in others for a in each.allocations)))
    waits = {**ACTION, "guard": "max-percent", "why": why, "waits": True, "wait_s": None}
    return drawn(heal_blocks({**EMPTY, "stale": False, "refusals": [waits]}, Scenery()), PLAIN)


def _configured(folder: Path, *replacements: tuple[str, str]) -> Path:
    (folder / "state").mkdir(exist_ok=True)
    text = ALONE.replace("[agent]", f"[agent]\nstate_dir = {folder}/state\nrun_dir = {folder}/run")
    for old, new in replacements:
        text = text.replace(old, new)
    path = folder / "stocktake.conf"
    path.write_text(text)
    return path


def _ran(*arguments: object) -> str:
    ended = stocktake_here(*arguments)
    return ended.stdout + ended.stderr


def _check(folder: Path) -> str:
    more = folder / "more.conf"
    more.write_text("[agent]\nrole = observer\n")
    path = _configured(folder)
    return _ran("--config-file", path, "--config-file", more, "config", "check").replace(f"{folder}/", "")


def _uncompared(_: Path) -> str:
    """Return the explanation of VCPU for four instances while Placement is unread."""
    rows = tuple(
        LedgerRow(
            consumer_uuid=f"22222222-0000-4000-8000-00000000000{number}",
            consumer_key=f"22222222-0000-4000-8000-00000000000{number}",
            consumer_name="",
            consumer_kind="instance",
            cause="instance",
            provider="cmp1",
            provider_uuid=PROVIDER,
            resource_class="VCPU",
            promised=4,
            held=4,
            recorded=None,
            verdict=Verdict.UNKNOWN,
            source="nova",
        )
        for number in range(4)
    )
    away = SourceStatus(name="placement", ok=False, age_s=None, duration_ms=1.0, error="placement: refused")
    report: AuditReport = dataclasses.replace(REPORT, ledger=rows, sources=(*REPORT.sources[:1], away), evacuations=())
    return drawn(answer(report, "VCPU").blocks, PLAIN)


def _no_inventory(folder: Path) -> str:
    more = folder / "more.conf"
    more.write_text(
        "[placement]\nendpoint_override = http://127.0.0.1:1\n[libvirt]\nconnection_uri = test:///nowhere/node.xml\n"
    )
    return _ran("--config-file", _configured(folder), "--config-file", more, "inventory")


def _not_saved(folder: Path) -> str:
    path = _configured(folder, (f"state_dir = {folder}/state", f"state_dir = {folder}/file"))
    (folder / "file").write_text("")
    return _ran("--config-file", path, "heal").replace(str(folder), "")


def _watch(folder: Path) -> str:
    return _ran("--config-file", _configured(folder), "watch", "--once")


def _blocked(_: Path) -> str:
    from tests.unit.why.test_text import WIDE, asked, offered

    return "\n".join(lines(asked(offered(1)), WIDE))


def _help(name: str) -> Callable[[Path], str]:
    def printed(_: Path) -> str:
        return " ".join(_ran(name, "--help").split())

    return printed


def _readme(_: Path) -> str:
    return (ROOT / "README.md").read_text()


def _rival(_: Path) -> str:
    return " ".join((ROOT / "agent/provider_tree/rival.py").read_text().split())


# (the earlier wording, as a regular expression; a sentence of now, as a regular expression; what prints that sentence)
WORDS = [
    (
        r"on this host go; what it holds",
        r"heal removes 8 VCPU from this host; the consumer keeps its allocations on other hosts",
        _repair,
    ),
    (
        r"there is nothing to change any more, or not yet",
        r"nothing done: both findings are younger than \[heal\] min_age \(300 s\); try again in 116 s",
        _too_young,
    ),
    (
        r"nothing was done: ",
        r"nothing done: there is nothing to change any more",
        lambda _: _end(nothing_because=nothing_because([], 300.0)),
    ),
    (
        r"the plan is another one now",
        rf"nothing done: the plan has changed; the current plan is {DIGEST}$",
        lambda _: _end(actions=[ACTION]),
    ),
    (
        r"in this run already, which \[heal\] max_percent",
        r"waiting: this run has changed 1 of 10 consumers, the most that \[heal\] max_percent=5 permits "
        r"\(at least 1 consumer per run\); next run in 60 s",
        _limited,
    ),
    (
        r"the configuration is right",
        r"no mistakes found in stocktake\.conf, more\.conf; nothing was contacted",
        _check,
    ),
    (
        r"promised \d+ = \d+ \(\d+ instances, unknown\)",
        r"VCPU promised 16 \(4 instances; not compared, Placement was not read\)",
        _uncompared,
    ),
    (
        r"is no possible amount|is not a possible amount",
        r"VCPU=0: the amount must be between 1 and 2147483647",
        lambda folder: _ran("--config-file", _configured(folder), "why", "--resource", "VCPU=0"),
    ),
    (
        r"no inventory can be told|no inventory is known",
        r"inventory unknown: libvirt and Placement could not be read",
        _no_inventory,
    ),
    (
        r"what is seen will not be remembered",
        r"findings of this run are not saved \(cannot write /file\)",
        _not_saved,
    ),
    (
        r"watch hears what agents tell",
        r"watch needs the message bus: set \[DEFAULT\] transport_url",
        _watch,
    ),
    (
        r"are wanted, .* gives at most|first: max-unit:",
        r"blocked by max_unit: requested 64 VCPU, host-1 allows at most 48 in one request",
        _blocked,
    ),
    (r"may be given often", r"only this finding \(repeatable\)", _help("heal")),
    (r"--resource goes before it", r"--resource overrides the flavor's amount", _help("why")),
    (r"must they find room on this host", r"also check that N guest NUMA cells fit on this host", _help("why")),
    (r"whose every byte of each store is", r"who owns each byte of each storage pool", _readme),
    (r"benefit of the doubt", r"After only one such audit, the agent writes the inventory again", _rival),
    (r"its first sign of life", r"its first heartbeat", _rival),
]


@pytest.mark.parametrize(("_earlier", "now", "run"), WORDS, ids=[now[:40] for _, now, _ in WORDS])
def test_reworded_messages_appear_in_command_output(tmp_path, monkeypatch, _earlier, now, run):
    """Some unclear messages of the commands got a new wording. The commands print the new wording."""
    monkeypatch.delenv("COLUMNS", raising=False)
    printed = run(tmp_path)
    assert re.search(now, printed, re.MULTILINE), printed


@pytest.mark.parametrize("earlier", [*(earlier for earlier, _, _ in WORDS), "look at the named source"])
def test_no_file_contains_the_old_wording_of_a_message(earlier):
    """Some messages were unclear and got a new wording; the code and the documents no longer contain the old one."""
    files = [*(ROOT / "agent").rglob("*.py"), *(ROOT / "agent").rglob("*.md"), *(ROOT / "docs").rglob("*.md")]
    files.append(ROOT / "README.md")
    found = [str(path.relative_to(ROOT)) for path in files if re.search(earlier, " ".join(path.read_text().split()))]
    assert found == []


def test_an_audit_without_placement_says_why_it_wrote_nothing(tmp_path):
    """If Placement cannot be reached, `stocktake audit` prints "nothing written: Placement was not read"."""
    more = tmp_path / "more.conf"
    more.write_text("[placement]\nendpoint_override = http://127.0.0.1:1\n")
    printed = _ran("--config-file", _configured(tmp_path), "--config-file", more, "audit")
    assert "nothing written: Placement was not read" in printed
    assert "nothing to write" not in printed
