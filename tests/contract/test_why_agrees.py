"""``why`` decides as the real ``GET /allocation_candidates`` does: random requests to random trees.

A case is one request and one tree: the server is asked with the tree's own trait in
``root_required``, since its answer does not name the tree that a candidate belongs to.
STOCKTAKE_WHY_REQUESTS sets how many (10,000 by hand: three minutes).
"""

import dataclasses
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from agent.model.resource_request import OfferedProvider, OfferedWorld, ResourceRequest
from agent.model.why import Constraint, TreeAnswer
from agent.stages.why import why
from tests.rigs.placement import Rest, running
from tests.rigs.placement_world import replace_world
from tests.rigs.random_requests import SHARES, TRAITS, query_of, random_request, random_world

VERSION = "1.39"
REQUESTS = int(os.environ.get("STOCKTAKE_WHY_REQUESTS", "1000"))
REQUESTS_PER_WORLD = 20
SEED = int(os.environ.get("STOCKTAKE_WHY_SEED", "16"))
# Told by others than the engine, and what a request of a few groups never comes to.
NOT_OF_PLACEMENT = {Constraint.NO_PROVIDER, Constraint.NUMA_CELL, Constraint.HUGE_PAGES, Constraint.UNDECIDED}
# Of the requests, this share is asked of a whole world.
OF_WORLDS = 0.2
# Custom traits, one for each root of a world, by which a question is asked of one tree only.
ROOT_TRAITS = tuple(f"CUSTOM_ROOT_{number}" for number in range(8))


@dataclasses.dataclass(frozen=True)
class Case:
    """One question and both answers: of one tree, or of the whole world."""

    world: OfferedWorld
    request: ResourceRequest
    ours: tuple[TreeAnswer, ...]
    offered: list[dict]

    @property
    def is_offered(self) -> bool:
        return bool(self.offered)

    @property
    def agrees(self) -> bool:
        """Some or none alike; and every tree that a candidate takes from, but for those that share, fits."""
        fitting = {tree.root_uuid for tree in self.ours if tree.fits}
        return bool(fitting) == self.is_offered and self._roots_offered() <= fitting

    def _roots_offered(self) -> set[str]:
        """A provider that shares may serve another tree: it tells nothing of its own."""
        alone = {
            offered.provider.uuid: offered.root_uuid
            for offered in self.world.providers
            if SHARES not in offered.provider.traits
        }
        return {alone[uuid] for candidate in self.offered for uuid in candidate["allocations"] if uuid in alone}

    def __str__(self) -> str:
        lines = [f"the server offers {len(self.offered)} candidates for {query_of(self.request)}"]
        for tree in self.ours:
            says = [f"{o.constraint.value}: {o.words}" for o in tree.obstacles] or ["fits"]
            lines.append(f"  we say of {tree.root_uuid}: {'; '.join(says)}")
        return "\n".join([*lines, *(f"  {offered}" for offered in self.world.providers)])


def _mark(world: OfferedWorld) -> OfferedWorld:
    """With a trait of its own on each root."""
    roots = _roots(world)

    def mark(offered: OfferedProvider) -> OfferedProvider:
        if offered.provider.parent_uuid is not None:
            return offered
        traits = offered.provider.traits | {ROOT_TRAITS[roots.index(offered.root_uuid)]}
        return dataclasses.replace(offered, provider=dataclasses.replace(offered.provider, traits=traits))

    return dataclasses.replace(world, providers=tuple(mark(offered) for offered in world.providers))


def _roots(world: OfferedWorld) -> list[str]:
    return [offered.root_uuid for offered in world.providers if offered.provider.parent_uuid is None]


def _only(request: ResourceRequest, trait: str) -> ResourceRequest:
    return dataclasses.replace(request, root_required=request.root_required | {trait})


def _cases(rest: Rest, rng: random.Random, requests: int) -> Iterator[Case]:
    """That many, but for requests that the server refuses as bad (400): they are no requests."""
    rest.done("PUT", "/resource_classes/CUSTOM_ODD")
    for trait in (*TRAITS, *ROOT_TRAITS):
        if trait.startswith("CUSTOM_"):
            rest.done("PUT", f"/traits/{trait}")
    asked = 0
    while asked < requests:
        world = _mark(random_world(rng))
        replace_world(rest.server, world)
        for _ in range(min(REQUESTS_PER_WORLD, requests - asked)):
            case = _asked(rest, rng, world)
            if case is not None:
                asked += 1
                yield case


def _asked(rest: Rest, rng: random.Random, world: OfferedWorld) -> Case | None:
    roots = _roots(world)
    root = rng.choice(roots)
    request = random_request(rng, world, root)
    of_world = rng.random() < OF_WORLDS
    path = f"/allocation_candidates?{query_of(request if of_world else _only(request, ROOT_TRAITS[roots.index(root)]))}"
    answer = rest.request("GET", path, version=VERSION)
    if answer.status_code == 400:
        return None
    assert answer.status_code == 200, f"{path}: {answer.status_code} {answer.text}"
    ours = tuple(tree for tree in why(request, world).trees if of_world or tree.root_uuid == root)
    return Case(world, request, ours, answer.json()["allocation_requests"])


def test_it_agrees_with_the_real_placement(tmp_path: Path):
    started, counts, disagreed = time.monotonic(), Counter(), []
    with running(tmp_path / "placement") as rest:
        for case in _cases(rest, random.Random(SEED), REQUESTS):
            counts["some" if case.is_offered else "none"] += 1
            counts.update(tree.obstacles[0].constraint for tree in case.ours if not tree.fits)
            if not case.agrees:
                disagreed.append(case)
                print(case)
    print(f"{REQUESTS} requests in {time.monotonic() - started:.0f} s, {len(disagreed)} disagree; {counts}")
    assert min(counts["some"], counts["none"]) >= 0.4 * REQUESTS, counts
    assert set(Constraint) - set(counts) <= NOT_OF_PLACEMENT
    assert len(disagreed) <= 0.001 * REQUESTS, "\n".join(str(case) for case in disagreed)
