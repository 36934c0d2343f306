"""Remedies by role: a remedy names a repair of the agent only in a role that carries the repair out."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.settings import Role
from agent.model.snapshot import Snapshot
from agent.repairs import BY_CODE
from agent.repairs.base import BesideNova
from tests.rigs import facts
from tests.rigs.heal import leaks, record, view_of
from tests.rigs.reshape import gpu_scene

MOVED = facts.instance("away", host="cmp2", node="cmp2.example.org")
HERE = facts.instance("i1")
A_LESS = {"VCPU": 3, "MEMORY_MB": 128, "DISK_GB": 1}


def world(*held: str, instance=HERE, there: bool = False, **changes) -> Snapshot:
    places = {"here": A_LESS} | ({"there": A_LESS} if there else {})
    records = [dataclasses.replace(record(name, **places), **changes) for name in held]
    guests = facts.host(facts.domain("i1"))
    return facts.snapshot(placement=view_of(*records), nova=facts.state(instance), libvirt=guests)


def worlds() -> dict[str, Snapshot]:
    holder = facts.root(uuid=facts.uuid("holder"))
    done = facts.migration(
        1,
        "away",
        kind="evacuation",
        status="done",
        source_host=facts.HOST,
        source_node=facts.NODE,
        updated_at=facts.NOW,
    )
    evacuated = facts.state(MOVED, finished_evacuations=(done,))
    return {
        "allocation-leaked": leaks("gone")[0],
        "allocation-stale-move": world("away", instance=MOVED),
        "consumer-on-several-providers": world("away", instance=MOVED, there=True),
        "allocation-missing": world(),
        "allocation-differs": world("i1"),
        "consumer-project-differs": world("i1", project_id="another"),
        "migration-finished-but-counted": facts.snapshot(
            placement=view_of(record("away", here=A_LESS)), nova=evacuated
        ),
        "reshape-needed": gpu_scene().snapshot,
        "identity-changed": facts.snapshot(nova=facts.state(nodes=(facts.node(uuid=facts.uuid("row")),))),
        "provider-name-conflict": facts.snapshot(placement=facts.view(providers=(), name_holder=holder)),
    }


CASES = [(code, role) for code in worlds() for role in Role]


@pytest.mark.parametrize(("code", "role"), CASES, ids=[f"{code} {role.value}" for code, role in CASES])
def test_advice_suggests_heal_only_if_the_role_permits_it(code, role):
    """A finding's advice suggests `stocktake heal` or `adopt` only if the agent's role permits the command."""
    settings = gpu_scene().settings if code == "reshape-needed" else facts.settings()
    snapshot = worlds()[code]
    found = [f for f in facts.decided(snapshot, dataclasses.replace(settings, role=role)).findings if f.code == code]
    assert found, code
    remedy = found[0].remedy
    repair = BY_CODE.get(code)
    heals = {
        Role.OBSERVER: False,
        Role.COMPANION: repair is not None and repair.beside_nova is not BesideNova.NOVA_REPAIRS,
        Role.OWNER: repair is not None,
    }[role]
    assert ("stocktake heal --finding" in remedy) == heals
    assert "stocktake adopt" not in remedy or role is Role.OWNER
    assert "\n" not in remedy
    assert "PROVIDER" not in remedy
    # A reshape changes several consumers, so its remedy cannot name one.
    assert "CONSUMER" not in remedy or code == "reshape-needed"
