"""The agent turns any existing forest into any wanted tree while another client writes between its requests.

A case is a forest, a wanted tree and a stranger (tests/rigs/strangers.py), all drawn from one seed; Placement is real.
At the end Placement must have all that the stranger wrote of what is not the agent's. Of what is the agent's,
Placement must have what is wanted, except what the last plan held back or the writer reported as refused. A further
round then writes nothing. ``STOCKTAKE_TREE_CASES`` sets the number of cases (20), ``STOCKTAKE_TREE_SEED`` the first
seed. In one case of four the server is older: its newest microversion is 1.36.

The stranger never renames one of the agent's providers between the agent's GET and the PUT that moves the provider.
No client can guard against that: the PUT replaces the name, and it carries no generation.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from agent.errors import DuplicateName, GenerationConflict, ProviderInUse
from agent.model.books import DesiredProvider, DesiredTree
from agent.model.placement import Inventory, ProviderKey
from agent.model.plan import Applied, CreateProvider, DeleteProvider, Plan
from agent.placement.detached_trees import BesideReader
from agent.placement.http.client import PlacementClient
from agent.placement.reader import TreeReader
from agent.placement.writer import TreeWriter
from agent.provider_tree.diff import diff
from tests.rigs.faults import Answer, Fault, Meanwhile, ScriptedAdapter
from tests.rigs.placement import Rest, client_of, looking_at
from tests.rigs.strangers import OUR_CLASSES, OUR_TRAITS, SHARES, Stranger, name_of, stands_below

CASES = int(os.environ.get("STOCKTAKE_TREE_CASES", "20"))
FIRST = int(os.environ.get("STOCKTAKE_TREE_SEED", "0"))
ROUNDS = 60
OLDER = Answer(200, b'{"versions":[{"id":"v1.0","max_version":"1.36"}]}')
A_PROVIDER = re.compile(r"/resource_providers/([0-9a-f-]{36})")
A_MOVE = re.compile(r"/resource_providers/[^/]+$")


class Interleaved:
    """A script for ``ScriptedAdapter``: the stranger may act before any of the agent's requests, a few times in all."""

    def __init__(self, max_version: Answer | None) -> None:
        self._max_version = max_version
        self.stranger: Stranger | None = None
        self.left = 0
        self.acted = False

    def __call__(self, request: requests.PreparedRequest) -> Fault | None:
        url = str(request.url)
        if self._max_version is not None and "/resource_providers" not in url and url.endswith("/"):
            return self._max_version
        stranger = self.stranger
        if stranger is None or self.left <= 0 or stranger.dice.random() > (0.05 if request.method == "GET" else 0.25):
            return None
        self.left -= 1
        self.acted = True
        is_move = request.method == "PUT" and A_MOVE.search(url) is not None
        named = A_PROVIDER.search(url)
        stranger.near = named[1] if named else None
        return Meanwhile(lambda: stranger.act(may_rename_ours=not is_move))


@dataclass
class Client:
    """The agent's reader and writer as the agent builds them; ``reparents``: whether the server can move providers."""

    script: Interleaved
    reader: TreeReader
    beside: BesideReader
    writer: TreeWriter
    reparents: bool

    @classmethod
    def of(cls, folder: Path, rest: Rest, max_version: Answer | None) -> Client:
        script = Interleaved(max_version)
        client: PlacementClient = client_of(folder, rest.server.url, ScriptedAdapter(script))
        assert client.maximum() == ((1, 36) if max_version else (1, 39))
        return cls(script, TreeReader(client), BesideReader(client), TreeWriter(client), max_version is None)

    def round(self, tree: DesiredTree) -> tuple[Plan, Applied]:
        """Read, decide and write once. Raises GenerationConflict."""
        uuids = (*(provider.uuid for provider in tree.providers), *tree.obsolete)
        view = self.reader.view(looking_at(tree.root.uuid, fresh_allocations=True, consumer_reads=0))
        plan = diff(tree, self.beside.read(view, uuids))
        return plan, self.writer.apply(plan, lambda: False)


@dataclass(frozen=True)
class Case:
    """The wanted tree, and the stranger that writes at the same time."""

    tree: DesiredTree
    stranger: Stranger


def new_case(rest: Rest, seed: int) -> Case:
    """Return a case: up to 12 providers of the agent, existing or not, in the tree or beside it, and up to 4 others."""
    dice = random.Random(seed)
    stranger = Stranger(rest=rest, dice=dice)
    ours = [stranger.new_uuid() for _ in range(dice.choice((1, 2, 3, 4, 5, 8, 12)))]
    fates = {one: dice.choice(("new", "both", "both", "obsolete")) for one in ours}
    fates[ours[0]] = dice.choice(("new", "both", "both", "both"))
    aggregates = (stranger.new_uuid(), stranger.new_uuid())
    tree = wanted_tree(dice, [one for one in ours if fates[one] != "obsolete"], aggregates)
    obsolete = tuple(one for one in ours if fates[one] == "obsolete")
    stranger.ours, stranger.obsolete, stranger.our_aggregates = map(frozenset, (ours, obsolete, aggregates))
    stranger.taken_names = tuple(name_of(one) for one in ours[1:] if fates[one] == "new")
    settle(stranger, [one for one in ours if fates[one] != "new"])
    return Case(DesiredTree(providers=tree.providers, obsolete=obsolete), stranger)


def settle(stranger: Stranger, standing: list[str]) -> None:
    """Make the ``standing`` providers and some others, in any forest, with a few consumers."""
    dice = stranger.dice
    standing = standing + [stranger.new_uuid() for _ in range(dice.randint(0, 4))]
    dice.shuffle(standing)
    for number, one in enumerate(standing):
        parent = dice.choice(standing[:number]) if number and dice.random() < 0.8 else None
        stranger.make(one, name_of(one), parent)
    parents = stranger.parents()
    for _ in range(dice.randint(0, 4) if parents else 0):
        stranger.take(parents)


def wanted_tree(dice: random.Random, uuids: list[str], aggregates: tuple[str, str]) -> DesiredTree:
    """Return a wanted tree: some providers are sharing roots, the others stand anywhere below the first."""
    below = [uuids[0]]
    providers = []
    for number, one in enumerate(uuids):
        is_sharing = number > 0 and dice.random() < 0.15
        parent = None if is_sharing or not number else dice.choice(below)
        below += [] if is_sharing or not number else [one]
        providers.append(wanted(dice, one, parent, aggregates, is_sharing=is_sharing))
    return DesiredTree(providers=tuple(providers))


def wanted(
    dice: random.Random, one: str, parent: str | None, aggregates: tuple[str, str], *, is_sharing: bool
) -> DesiredProvider:
    classes = sorted(dice.sample(OUR_CLASSES, dice.randint(0, 3)))
    traits = {"CUSTOM_OWNER_STOCKTAKE", *dice.sample(("HW_CPU_X86_AVX", "COMPUTE_NODE"), dice.randint(0, 2))}
    traits |= {SHARES} if is_sharing else set()
    member_of = set(dice.sample(aggregates, 1 if is_sharing else dice.randint(0, 1)))
    return DesiredProvider(
        key=ProviderKey("any", one),
        uuid=one,
        name=name_of(one),
        parent_uuid=parent,
        inventories=tuple(Inventory(resource_class=name, total=dice.randint(4, 9)) for name in classes),
        owned_classes=frozenset(OUR_CLASSES),
        traits_wanted=frozenset(traits),
        traits_unwanted=frozenset(OUR_TRAITS) - traits,
        aggregates_wanted=frozenset(member_of),
        aggregates_unwanted=frozenset(aggregates) - member_of,
    )


def settled(client: Client, case: Case, tally: Counter[str]) -> tuple[Plan, Applied]:
    """Run rounds until one writes nothing and the stranger did not act in it; return its plan and result."""
    for _ in range(ROUNDS):
        client.script.acted = False
        try:
            plan, applied = client.round(case.tree)
        except GenerationConflict as error:
            tally["conflicts"] += 1
            done = error.applied.done if isinstance(error.applied, Applied) else ()
            tally.update(type(write).__name__ for write in done)
            continue
        tally.update(type(write).__name__ for write in applied.done)
        tally["rounds"] += 1
        if not applied.done and not client.script.acted:
            return plan, applied
    raise AssertionError(f"no end after {ROUNDS} rounds")


@dataclass(frozen=True)
class Found:
    """What Placement has of one provider, read by the test's own client."""

    name: str
    parent: str | None
    classes: dict[str, dict[str, Any]]
    traits: set[str]
    aggregates: set[str]


def found(stranger: Stranger) -> dict[str, Found | None]:
    """Return the agent's providers (None where missing) and all providers the stranger wrote to."""
    parents, rest = stranger.parents(), stranger.rest
    names = {one: rest.done("GET", f"/resource_providers/{one}")["name"] for one in parents}
    standing = {
        one: Found(names[one], parent, rest.inventories(one), rest.traits(one), rest.aggregates(one))
        for one, parent in parents.items()
    }
    return {one: standing.get(one) for one in {*stranger.ours, *parents}}


def strangers_find_all_that_they_wrote(case: Case, now: dict[str, Found | None]) -> None:
    stranger = case.stranger
    for one, book in stranger.books.items():
        standing = now[one]
        assert standing is not None
        assert standing.name == book.name
        is_ours = one in stranger.ours
        if not is_ours:
            assert standing.parent == book.parent
        classes = {n: r for n, r in standing.classes.items() if not (is_ours and n in OUR_CLASSES)}
        assert classes == book.classes
        assert standing.traits - set(OUR_TRAITS if is_ours else ()) == book.traits
        aggregates = stranger.our_aggregates if is_ours else frozenset()
        assert standing.aggregates - aggregates == book.aggregates
    for consumer, held in stranger.holdings.items():
        answer = stranger.rest.done("GET", f"/allocations/{consumer}")["allocations"]
        assert {one: record["resources"] for one, record in answer.items()} == held


@dataclass(frozen=True)
class Told:
    """What the last round left undone and reported."""

    held: frozenset[tuple[str, str]]
    refused: dict[str, tuple[type, type]]

    def excuses(self, one: str, what: str, tree: DesiredTree) -> bool:
        """Return whether ``what`` was held back, or depends on a provider whose creation was refused."""
        parents = {provider.uuid: provider.parent_uuid for provider in tree.providers}
        unmade = {refused for refused, (write, _) in self.refused.items() if write is CreateProvider}
        return (one, what) in self.held or any(stands_below(one, above, parents) for above in unmade)


def told_by(plan: Plan, applied: Applied) -> Told:
    held = frozenset((held.provider_uuid, held.what) for held in plan.held_back)
    return Told(held, {r.write.provider_uuid: (type(r.write), type(r.error)) for r in applied.refused})


def ours_is_as_wanted(case: Case, now: dict[str, Found | None], told: Told) -> None:
    for wanted in case.tree.providers:
        standing = now[wanted.uuid]
        if standing is None:
            assert told.excuses(wanted.uuid, "create", case.tree)
            continue
        assert standing.parent == wanted.parent_uuid or told.excuses(wanted.uuid, "new parent", case.tree)
        for name in OUR_CLASSES:
            expected = wanted.inventory(name)
            if expected is None:
                assert name not in standing.classes or (wanted.uuid, name) in told.held
            else:
                assert standing.classes[name]["total"] == expected.total
                assert standing.classes[name]["allocation_ratio"] == expected.allocation_ratio
        assert standing.traits & set(OUR_TRAITS) == wanted.traits_wanted
        assert standing.aggregates & case.stranger.our_aggregates == wanted.aggregates_wanted
    for one in case.tree.obsolete:
        assert now[one] is None or (one, "delete") in told.held or told.refused.get(one, ())[:1] == (DeleteProvider,)


def nothing_is_held_back_without_need(case: Case, now: dict[str, Found | None], told: Told, *, reparents: bool) -> None:
    """Check that everything left undone could not be done."""
    children = {standing.parent for standing in now.values() if standing is not None}
    for one, what in told.held:
        if what == "delete":
            assert case.stranger.holders(one) or one in children
        elif what == "new parent":
            assert not reparents
        else:
            assert what in OUR_CLASSES
            assert case.stranger.holders(one, what)
    for one, refusal in told.refused.items():
        assert refusal in {(CreateProvider, DuplicateName), (DeleteProvider, ProviderInUse)}
        if refusal[0] is CreateProvider:
            assert name_of(one) in {book.name for book in case.stranger.books.values()}
        else:
            assert one in children


def run_case(rest: Rest, client: Client, seed: int, tally: Counter[str]) -> None:
    case = new_case(rest, seed)
    client.script.stranger, client.script.left = case.stranger, case.stranger.dice.choice((0, 3, 6, 10))
    plan, applied = settled(client, case, tally)
    client.script.stranger = None
    tally.update(f"stranger {name}" for name in case.stranger.done.elements())
    now = found(case.stranger)
    told = told_by(plan, applied)
    tally.update(f"held {what if what in ('delete', 'new parent', 'create') else 'class'}" for _, what in told.held)
    tally.update(f"refused {write.__name__} {error.__name__}" for write, error in told.refused.values())
    strangers_find_all_that_they_wrote(case, now)
    ours_is_as_wanted(case, now, told)
    nothing_is_held_back_without_need(case, now, told, reparents=client.reparents)
    _, once_more = client.round(case.tree)
    assert once_more.done == ()


# The least number of times each must happen in a hundred cases; with fewer the cases prove little.
AT_LEAST = {
    "CreateProvider": 60,
    "MoveProvider": 80,
    "PutInventories": 200,
    "PutTraits": 200,
    "PutAggregates": 100,
    "DeleteProvider": 30,
    "conflicts": 25,
    "held class": 10,
    "held delete": 10,
    "held new parent": 10,
}


def test_writes_of_random_trees_keep_other_clients_data(rest, tmp_path, capsys):
    """The agent writes random provider trees to Placement, and keeps what another client writes in the meantime."""
    Stranger(rest, random.Random()).register()
    newest, older = Client.of(tmp_path, rest, None), Client.of(tmp_path, rest, OLDER)
    tally: Counter[str] = Counter()
    began = time.monotonic()
    for seed in range(FIRST, FIRST + CASES):
        try:
            run_case(rest, older if seed % 4 == 3 else newest, seed, tally)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error
        if (seed - FIRST) % 25 == 24:
            with capsys.disabled():
                cases, took_s = seed - FIRST + 1, time.monotonic() - began
                print(f"\n{cases} of {CASES} cases in {took_s:.0f} s: {dict(sorted(tally.items()))}")
    if CASES >= 50:
        assert {what for what, least in AT_LEAST.items() if tally[what] < least * CASES // 100} == set()
