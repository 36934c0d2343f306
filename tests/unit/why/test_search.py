"""The bounded search finds what an exhaustive search finds, and ends where an exhaustive search never would."""

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from agent.model.placement import Inventory, Provider
from agent.model.resource_request import OfferedProvider, RequestGroup
from agent.why.candidates import Slot
from agent.why.search import MAX_STEPS, Problem, Rule, SearchResult, contested_classes, search

SUFFIXES = ("", "", "1", "2", "3", "4")


def offered(number, parent, room, traits=()):
    """Return a provider; a negative ``room`` means that more of the class is used than offered."""
    stock = tuple(Inventory(resource_class=name, total=max(total, 0)) for name, total in zip("XY", room, strict=True))
    provider = Provider(
        uuid=f"p{number}",
        name=f"p{number}",
        parent_uuid=parent,
        generation=0,
        inventories=stock,
        traits=frozenset(traits),
    )
    used = tuple((name, -left) for name, left in zip("XY", room, strict=True) if left < 0)
    return OfferedProvider(provider=provider, root_uuid="p0", used=used)


def random_problem(rng: random.Random) -> Problem:
    """Return a problem with few kinds of providers and parts, so that many are equal."""
    kinds = [((rng.randint(-2, 4), rng.randint(-2, 4)), rng.sample("ABC", rng.randint(0, 2))) for _ in range(3)]
    providers = [
        offered(number, None if number == 0 else f"p{rng.randrange(number)}", *rng.choice(kinds))
        for number in range(rng.randint(1, 5))
    ]
    slots = []
    unnumbered = RequestGroup()
    for suffix in rng.sample(SUFFIXES, rng.randint(1, 5)):
        amounts = tuple((name, rng.randint(1, 3)) for name in rng.choice(("X", "Y", "XY")))
        domain = tuple(p for p in providers if rng.random() < 0.8) if rng.random() < 0.5 else tuple(providers)
        slots.append(Slot(group=RequestGroup(suffix=suffix) if suffix else unnumbered, amounts=amounts, domain=domain))
    suffixes = sorted({slot.group.suffix for slot in slots} - {""})
    subtrees = tuple(frozenset(rng.sample(suffixes, rng.randint(1, len(suffixes)))) for _ in range(2) if suffixes)
    has_unnumbered = any(not slot.is_granular for slot in slots)
    return Problem(
        slots=tuple(slots),
        rules=frozenset(rule for rule in Rule if rng.random() < 0.6 and (rule is not Rule.TRAITS or has_unnumbered)),
        required=tuple(frozenset(rng.sample("ABC", rng.randint(1, 2))) for _ in range(rng.randint(0, 2))),
        same_subtree=subtrees,
        parent_of={p.provider.uuid: p.provider.parent_uuid for p in providers},
    )


def is_kept(problem: Problem, chosen: tuple[OfferedProvider, ...]) -> bool:
    """Return whether one complete choice keeps every rule."""
    served = list(zip(problem.slots, chosen, strict=True))
    granular = [o.provider.uuid for slot, o in served if slot.is_granular]
    taken: dict[tuple[str, str], int] = {}
    for slot, one in served:
        for name, amount in slot.amounts:
            if name in contested_classes(problem.slots):
                taken[one.provider.uuid, name] = taken.get((one.provider.uuid, name), 0) + amount
    totals = {(o.provider.uuid, i.resource_class): i.total for _, o in served for i in o.provider.inventories}
    traits = frozenset().union(*(o.provider.traits for slot, o in served if not slot.is_granular))
    kept = {
        Rule.SUMS: all(amount <= totals[key] for key, amount in taken.items()),
        Rule.TRAITS: all(choice & traits for choice in problem.required),
        Rule.ISOLATE: len(set(granular)) == len(granular),
        Rule.SAME_SUBTREE: all(
            is_one_subtree({o.provider.uuid for slot, o in served if slot.group.suffix in suffixes}, problem)
            for suffixes in problem.same_subtree
        ),
    }
    return all(kept[rule] for rule in problem.rules)


def is_one_subtree(uuids: set[str], problem: Problem) -> bool:
    def above(uuid):
        while uuid is not None:
            yield uuid
            uuid = problem.parent_of[uuid]

    return any(all(top in above(uuid) for uuid in uuids) for top in uuids)


@given(st.integers(0, 2**32))
def test_the_search_finds_what_an_exhaustive_search_finds(seed):
    """`stocktake why` searches providers for a request.

    Its short search has the same result as trying all combinations.
    """
    rng = random.Random(seed)
    for _ in range(10):
        problem = random_problem(rng)
        fits = any(is_kept(problem, chosen) for chosen in itertools.product(*(slot.domain for slot in problem.slots)))
        assert search(problem) is (SearchResult.FITS if fits else SearchResult.REFUSED), problem


def test_many_random_requests_fit_and_many_do_not():
    """Of the 400 random requests for the tests of the search, at least 80 fit and at least 80 do not fit."""
    rng = random.Random(3)
    found = [search(random_problem(rng)) for _ in range(400)]
    assert min(found.count(SearchResult.FITS), found.count(SearchResult.REFUSED)) >= 80


def problem_of(rooms: list[int], amounts: list[int], *rules: Rule) -> Problem:
    providers = tuple(offered(number, None, (room, 0)) for number, room in enumerate(rooms))
    return Problem(
        slots=tuple(
            Slot(group=RequestGroup(suffix=str(number)), amounts=(("X", amount),), domain=providers)
            for number, amount in enumerate(amounts)
        ),
        rules=frozenset(rules),
        parent_of={p.provider.uuid: None for p in providers},
    )


def test_the_search_skips_equivalent_combinations():
    """17 equal request groups do not fit on 16 equal providers.

    `stocktake why` finds this without trying all combinations.
    """
    # An exhaustive search would try 16 ** 17 choices.
    assert search(problem_of([3] * 16, [2] * 17, Rule.SUMS)) is SearchResult.REFUSED
    assert search(problem_of([3] * 16, [2] * 17, Rule.ISOLATE)) is SearchResult.REFUSED
    assert search(problem_of([3] * 16, [2] * 16, Rule.SUMS, Rule.ISOLATE)) is SearchResult.FITS


def test_the_search_is_undecided_at_its_step_limit():
    """The search of `stocktake why` stops after a fixed number of steps and then has the result "undecided"."""
    rng = random.Random(16)
    rooms = [rng.randint(100, 200) for _ in range(12)]
    shares = [rng.uniform(0.5, 1.5) for _ in range(24)]
    amounts = [int(share * (sum(rooms) - 5) / sum(shares)) for share in shares]
    assert search(problem_of(rooms, amounts, Rule.SUMS)) is SearchResult.UNDECIDED
    assert MAX_STEPS < 10_000
