"""Random worlds of providers and random requests to them, near the edge: about as many requests fit as do not.

A request is derived from one tree of the world, so that most requests fit. Then every fourth request is changed in one
thing. The given ``random.Random`` decides everything.
"""

import dataclasses
import random
import uuid as uuids
from collections.abc import Sequence

from agent.model.placement import MAX_UNIT_DEFAULT, Inventory, Provider
from agent.model.resource_request import OfferedProvider, OfferedProviders, RequestGroup, ResourceRequest

CLASSES = ("VCPU", "MEMORY_MB", "DISK_GB", "SRIOV_NET_VF", "CUSTOM_ODD")
TRAITS = ("CUSTOM_A", "CUSTOM_B", "CUSTOM_C", "HW_CPU_X86_AVX2")
SHARES = "MISC_SHARES_VIA_AGGREGATE"
# 0.1 + 0.2 is not 0.3: products with these ratios come out just above or just below a whole number.
RATIOS = (1.0, 1.0, 1.0, 0.1, 0.3, 0.7, 1.1, 1.4, 2.3, 2.9, 4.35, 16.0, 1 / 3)
SUFFIXES = ("1", "_PORT", "-b", "x9")


def random_world(rng: random.Random) -> OfferedProviders:
    """Return one to three trees of at most 12 providers and up to two sharing providers, all with their usage.

    Children never share: Placement 16.0.0 answers 500 to that (tests/contract/test_why_agrees.py).
    """
    aggregates = [_uuid(rng) for _ in range(3)]
    providers: list[OfferedProvider] = []
    for _ in range(rng.randint(1, 3)):
        providers += _tree(rng, aggregates)
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        providers += _sharing(rng, aggregates)
    return OfferedProviders(providers=tuple(providers), is_whole=True)


def _uuid(rng: random.Random) -> str:
    return str(uuids.UUID(int=rng.getrandbits(128), version=4))


def _some(rng: random.Random, values: Sequence[str], chance: float) -> frozenset[str]:
    return frozenset(value for value in values if rng.random() < chance)


def _tree(rng: random.Random, aggregates: Sequence[str]) -> list[OfferedProvider]:
    root = _uuid(rng)
    uuids_so_far = [root]
    found = [_offered(rng, root, None, root, aggregates, CLASSES[:3] if rng.random() < 0.7 else CLASSES)]
    for _ in range(rng.choice((0, 1, 2, 2, 3, 4, 5, 6, 11))):
        uuid = _uuid(rng)
        parent = rng.choice(uuids_so_far)
        found.append(_offered(rng, uuid, parent, root, aggregates, CLASSES))
        uuids_so_far.append(uuid)
    return found


def _sharing(rng: random.Random, aggregates: Sequence[str]) -> list[OfferedProvider]:
    root = _uuid(rng)
    found = [_shared(_offered(rng, root, None, root, aggregates, ("DISK_GB", "CUSTOM_ODD")))]
    if rng.random() < 0.2:
        found.append(_offered(rng, _uuid(rng), root, root, aggregates, CLASSES))
    return found


def _shared(offered: OfferedProvider) -> OfferedProvider:
    provider = offered.provider
    return dataclasses.replace(offered, provider=dataclasses.replace(provider, traits=provider.traits | {SHARES}))


def _offered(
    rng: random.Random,
    uuid: str,
    parent: str | None,
    root: str,
    aggregates: Sequence[str],
    classes: Sequence[str],
) -> OfferedProvider:
    inventories = tuple(_inventory(rng, name) for name in sorted(_some(rng, classes, 0.6)))
    used = tuple((i.resource_class, _used(rng, i)) for i in inventories if rng.random() < 0.5)
    provider = Provider(
        uuid=uuid,
        name=f"p-{uuid}",
        parent_uuid=parent,
        generation=None,
        inventories=inventories,
        traits=_some(rng, TRAITS, 0.4),
        aggregates=_some(rng, aggregates, 0.35),
    )
    return OfferedProvider(provider=provider, root_uuid=root, used=tuple(pair for pair in used if pair[1]))


def _inventory(rng: random.Random, resource_class: str) -> Inventory:
    total = rng.choice((1, 3, 7, 8, 10, 48, 64, 100, 512))
    min_unit = rng.choice((1, 1, 1, 1, 2, 3))
    return Inventory(
        resource_class=resource_class,
        total=total,
        reserved=rng.choice((0, 0, 0, 1, total // 3, total)),
        min_unit=min_unit,
        max_unit=max(min_unit, rng.choice((MAX_UNIT_DEFAULT, MAX_UNIT_DEFAULT, total, total, max(1, total // 2)))),
        step_size=rng.choice((1, 1, 1, 1, 2, 3)),
        allocation_ratio=rng.choice(RATIOS),
    )


def _used(rng: random.Random, inventory: Inventory) -> int:
    """Return a usage: mostly within capacity, sometimes more, as after a lowered capacity."""
    capacity = int(inventory.capacity)
    return (
        rng.choice((capacity // 2, capacity // 3, capacity - 1, 1, capacity + 3)) if capacity > 0 else rng.randint(0, 2)
    )


def random_request(rng: random.Random, world: OfferedProviders, root_uuid: str) -> ResourceRequest:
    """Return a request that the tree of ``root_uuid`` satisfies, or narrowly fails to satisfy."""
    tree = [offered for offered in world.providers if offered.root_uuid == root_uuid]
    reach = tree + [o for o in world.providers if o.root_uuid != root_uuid and SHARES in o.provider.traits]
    granular = rng.choice((0, 0, 0, 1, 1, 2, 2, 3)) if len(reach) < 10 else rng.choice((0, 0, 1, 2))
    groups = [_granular(rng, suffix, tree if rng.random() < 0.8 else reach) for suffix in SUFFIXES[:granular]]
    if not any(group.resources for group in groups) or rng.random() < 0.6:
        groups.insert(rng.randint(0, len(groups)), _unnumbered(rng, tree if rng.random() < 0.6 else reach, tree[0]))
    groups = [group for group in groups if group.resources or group.suffix]
    groups = groups or [RequestGroup(resources=(("VCPU", 1),))]
    subtrees = _same_subtree(rng, [group.suffix for group in groups if group.suffix])
    resourceless = {group.suffix for group in groups if not group.resources} - {s for names in subtrees for s in names}
    if resourceless:
        subtrees = (*subtrees, frozenset(resourceless))
    root = tree[0].provider
    request = ResourceRequest(
        groups=tuple(groups),
        group_policy=_policy(rng, groups),
        root_required=frozenset(rng.sample(sorted(root.traits), 1))
        if root.traits and rng.random() < 0.15
        else frozenset(),
        root_forbidden=_some(rng, sorted(set(TRAITS) - root.traits), 0.1),
        same_subtree=subtrees,
    )
    return _spoilt(rng, request, world) if rng.random() < 0.25 else request


def _policy(rng: random.Random, groups: Sequence[RequestGroup]) -> str | None:
    """Return a group policy, mostly "none" if the unnumbered group and another group want the same class.

    With other policies the server then adds up amounts of unrelated choices (tests/contract/test_why_agrees.py pins
    it).
    """
    classes = [{name for name, _ in group.resources} for group in groups]
    unnumbered = set().union(*(asked for group, asked in zip(groups, classes, strict=True) if not group.suffix))
    overlaps = any(asked & unnumbered for group, asked in zip(groups, classes, strict=True) if group.suffix)
    if overlaps and rng.random() < 0.9:
        return "none"
    if sum(bool(group.suffix) for group in groups) > 1:
        return rng.choice(("none", "isolate"))
    return rng.choice((None, "none", "none", "none"))


def _same_subtree(rng: random.Random, suffixes: list[str]) -> tuple[frozenset[str], ...]:
    if len(suffixes) < 2 or rng.random() < 0.6:
        return ()
    return (frozenset(rng.sample(suffixes, rng.randint(2, len(suffixes)))),)


def _amount(rng: random.Random, offered: OfferedProvider, inventory: Inventory) -> int:
    """Return an amount: exactly the free amount, one more or less, a limit, or a small amount."""
    room = int(inventory.capacity) - offered.used_of(inventory.resource_class)
    edge = min(room, inventory.max_unit)
    edge -= edge % inventory.step_size
    least = -(-inventory.min_unit // inventory.step_size) * inventory.step_size
    roll = rng.random()
    if roll < 0.06:
        wanted = edge + 1
    elif roll < 0.1:
        wanted = rng.choice((inventory.max_unit + 1, inventory.min_unit - 1, edge - 1, room))
    elif roll < 0.4:
        wanted = edge
    else:
        wanted = least
    return wanted if 1 <= wanted < MAX_UNIT_DEFAULT else max(least, 1)


def _takable(rng: random.Random, providers: Sequence[OfferedProvider]) -> list[tuple[OfferedProvider, Inventory]]:
    """Return all inventories that a request may use in random order, those with free capacity first."""
    found = [(offered, inventory) for offered in providers for inventory in offered.provider.inventories]
    rng.shuffle(found)
    return sorted(found, key=lambda pair: pair[1].capacity - pair[0].used_of(pair[1].resource_class) < pair[1].min_unit)


def _unnumbered(rng: random.Random, reach: Sequence[OfferedProvider], root: OfferedProvider) -> RequestGroup:
    asked: dict[str, tuple[OfferedProvider, int]] = {}
    for offered, inventory in _takable(rng, reach)[: rng.choice((1, 1, 2, 2, 3))]:
        asked.setdefault(inventory.resource_class, (offered, _amount(rng, offered, inventory)))
    givers = [offered for offered, _ in asked.values()] or [root]
    return _filtered(
        rng,
        RequestGroup(resources=tuple(sorted((name, amount) for name, (_, amount) in asked.items()))),
        frozenset().union(*(giver.provider.traits for giver in givers)),
        (root if rng.random() < 0.5 else givers[0]).provider.aggregates,
        root.provider.uuid,
    )


def _granular(rng: random.Random, suffix: str, reach: Sequence[OfferedProvider]) -> RequestGroup:
    takable = _takable(rng, reach)
    if not takable or rng.random() < 0.08:
        offered, resources = rng.choice(reach), {}
    else:
        offered = takable[0][0]
        own = [inventory for giver, inventory in takable if giver is offered]
        chosen = own[: rng.choice((1, 1, 1, 2))]
        resources = {i.resource_class: _amount(rng, offered, i) for i in chosen}
    group = RequestGroup(suffix=suffix, resources=tuple(sorted(resources.items())))
    if not resources:
        group = dataclasses.replace(group, in_tree=offered.root_uuid) if rng.random() < 0.3 else group
    filtered = _filtered(rng, group, offered.provider.traits, offered.provider.aggregates, offered.root_uuid)
    if filtered == RequestGroup(suffix=suffix):
        return dataclasses.replace(filtered, required=(frozenset({rng.choice(TRAITS)}),))
    return filtered


def _filtered(
    rng: random.Random, group: RequestGroup, traits: frozenset[str], aggregates: frozenset[str], root_uuid: str
) -> RequestGroup:
    """Return the group with filters that providers with ``traits`` and ``aggregates`` satisfy."""
    own = sorted(traits & set(TRAITS))
    required = [
        frozenset({rng.choice(own)}) | _some(rng, TRAITS, rng.choice((0, 0.3))) for _ in own if rng.random() < 0.2
    ]
    forbidden = _some(rng, sorted(set(TRAITS) - traits), 0.15)
    member_of = [frozenset({a}) for a in sorted(aggregates) if rng.random() < 0.2]
    forbidden_aggregates = frozenset({_uuid(rng)}) if rng.random() < 0.05 else frozenset()
    return dataclasses.replace(
        group,
        required=tuple(choice for choice in required if choice - forbidden),
        forbidden=forbidden,
        member_of=tuple(member_of),
        forbidden_aggregates=forbidden_aggregates,
        in_tree=root_uuid if rng.random() < 0.08 else group.in_tree,
    )


def _spoilt(rng: random.Random, request: ResourceRequest, world: OfferedProviders) -> ResourceRequest:
    """Return the request with one change that mostly makes it harder to satisfy."""
    number = rng.randrange(len(request.groups))
    group = request.groups[number]
    known = sorted({a for offered in world.providers for a in offered.provider.aggregates}) or [_uuid(rng)]
    trait, aggregate = rng.choice(TRAITS), rng.choice(known)
    changes = [
        lambda: {"required": (*group.required, frozenset({trait}))} if trait not in group.forbidden else {},
        lambda: (
            {"forbidden": group.forbidden | {trait}}
            if all(c - group.forbidden - {trait} for c in group.required)
            else {}
        ),
        lambda: {"member_of": (*group.member_of, frozenset(rng.sample(known, min(len(known), rng.randint(1, 2)))))},
        lambda: {"forbidden_aggregates": frozenset({aggregate})},
        lambda: {"in_tree": rng.choice(world.providers).provider.uuid},
        lambda: {"in_tree": _uuid(rng)},
        lambda: {"resources": tuple((name, amount * rng.choice((2, 3))) for name, amount in group.resources)},
    ]
    changed = dataclasses.replace(group, **rng.choice(changes)())
    groups = (*request.groups[:number], changed, *request.groups[number + 1 :])
    return dataclasses.replace(request, groups=groups)


def query_of(request: ResourceRequest) -> str:
    """Return the request as a query of ``GET /allocation_candidates``, from 1.39."""
    pairs: list[tuple[str, str]] = []
    for group in request.groups:
        end = group.suffix
        if group.resources:
            pairs.append((f"resources{end}", ",".join(f"{name}:{amount}" for name, amount in group.resources)))
        pairs += [(f"required{end}", "in:" + ",".join(sorted(choice))) for choice in group.required]
        if group.forbidden:
            pairs.append((f"required{end}", ",".join(f"!{trait}" for trait in sorted(group.forbidden))))
        pairs += [(f"member_of{end}", "in:" + ",".join(sorted(choice))) for choice in group.member_of]
        if group.forbidden_aggregates:
            pairs.append((f"member_of{end}", "!in:" + ",".join(sorted(group.forbidden_aggregates))))
        if group.in_tree:
            pairs.append((f"in_tree{end}", group.in_tree))
    if request.group_policy:
        pairs.append(("group_policy", request.group_policy))
    root = [*sorted(request.root_required), *(f"!{trait}" for trait in sorted(request.root_forbidden))]
    if root:
        pairs.append(("root_required", ",".join(root)))
    pairs += [("same_subtree", ",".join(sorted(suffixes))) for suffixes in request.same_subtree]
    return "&".join(f"{key}={value}" for key, value in pairs)
