"""Remedies and headlines of every finding code in every role: an operator can paste each command as it stands."""

from __future__ import annotations

import dataclasses
import re
import shlex
import subprocess
from collections.abc import Iterator

import pytest

from agent.findings import BUILTIN
from agent.findings.base import joined
from agent.healing.plan import asked_for, heal_plan
from agent.model.finding import Finding, RemedyKind
from agent.model.settings import Role
from tests.rigs import facts
from tests.rigs.finding_worlds import PLANTED, Planted

CODES = sorted(PLANTED)
CASES = [(code, role) for code in CODES for role in Role]
IDS = [f"{code} {role.value}" for code, role in CASES]
# What stood in the place of a value in older remedies, and what manuals write there.
PLACEHOLDER = re.compile(
    r"\b(CONSUMER|PROVIDER|FINDING|INSTANCE|CLASS|FAMILY|PARENT|PROJECT|USER|DIGEST|UUID|ID|NAME|HOST|PORT|URI|PATH|None)\b"
    r"|<[a-z]|\.\.\.|…|\{|\}"
)
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
BEGUN = re.compile(r"[0-9a-f]{8}-[0-9a-f-]*")


def of_code(code: str, role: Role) -> Iterator[tuple[Planted, Finding]]:
    for make in PLANTED[code]:
        planted = make()
        yield from ((planted, f) for f in planted.decision(role).findings if f.code == code)


def test_each_finding_code_is_reported_for_its_test_data():
    """The tests have example data for each finding code, and the agent reports the code for these data."""
    assert PLANTED.keys() == {rule.code for rule in BUILTIN}
    for code in CODES:
        for number, make in enumerate(PLANTED[code]):
            planted = make()
            assert any(found.code == code for role in Role for found in planted.decision(role).findings), (
                f"world {number} of {code}"
            )


@pytest.mark.parametrize(("code", "role"), CASES, ids=IDS)
def test_each_suggested_command_can_be_pasted_into_a_shell(code, role):
    """Each command that a finding suggests is one line without placeholders, and bash accepts its syntax."""
    commands = [r.command for _, found in of_code(code, role) for r in found.remedies if r.command is not None]
    for command in commands:
        assert "\n" not in command
        assert not PLACEHOLDER.search(command), command
        assert shlex.split(command)
    script = "\n".join(commands)
    checked = subprocess.run(["bash", "-n"], input=script, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, ""), script


@pytest.mark.parametrize(("code", "role"), CASES, ids=IDS)
def test_a_suggested_heal_command_is_allowed_in_the_role(code, role):
    """If a finding suggests `stocktake heal --finding`, the agent's role permits this repair."""
    for planted, found in of_code(code, role):
        heals = [r for r in found.remedies if r.kind is RemedyKind.HEAL]
        assert [r.command for r in heals] == [f"stocktake heal --finding {found.id[:8]}"] * len(heals)
        assert len(heals) <= 1
        if heals:
            scene = planted.scene(role)
            plan = heal_plan(scene, asked_for(scene.findings, frozenset(), frozenset({found.id})))
            assert not {refusal.guard for refusal in plan.refusals} & {"role", "repairable"}, plan.refusals
        others = [r.command for r in found.remedies if r.command is not None and r.kind is not RemedyKind.HEAL]
        assert not any("stocktake heal" in command for command in others)


@pytest.mark.parametrize(("code", "role"), CASES, ids=IDS)
def test_the_advice_of_a_finding_joins_all_its_remedies(code, role):
    """A finding has one or more remedies, and its advice is the joined text of all its remedies."""
    for _, found in of_code(code, role):
        assert found.remedies
        assert found.remedy == joined(found.remedies)
        assert all(r.words and r.words.isascii() and not r.words.endswith(".") for r in found.remedies)
        assert all(r.command is None for r in found.remedies if r.kind is RemedyKind.WAIT)
        assert not PLACEHOLDER.search(re.sub(r"UPDATE .*?\)|Placement's error.*|HTTP", "", found.remedy)), found.remedy


@pytest.mark.parametrize(("code", "role"), CASES, ids=IDS)
def test_each_headline_contains_the_host_and_is_short(code, role):
    """The headline of each finding contains the host's name and has at most 160 characters."""
    for _, found in of_code(code, role):
        assert 20 < len(found.headline) <= 160
        assert found.headline.isprintable()
        assert ": " in found.headline or "; " in found.headline
        assert facts.HOST in found.headline, found.headline
        assert all(UUID.fullmatch(begun) for begun in BEGUN.findall(found.headline))


NAMED = [
    ("allocation-leaked", "gone: the instance is deleted; Placement still counts 1 VCPU on cmp1"),
    (
        "allocation-stale-move",
        "away: Placement counts 3 VCPU, 128 MiB, 1 GiB on cmp1; the instance lives on cmp2",
    ),
    (
        "migration-finished-but-counted",
        "away: evacuated to cmp2; Placement still counts 3 VCPU, 128 MiB, 1 GiB on cmp1",
    ),
    ("allocation-differs", "i1: Placement counts 3 VCPU on cmp1; the instance's flavor asks for 1 VCPU"),
    ("guest-unknown", "stranger: a guest on cmp1 holds 1 VCPU, 128 MiB, but nova has no such instance on this host"),
    ("over-capacity", "cmp1: 31 VCPU (30 leaked) used, more than the capacity of 4"),
]


@pytest.mark.parametrize(("code", "headline"), NAMED, ids=[code for code, _ in NAMED])
def test_a_headline_begins_with_the_affected_object(code, headline):
    """The headline of a finding begins with the name of the instance, guest or host that the finding is about."""
    assert headline in [found.headline for _, found in of_code(code, Role.OWNER)]


HOSTILE = "$(touch /x)'\"`; \\ \u202e\n" + "n" * 4096


def test_suggested_commands_omit_a_hostile_guest_name():
    """If a guest's name contains shell code, no command that the agent suggests contains the name."""
    planted = Planted(
        world=facts.snapshot(libvirt=facts.host(dataclasses.replace(facts.domain("stranger"), name=HOSTILE)))
    )
    (found,) = (f for f in planted.decision(Role.OWNER).findings if f.code == "guest-unknown")
    assert len(found.headline) <= 160
    assert found.headline.isprintable()
    assert all("touch" not in (remedy.command or "") for remedy in found.remedies)


def test_a_hostile_volume_name_is_quoted_in_lvremove():
    """If an LVM volume's name contains shell code, the suggested `lvremove` command quotes the name."""
    world = facts.snapshot(lvm=facts.group(20, facts.volume("a b;$(touch x)'", 2)))
    planted = Planted(world=world, settings=facts.lvm_settings())
    (found,) = (f for f in planted.decision(Role.OWNER).findings if f.code == "volume-foreign")
    (remove,) = (r.command for r in found.remedies if r.command and r.command.startswith("lvremove"))
    assert shlex.split(remove) == ["lvremove", "vg0/a b;$(touch x)'"]
