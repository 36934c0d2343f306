"""A reshape moves a class from the root to its children: heal, journal and undo, on a real Placement.

libvirt's test driver lists cards, mediated devices and the guests that have them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.audit.parts import AuditTask
from agent.audit.run import run_audit
from agent.healing.heal import Healed, Prepared, run_heal
from agent.healing.undo import undo
from agent.host_files.journal import Result
from agent.model.audit import AuditMemory, Publish
from agent.placement.allocations import AllocationClient
from agent.placement.reshape import ReshapeClient
from tests.rigs import facts
from tests.rigs.commands import stocktake, stocktake_here
from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import FLAVOR_B
from tests.rigs.faults import Answer, LoseAnswer, Meanwhile, ScriptedAdapter, carried_out_late, on_match, on_path
from tests.rigs.healing import heal_killed, planned, short_proof, with_parts  # noqa: F401 - a fixture
from tests.rigs.host import AgentHost, Ended, host_on
from tests.rigs.nested import GPU_06, GPU_07, encrypting
from tests.rigs.node_devices import address_xml, card_xml, functions_xml, mdev_hostdev_xml, mdev_xml
from tests.rigs.placement import PROJECT, USER, Rest, client_of, new_uuid
from tests.rigs.releases import chosen, needs_all_traits

OURS = "CUSTOM_OWNER_STOCKTAKE"
CONTEXT = "MEM_ENCRYPTION_CONTEXT"
OLD = {"VGPU": {"total": 24}, "VCPU": {"total": 64}, "MEMORY_MB": {"total": 65536}, "DISK_GB": {"total": 100}}
RESHAPE = frozenset({"reshape-needed"})


@dataclasses.dataclass(frozen=True)
class Told:
    """The exit code of one command and its document."""

    code: int
    document: Any


@dataclasses.dataclass
class Cards:
    """A host with two cards; instances ``i1`` (a mediated device on each card) and ``i2`` (one on the first)."""

    agent: AgentHost
    rest: Rest
    other: str
    one: str
    two: str
    mdevs: dict[str, str]

    @property
    def root(self) -> str:
        return self.agent.provider_uuid

    def run(self, *arguments: str) -> Ended:
        return stocktake_here("--config-file", self.agent.config_file, *arguments)

    def told(self, *arguments: str) -> Told:
        ended = self.run(*arguments, "-f", "json")
        assert ended.stdout, ended.stderr
        return Told(ended.code, ended.document)

    def finding(self, code: str = "reshape-needed") -> str:
        found = self.told("audit").document["findings"]
        (one,) = [f["id"] for f in found if f["code"] == code]
        return one

    def plan(self) -> Told:
        return self.told("heal", "--finding", self.finding())

    def healed(self) -> Told:
        plan = self.plan()
        assert plan.document["actions"], plan.document
        ids = [action["finding_id"] for action in plan.document["actions"]]
        return self.told("heal", "--finding", *ids, "--plan", plan.document["digest"], "--yes")

    def allocate(self, consumer: str, holdings: dict[str, dict[str, int]], kind: str | None = None) -> str:
        if kind is None:
            return self.rest.allocate(holdings, consumer)
        body = {
            "allocations": {provider: {"resources": held} for provider, held in holdings.items()},
            "project_id": PROJECT,
            "user_id": USER,
            "consumer_generation": None,
            "consumer_type": kind,
        }
        self.rest.done("PUT", f"/allocations/{consumer}", body, version="1.38")
        return consumer

    def scheduled(self, kind: str | None = None) -> None:
        """Allocate as the scheduler of an older cloud did; i1 has an allocation on another host too."""
        mine = {"VCPU": 2, "MEMORY_MB": 256}
        self.allocate(self.one, {self.root: mine | {"VGPU": 2}, self.other: {"VCPU": 1}}, kind)
        self.allocate(self.two, {self.root: mine | {"VGPU": 1}}, kind)

    def held(self, consumer: str) -> Any:
        """Return GET's answer at microversion 1.38 without the generations."""
        found = self.rest.done("GET", f"/allocations/{consumer}", version="1.38")
        found.pop("consumer_generation", None)
        for held in found["allocations"].values():
            held.pop("generation")
        return found

    def amounts(self, consumer: str) -> dict[str, dict[str, int]]:
        return {provider: held["resources"] for provider, held in self.held(consumer)["allocations"].items()}

    @property
    def children(self) -> dict[str, str]:
        """Provider uuids of the children, by the part of the provider's name after the node's name."""
        found = self.rest.done("GET", f"/resource_providers?in_tree={self.root}")["resource_providers"]
        return {p["name"].removeprefix(f"{self.agent.name}_"): p["uuid"] for p in found if p["uuid"] != self.root}

    @property
    def offers(self) -> dict[str, int]:
        """The total of VGPU of each provider that offers it; the root's key is "root"."""
        places = {"root": self.root, **self.children}
        found = {name: self.rest.inventories(uuid) for name, uuid in places.items()}
        return {name: records["VGPU"]["total"] for name, records in found.items() if "VGPU" in records}

    def everything(self) -> Any:
        """All that one reshape may change."""
        return (
            self.children,
            {uuid: self.rest.inventories(uuid) for uuid in (self.root, *self.children.values())},
            [self.held(consumer) for consumer in (self.one, self.two)],
        )

    def journal(self) -> list[tuple[str, str]]:
        return [(entry["kind"], entry["result"]) for entry in self.told("journal").document]

    def devices(self, *cards: str, guests: tuple[tuple[str, tuple[str, ...]], ...]) -> None:
        """Let libvirt list these cards, all mediated devices, and guests with the mediated devices named for each."""
        made = [mdev_xml(uuid, parent, "nvidia-11") for uuid, parent in self.mdevs.items()]
        domains = [
            domain_xml(
                f"instance-{number}",
                domain_uuid=uuid,
                vcpus=FLAVOR_B.vcpus,
                memory_mib=FLAVOR_B.memory_mib,
                disks=[mdev_hostdev_xml(name) for name in names],
            )
            for number, (uuid, names) in enumerate(guests)
        ]
        (self.agent.folder / "node.xml").write_text(
            node_xml(cpus=8, memory_mib=4096, domains=[*cards, *made, *domains])
        )


BOTH = (card_xml(GPU_06, nvidia_11=14), card_xml(GPU_07, nvidia_11=7))


@pytest.fixture
def cards(tmp_path: Path, placement: Rest) -> Iterator[Cards]:
    names = [f"i-{new_uuid()}" for _ in range(2)]
    made = host_on(
        tmp_path,
        placement.server.url,
        options={
            "heal": {"min_age": 0},
            "devices": {"enabled_mdev_types": "nvidia-11"},
            # A test counts audits and requests each of them: no interval triggers an audit.
            "DEFAULT": {"update_resources_interval": -1},
        },
    )
    made.configure()
    a, b, c = (new_uuid() for _ in range(3))
    one, two = map(facts.uuid, names)
    host = Cards(
        agent=made,
        rest=placement,
        other=placement.make_provider(),
        one=one,
        two=two,
        mdevs={a: GPU_06, b: GPU_07, c: GPU_06},
    )
    host.devices(*BOTH, guests=((one, (a, b)), (two, (c,))))
    placement.set_inventories(host.other, {"VCPU": {"total": 64}})
    placement.make_provider(made.name, uuid=made.provider_uuid)
    placement.set_inventories(made.provider_uuid, OLD)
    placement.set_traits(made.provider_uuid, OURS, "COMPUTE_NODE")
    instances = [made.instance(name, flavor=FLAVOR_B, flavor_id=2) for name in names]
    engine = made.make_cell(*instances)
    try:
        yield host
    finally:
        engine.dispose()


@contextlib.contextmanager
def in_process(
    cards: Cards, adapter: ScriptedAdapter | None = None, host: Any = None
) -> Iterator[tuple[AuditTask, Prepared]]:
    """Yield an task and the reshape's plan; heal's requests go through ``adapter``, ``host`` replaces libvirt."""
    instead = {"host": host} if host else {}
    with planned(cards.agent.config_file, RESHAPE, **instead) as (task, plan):
        assert len(plan.plan.actions) == 1, plan.plan.refusals
        asking = task
        if adapter is not None:
            client = client_of(cards.agent.folder, cards.rest.server.url, adapter)
            asking = with_parts(task, allocations=AllocationClient(client), reshaper=ReshapeClient(client))
        yield asking, plan


def carried_out(cards: Cards, script: Any) -> tuple[Healed, ScriptedAdapter]:
    adapter = ScriptedAdapter(script)
    with in_process(cards, adapter) as (task, plan):
        (healed,) = run_heal(task, plan)
    return healed, adapter


def posts(adapter: ScriptedAdapter) -> int:
    return sum(1 for method, url in adapter.sent if method == "POST" and url.endswith("/reshaper"))


def on_reshape(fault: Any) -> Any:
    return on_path(1, "/reshaper", fault)


MOVED = {"VCPU": 2, "MEMORY_MB": 256}


def sums(cards: Cards) -> list[Counter[str]]:
    return [
        sum((Counter(held) for held in cards.amounts(consumer).values()), Counter())
        for consumer in (cards.one, cards.two)
    ]


@pytest.mark.parametrize("kind", [None, "INSTANCE", "STOCKTAKE_UNMANAGED"])
def test_s106_one_reshape_moves_all_vgpus_to_child_providers(cards, kind):
    """`stocktake heal` moves the VGPU inventory and all VGPU allocations from the root to the GPUs' child providers."""
    cards.scheduled(kind)
    before, held = sums(cards), cards.held(cards.one)
    finding = cards.finding()
    plan = cards.told("heal", "--finding", finding)
    assert plan.code == 3
    assert cards.children == {}, "a plan changes nothing"
    with cards.rest.watched() as seen:
        done = cards.told("heal", "--finding", finding, "--plan", plan.document["digest"], "--yes")
    assert (done.code, [r["result"] for r in done.document["results"]]) == (4, ["done"]), done.document["results"][0][
        "words"
    ]
    assert [line for line in seen if not line.startswith("GET")] == [
        "POST /resource_providers 200",
        "POST /resource_providers 200",
        "POST /reshaper 204",
    ]
    children = cards.children
    assert cards.amounts(cards.one) == {
        cards.root: MOVED,
        children[GPU_06]: {"VGPU": 1},
        children[GPU_07]: {"VGPU": 1},
        cards.other: {"VCPU": 1},
    }
    assert cards.amounts(cards.two) == {cards.root: MOVED, children[GPU_06]: {"VGPU": 1}}
    assert cards.offers == {GPU_06: 16, GPU_07: 8}
    assert sums(cards) == before
    now = cards.held(cards.one)
    assert {k: now[k] for k in ("project_id", "user_id", "consumer_type")} == {
        k: held[k] for k in ("project_id", "user_id", "consumer_type")
    }
    assert held["consumer_type"] == (kind or "unknown")


@needs_all_traits()
def test_the_audit_after_a_reshape_adds_owner_traits(cards):
    """After a reshape, the next audit puts the agent's owner trait on each new child provider."""
    cards.scheduled()
    cards.healed()
    children = cards.children
    assert cards.agent.agent("--once").code in (0, 3)
    assert cards.children == children
    assert all(OURS in cards.rest.traits(uuid) for uuid in children.values())
    assert cards.offers == {GPU_06: 16, GPU_07: 8}
    with cards.rest.watched() as seen:
        ended = cards.agent.agent("--once")
    assert [line for line in seen if not line.startswith("GET")] == []
    assert "reshape-needed" not in {f["code"] for f in cards.agent.report()["audit"]["findings"]}, ended.stderr


def test_heal_prints_the_planned_reshape(cards):
    """`stocktake heal` prints the VGPU amounts of each provider and consumer, as they are and as planned."""
    cards.scheduled()
    finding = cards.finding()
    plan = stocktake("--config-file", cards.agent.config_file, "heal", "--finding", finding)
    digest = cards.told("heal", "--finding", finding).document["digest"]
    assert f"provider {cards.agent.name} ({cards.root}): VGPU 24 -> none" in plan.stdout
    assert f"{cards.agent.name}_{GPU_06}" in plan.stdout
    assert "VGPU no provider -> 16" in plan.stdout
    assert f"consumer {cards.two}: 1 VGPU on {cards.agent.name} -> 1 VGPU on {cards.agent.name}_{GPU_06}" in plan.stdout
    assert f"--finding {finding[:8]} --plan {digest[:12]} --yes" in plan.stdout
    done = stocktake("--config-file", cards.agent.config_file, "heal", "--finding", finding, "--plan", digest, "--yes")
    assert (done.code, "moved as planned" in done.stdout) == (4, True), done.stdout + done.stderr
    assert cards.offers == {GPU_06: 16, GPU_07: 8}


def test_a_reshape_is_refused_if_a_guest_gpu_is_unknown(cards):
    """A guest uses a mediated device, and libvirt does not show its GPU; `stocktake heal` refuses the whole reshape."""
    cards.scheduled()
    a, b, _ = cards.mdevs
    cards.devices(*BOTH, guests=((cards.one, (a, b)), (cards.two, (new_uuid(),))))
    before = cards.everything()
    plan = cards.plan()
    assert (plan.code, plan.document["actions"]) == (5, [])
    (refusal,) = plan.document["refusals"]
    assert refusal["guard"] == "repair"
    assert cards.two in refusal["why"]
    assert "its parent is not known" in refusal["why"]
    assert cards.everything() == before


def test_a_reshape_is_refused_if_allocation_and_mdevs_differ(cards):
    """A guest has 2 VGPU in Placement and one mediated device in libvirt; the agent refuses the reshape."""
    cards.scheduled()
    cards.rest.allocate({cards.root: {"VGPU": 2}}, cards.two)
    (refusal,) = cards.plan().document["refusals"]
    assert f"consumer {cards.two} has 2 VGPU on the root" in refusal["why"]
    assert f"1 on {cards.agent.name}_{GPU_06}" in refusal["why"]


def test_s155_a_provider_generation_conflict_stops_a_reshape(cards):
    """Another client changes the provider during a reshape; Placement refuses the reshape, and no inventory moves."""
    cards.scheduled()
    healed, adapter = carried_out(cards, on_reshape(Meanwhile(lambda: cards.rest.allocate({cards.root: {"VCPU": 1}}))))
    assert healed.outcome.result is Result.REFUSED
    assert healed.outcome.moved
    assert "resource provider generation conflict" in healed.outcome.words
    assert "created for the move and not removed" in healed.outcome.words
    assert posts(adapter) == 1, "what was stale is not sent again"
    assert cards.offers == {"root": 24}
    assert set(cards.children) == {GPU_06, GPU_07}, "empty, which is harmless"
    assert cards.amounts(cards.two) == {cards.root: MOVED | {"VGPU": 1}}
    assert cards.healed().code == 4
    assert cards.offers == {GPU_06: 16, GPU_07: 8}
    assert cards.journal() == [("reshape", "refused"), ("reshape", "done")]


def test_s155_heal_retries_a_refused_reshape(cards, monkeypatch):
    """Placement refuses a reshape because of a new allocation; `stocktake heal` tries again and succeeds."""
    cards.scheduled()
    finding = cards.finding()
    digest = cards.told("heal", "--finding", finding).document["digest"]
    real, times = ReshapeClient.reshape, iter(range(1))

    def late(self: ReshapeClient, write: Any) -> None:
        if next(times, None) is not None:
            cards.rest.allocate({cards.root: {"VCPU": 1}})
        real(self, write)

    monkeypatch.setattr(ReshapeClient, "reshape", late)
    done = cards.told("heal", "--finding", finding, "--plan", digest, "--yes")
    assert (done.code, [r["result"] for r in done.document["results"]]) == (4, ["done"]), done.document
    assert cards.journal() == [("reshape", "refused"), ("reshape", "done")]


def test_placement_refuses_a_reshape_of_a_changed_allocation(cards):
    """An allocation changes just before the agent sends its reshape; Placement refuses the reshape."""
    cards.scheduled()
    healed, _ = carried_out(
        cards, on_reshape(Meanwhile(lambda: cards.rest.allocate({cards.root: {"VGPU": 1}}, cards.two)))
    )
    assert healed.outcome.result is Result.REFUSED
    assert cards.offers == {"root": 24}
    assert cards.amounts(cards.one)[cards.root]["VGPU"] == 2


def came_back(cards: Cards) -> None:
    """Remove and re-make consumer ``two`` with the same amounts and generation.

    Another guest on another card may make such a consumer.
    """
    was = cards.rest.done("GET", f"/allocations/{cards.two}", version="1.28")["consumer_generation"]
    cards.rest.release(cards.two)
    cards.rest.allocate({cards.root: MOVED | {"VGPU": 1}}, cards.two)
    now = cards.rest.done("GET", f"/allocations/{cards.two}", version="1.28")["consumer_generation"]
    assert was == now, "nothing of its own tells"


def test_heal_refuses_a_reshape_of_a_recreated_consumer(cards):
    """A consumer is deleted and recreated after the plan; the agent refuses before it writes anything."""
    cards.scheduled()
    with in_process(cards) as (task, plan):
        came_back(cards)
        (healed,) = run_heal(task, plan)
    assert (healed.outcome.result, healed.outcome.moved, healed.outcome.entry_id) == (Result.REFUSED, True, None)
    # Which of the two checks notices the write depends on the second in which the consumer was created again.
    noticed = (
        "another client deleted and recreated the consumer",
        "a provider or an allocation of this host changed after the agent planned",
    )
    assert any(words in healed.outcome.words for words in noticed)
    assert (cards.children, cards.journal()) == ({}, [])


def test_placement_refuses_a_reshape_of_a_recreated_consumer(cards):
    """A consumer is deleted and recreated just before the agent sends its reshape; Placement refuses the reshape."""
    cards.scheduled()
    healed, _ = carried_out(cards, on_reshape(Meanwhile(lambda: came_back(cards))))
    assert (healed.outcome.result, healed.outcome.moved) == (Result.REFUSED, True)
    assert cards.offers == {"root": 24}


def test_placement_refuses_a_reshape_of_a_deleted_consumer(cards):
    """A consumer is deleted just before the agent sends its reshape; Placement refuses the whole reshape."""
    cards.scheduled()
    healed, _ = carried_out(cards, on_reshape(Meanwhile(lambda: cards.rest.release(cards.two))))
    assert healed.outcome.result is Result.REFUSED
    assert "consumer generation conflict" in healed.outcome.words
    assert cards.offers == {"root": 24}
    assert cards.amounts(cards.two) == {}


def test_s155_heal_reports_the_error_of_a_rejected_reshape(cards):
    """Placement answers a reshape with 400; the agent reports Placement's error text, and nothing is moved."""
    cards.scheduled()
    before = cards.amounts(cards.one)
    body = {"errors": [{"status": 400, "code": "placement.undefined_code", "detail": "malformed reshaper data"}]}
    refused = Answer(400, json.dumps(body).encode(), (("content-type", "application/json"),))
    healed, _ = carried_out(cards, on_reshape(refused))
    assert (healed.outcome.result, healed.outcome.moved) == (Result.REFUSED, False)
    assert "nothing was moved: placement: POST" in healed.outcome.words
    assert "malformed reshaper data" in healed.outcome.words
    assert cards.amounts(cards.one) == before


@pytest.mark.skipif(
    chosen().admin_reshapes,
    reason="This Placement also allows a reshape to role admin: heal sends it with role admin or service.",
)
def test_a_reshape_refused_by_policy_needs_role_service(cards):
    """Placement's policy denies the reshape to role admin; the agent's message says that role service is needed."""
    cards.scheduled()
    adapter = ScriptedAdapter(lambda request: request.headers.update({"X-Roles": "admin"}))
    with in_process(cards, adapter) as (task, plan):
        (healed,) = run_heal(task, plan)
    assert (healed.outcome.result, healed.outcome.moved) == (Result.REFUSED, False)
    assert "Policy does not allow placement:reshaper:reshape" in healed.outcome.words
    assert healed.outcome.words.count('needs the role "service"') == 1
    assert "admin or service" not in healed.outcome.words
    assert cards.offers == {"root": 24}


def test_a_reshape_beyond_capacity_moves_nothing(cards):
    """A reshape would give a child provider more allocations than it has room for; Placement refuses the reshape."""
    cards.scheduled()
    with in_process(cards) as (task, plan):
        (action,) = plan.plan.actions
        small = tuple(
            dataclasses.replace(p, after=tuple(dataclasses.replace(i, total=1, max_unit=1) for i in p.after))
            if p.uuid != cards.root
            else p
            for p in action.reshaping.providers
        )
        narrow = dataclasses.replace(action, reshaping=dataclasses.replace(action.reshaping, providers=small))
        wrong = dataclasses.replace(plan, plan=dataclasses.replace(plan.plan, actions=(narrow,)))
        (healed,) = run_heal(task, wrong)
    assert (healed.outcome.result, healed.outcome.moved) == (Result.REFUSED, False)
    assert "Unable to allocate inventory" in healed.outcome.words
    assert cards.offers == {"root": 24}


def test_heal_detects_a_completed_reshape(cards):
    """Placement's answer to a reshape is lost; the agent then reads Placement and reports the reshape as done."""
    cards.scheduled()
    healed, adapter = carried_out(cards, on_reshape(LoseAnswer()))
    assert healed.outcome.result is Result.DONE
    assert "checked afterwards: the change was done" in healed.outcome.words
    assert posts(adapter) == 1
    assert cards.offers == {GPU_06: 16, GPU_07: 8}


def test_a_proxy_error_makes_the_reshape_result_unknown(cards):
    """A proxy answers a reshape with 502.

    Placement may still complete it, so the agent reports the result as unknown.
    """
    cards.scheduled()
    healed, _ = carried_out(cards, on_reshape(Answer(502, b"<html>bad gateway</html>")))
    assert (healed.outcome.result, healed.outcome.unread) == (Result.UNKNOWN, True)
    assert (
        "had not done the change yet; these providers were created for the move and not removed" in healed.outcome.words
    )
    assert cards.offers == {"root": 24}


def test_heal_detects_a_reshape_that_completes_late(cards):
    """A proxy answers a reshape with 504 and Placement completes it a moment later; the agent reports it as done."""
    cards.scheduled()
    queued: list[Any] = []
    looks = itertools.count()

    def script(request: Any) -> Any:
        if str(request.url).endswith("/reshaper"):
            queued.append(request)
            return Answer(504)
        return Meanwhile(lambda: carried_out_late(queued)) if queued and next(looks) == 1 else None

    healed, _ = carried_out(cards, script)
    assert (healed.outcome.result, healed.outcome.unread) == (Result.DONE, False)
    assert cards.offers == {GPU_06: 16, GPU_07: 8}


def test_a_reshape_result_is_unknown_if_the_check_fails(cards):
    """If Placement's answer to a reshape is lost and the check of the reshape fails too, the result is unknown."""
    cards.scheduled()
    lost = []

    def script(request: Any) -> Any:
        if str(request.url).endswith("/reshaper"):
            lost.append(request)
            return LoseAnswer()
        return Answer(503) if lost else None

    healed, _ = carried_out(cards, script)
    assert healed.outcome.result is Result.UNKNOWN
    assert "the check afterwards failed too" in healed.outcome.words


def test_undo_of_a_reshape_restores_everything(cards):
    """`stocktake undo` of a reshape restores all providers, inventories and allocations, and can be run only once."""
    cards.scheduled("INSTANCE")
    before = cards.everything()
    cards.healed()
    assert cards.everything() != before
    (entry,) = cards.told("journal").document
    assert (entry["kind"], entry["code"], entry["consumer_uuid"]) == ("reshape", "reshape-needed", None)
    with cards.rest.watched() as seen:
        undone = cards.told("undo", entry["id"])
    assert (undone.code, undone.document["result"]) == (0, "done"), undone.document
    assert cards.everything() == before
    writes = [line for line in seen if not line.startswith("GET")]
    assert [line.split("/")[1].split()[0] for line in writes] == [
        "reshaper",
        "resource_providers",
        "resource_providers",
    ]
    again = cards.told("undo", entry["id"])
    assert (again.code, "undone already" in again.document["words"]) == (5, True)


def test_undo_of_a_reshape_can_itself_be_undone(cards):
    cards.scheduled()
    before = cards.everything()
    cards.healed()
    moved = cards.everything()
    cards.agent.agent("--once")
    (entry,) = cards.told("journal").document
    undone = cards.told("undo", entry["id"])
    assert undone.code == 0, undone.document
    children, inventories, held = cards.everything()
    assert (children, held) == (before[0], before[2])
    assert inventories[cards.root]["VGPU"] == before[1][cards.root]["VGPU"]
    back = cards.told("undo", undone.document["entry_id"])
    assert back.code == 0, back.document
    assert cards.everything()[0] == moved[0]
    assert cards.everything()[2] == moved[2]


def test_undo_is_refused_if_a_new_consumer_uses_a_child(cards):
    """After a reshape, another consumer gets VGPU on a child provider; `stocktake undo` refuses to run."""
    cards.scheduled()
    cards.healed()
    stranger = cards.rest.allocate({cards.children[GPU_07]: {"VGPU": 1}})
    (entry,) = cards.told("journal").document
    found = cards.told("undo", entry["id"])
    assert (found.code, found.document["words"]) == (
        5,
        f"consumer {stranger} has an allocation of VGPU that the reshape did not make: the undo could delete it",
    )
    assert cards.offers == {GPU_06: 16, GPU_07: 8}


def test_a_reshape_cannot_be_undone_after_later_changes(cards):
    """`stocktake undo` refuses if another client changed an inventory or an allocation after the reshape."""
    cards.scheduled()
    cards.healed()
    (entry,) = cards.told("journal").document
    cards.rest.set_inventories(cards.children[GPU_07], {"VGPU": {"total": 3, "max_unit": 3}})
    found = cards.told("undo", entry["id"])
    assert found.code == 5
    assert f"provider {cards.agent.name}_{GPU_07} offers 3 (0 reserved, ratio 1) of VGPU now" in found.document["words"]
    cards.rest.release(cards.two)
    found = cards.told("undo", entry["id"])
    assert (found.code, f"consumer {cards.two} was changed since" in found.document["words"]) == (5, True)


def test_undo_of_a_reshape_needs_access_to_allocations(cards):
    """An agent without access to Placement's allocations refuses to undo a reshape, and changes nothing."""
    cards.scheduled()
    with in_process(cards) as (task, plan):
        run_heal(task, plan)
        apart = with_parts(task, allocations=None)
        (entry,) = task.parts.journal.read().entries
        outcome = undo(apart, task.parts.journal, entry, {})
    assert (outcome.result, outcome.words) == (Result.REFUSED, "this run has no access to the allocations in Placement")
    assert cards.offers == {GPU_06: 16, GPU_07: 8}


@pytest.mark.parametrize(
    ("call", "when"), [("reshaper.create", "before"), ("reshaper.reshape", "before"), ("reshaper.reshape", "after")]
)
def test_undo_reverts_a_completed_reshape_of_a_killed_heal(cards, call, when):
    """`stocktake heal` is killed; `stocktake undo` reverts its reshape only if Placement completed it."""
    cards.scheduled()
    before = cards.everything()
    heal_killed(cards.agent.config_file, RESHAPE, call, when)
    assert set(cards.children) == (set() if call == "reshaper.create" else {GPU_06, GPU_07})
    assert cards.offers == ({GPU_06: 16, GPU_07: 8} if when == "after" else {"root": 24})
    (entry,) = cards.told("journal").document
    assert (entry["result"], entry["kind"]) == ("open", "reshape")
    undone = cards.told("undo", entry["id"])
    assert (undone.code, undone.document["result"]) == ((0, "done") if when == "after" else (5, "refused"))
    assert when == "after" or "there is nothing to undo" in undone.document["words"]
    if (call, when) != ("reshaper.reshape", "before"):
        assert cards.everything() == before
    assert cards.healed().code == 4, "and then it can be done"
    assert cards.offers == {GPU_06: 16, GPU_07: 8}


def test_s156_a_reshape_deletes_the_provider_of_a_lost_gpu(cards):
    """A GPU is gone from the host; the agent empties its provider by the reshape, then deletes it."""
    cards.scheduled()
    gone = "pci_0000_08_00_0"
    child = cards.rest.make_provider(f"{cards.agent.name}_{gone}", parent=cards.root)
    cards.rest.set_inventories(child, {"VGPU": {"total": 4}})
    guests = ((cards.one, tuple(cards.mdevs)[:2]), (cards.two, tuple(cards.mdevs)[2:]))
    cards.devices(*BOTH, card_xml(gone, nvidia_11=0), guests=guests)
    bodies: list[Any] = []

    def remember(request: Any) -> None:
        if str(request.url).endswith("/reshaper"):
            bodies.append(json.loads(request.body))

    healed, adapter = carried_out(cards, remember)
    assert healed.outcome.result is Result.DONE
    (body,) = bodies
    assert body["inventories"][child]["inventories"] == {}
    methods = [(method, url.rpartition("/")[2]) for method, url in adapter.sent if method in {"POST", "DELETE"}]
    assert methods[-2:] == [("POST", "reshaper"), ("DELETE", child)]
    assert set(cards.children) == {GPU_06, GPU_07}
    (entry,) = cards.told("journal").document
    assert cards.told("undo", entry["id"]).code == 0
    assert cards.offers == {"root": 24, gone: 4}
    assert cards.children == {gone: child}


def test_heal_reports_a_provider_that_cannot_be_deleted(cards):
    """After a reshape, heal tries to delete a child provider without inventory.

    Placement refuses, because the child provider has a child provider of its own. Heal reports that the empty provider
    remains.
    """
    cards.scheduled()
    gone = "pci_0000_08_00_0"
    child = cards.rest.make_provider(f"{cards.agent.name}_{gone}", parent=cards.root)
    cards.rest.set_inventories(child, {"VGPU": {"total": 4}})
    guests = ((cards.one, tuple(cards.mdevs)[:2]), (cards.two, tuple(cards.mdevs)[2:]))
    cards.devices(*BOTH, card_xml(gone, nvidia_11=0), guests=guests)
    under = Meanwhile(lambda: cards.rest.make_provider(parent=child))
    healed, _ = carried_out(cards, on_match(1, lambda request: request.method == "DELETE", under))
    assert healed.outcome.result is Result.DONE
    assert f"{gone} has no inventory now and could not be removed" in healed.outcome.words
    assert cards.offers == {GPU_06: 16, GPU_07: 8}


def test_a_reshape_is_refused_if_a_provider_name_is_taken(cards):
    """Another provider already has the name of a child provider that the reshape would create; nothing is moved."""
    cards.scheduled()
    cards.rest.make_provider(f"{cards.agent.name}_{GPU_07}")
    healed, _ = carried_out(cards, lambda _request: None)
    assert healed.outcome.result is Result.REFUSED
    assert "nothing was moved" in healed.outcome.words
    assert cards.offers == {"root": 24}


def test_the_daemon_makes_a_reshape_only_if_configured(cards):
    """The daemon makes a reshape only if option [heal] codes contains `reshape-needed`."""
    cards.scheduled()
    cards.agent.options = {**cards.agent.options, "heal": {"min_age": 0, "enabled": True}}
    cards.agent.configure()
    with cards.agent.daemon() as daemon:
        daemon.first_audit()
        daemon.audit_now()
        daemon.audit_now()
    assert cards.offers == {"root": 24}
    named = {"min_age": 0, "enabled": True, "codes": "reshape-needed"}
    cards.agent.options = {**cards.agent.options, "heal": named}
    cards.agent.configure()
    with cards.agent.daemon() as daemon:
        report = daemon.first_audit()
        for _ in range(4):
            if report["audit"]["healed"]:
                break
            report = daemon.audit_now()
        assert [note["result"] for note in report["audit"]["healed"]] == ["done"]
        report = daemon.audit_now()
        assert "reshape-needed" not in {f["code"] for f in report["audit"]["findings"]}
    assert cards.offers == {GPU_06: 16, GPU_07: 8}


class SevHost:
    """A host source for a platform with memory encryption, which libvirt's test driver cannot simulate."""

    name = "libvirt"

    def __init__(self, node: str) -> None:
        self._facts = dataclasses.replace(encrypting(sev="Y"), hostname=node)

    def read(self, _deadline: Any) -> Any:
        return self._facts

    def forget(self) -> None:
        """Do nothing: this source caches nothing."""


@needs_all_traits()
def test_s107_a_reshape_moves_memory_encryption_to_a_child(cards):
    """A reshape moves the MEM_ENCRYPTION_CONTEXT allocations from the root to the child provider for AMD SEV."""
    sev = "HW_CPU_X86_AMD_SEV"
    cards.rest.set_inventories(cards.root, OLD | {CONTEXT: {"total": 16, "max_unit": 1}})
    cards.rest.set_traits(cards.root, OURS, "COMPUTE_NODE", sev)
    cards.allocate(cards.one, {cards.root: MOVED | {CONTEXT: 1}}, "INSTANCE")
    cards.allocate(cards.two, {cards.root: MOVED | {CONTEXT: 1}})
    before = sums(cards)
    with in_process(cards, host=SevHost(cards.agent.name)) as (task, plan):
        (healed,) = run_heal(task, plan)
        assert healed.outcome.result is Result.DONE, healed.outcome.words
        child = cards.children["amd_sev"]
        assert cards.amounts(cards.one) == {cards.root: MOVED, child: {CONTEXT: 1}}
        assert cards.amounts(cards.two) == {cards.root: MOVED, child: {CONTEXT: 1}}
        assert CONTEXT not in cards.rest.inventories(cards.root)
        assert (cards.rest.inventories(child)[CONTEXT]["total"], sums(cards)) == (16, before)
        publishing = dataclasses.replace(task.request, publish=Publish.BY_ROLE)
        run_audit(publishing, task.settings, task.parts, AuditMemory(), task.cancelled)
        assert cards.rest.traits(child) == {OURS, sev}
        assert sev not in cards.rest.traits(cards.root)
        result = run_audit(publishing, task.settings, task.parts, AuditMemory(), task.cancelled)
        assert result.report.plan.writes == ()


PF, VFS = "0000:82:00.0", ("0000:82:10.0", "0000:82:10.1", "0000:82:10.2")
PF_CLASS = "CUSTOM_PCI_8086_1515"


def hands_out(cards: Cards, *guests: str) -> None:
    """List three virtual functions of one device and the ``guests``, each of which takes the first two functions."""
    taken = "".join(
        f"<hostdev mode='subsystem' type='pci'><source>{address_xml(a)}</source></hostdev>" for a in VFS[:2]
    )
    domains = [
        domain_xml(f"g-{uuid}", domain_uuid=uuid, vcpus=FLAVOR_B.vcpus, memory_mib=FLAVOR_B.memory_mib, disks=[taken])
        for uuid in guests
    ]
    listed = node_xml(cpus=8, memory_mib=4096, domains=[*functions_xml(PF, VFS), *domains])
    (cards.agent.folder / "node.xml").write_text(listed)
    spec = json.dumps([{"vendor_id": "8086", "product_id": "1515"}])
    cards.agent.options = {"heal": {"min_age": 0}, "pci": {"device_spec": spec, "report_in_placement": True}}
    cards.agent.configure()


def test_s125_heal_adds_a_missing_pci_device_to_an_allocation(cards):
    """A guest has PCI devices that its allocation lacks; `stocktake heal` adds them to the allocation."""
    hands_out(cards, cards.one)
    cards.rest.set_inventories(cards.root, {name: offer for name, offer in OLD.items() if name != "VGPU"})
    cards.allocate(cards.one, {cards.root: MOVED, cards.other: {"VCPU": 1}}, "INSTANCE")
    before = cards.held(cards.one)
    early = cards.told("heal", "--finding", cards.finding("pci-allocation-missing")).document
    assert "yet; the agent adds this inventory in its next audit, if writes are allowed" in early["refusals"][0]["why"]
    cards.agent.agent("--once")
    finding = cards.finding("pci-allocation-missing")
    digest = cards.told("heal", "--finding", finding).document["digest"]
    with cards.rest.watched() as seen:
        done = cards.told("heal", "--finding", finding, "--plan", digest, "--yes")
    assert done.code == 4, done.document
    assert [line for line in seen if not line.startswith("GET")] == [f"PUT /allocations/{cards.one} 204"]
    child = cards.children[PF.upper()]
    assert cards.amounts(cards.one) == {cards.root: MOVED, child: {PF_CLASS: 2}, cards.other: {"VCPU": 1}}
    assert cards.held(cards.one)["consumer_type"] == "INSTANCE"
    assert "pci-allocation-missing" not in {f["code"] for f in cards.told("audit").document["findings"]}
    (entry,) = cards.told("journal").document
    assert cards.told("undo", entry["id"]).code == 0
    assert cards.held(cards.one) == before


def test_s126_without_allocations_no_pci_finding_is_reported(cards):
    """For an instance without allocations, the agent reports `allocation-missing` and not `pci-allocation-missing`."""
    hands_out(cards, cards.one)
    cards.rest.set_inventories(cards.root, {name: offer for name, offer in OLD.items() if name != "VGPU"})
    cards.agent.agent("--once")
    codes = {f["code"] for f in cards.told("audit").document["findings"]}
    assert "pci-allocation-missing" not in codes
    assert "allocation-missing" in codes
    assert cards.amounts(cards.one) == {}
