"""Execute a plan: send its writes in order, each with the generation that the previous write returned.

A write is never sent twice. A lost answer may have been a success, and a conflict means that the plan is based on an
old state. Both end the plan, and the audit reads and decides again. The error's ``applied`` lists the writes that
Placement had acknowledged before.

If Placement rejects a write permanently, only the writes that depend on it are skipped. Otherwise one bad write would
block all other writes in every audit.

A custom name exists in Placement only after a client has created it. So the writer creates custom names before their
first use, once per process.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from urllib.parse import quote

from agent.errors import (
    AuditCancelled,
    DuplicateName,
    GenerationConflict,
    InventoryInUse,
    PlacementError,
    PlacementRejected,
    ProviderElsewhere,
    ProviderInUse,
)
from agent.model.ancestry import ancestors
from agent.model.placement import Provider
from agent.model.plan import (
    Applied,
    CreateProvider,
    DeleteProvider,
    MoveProvider,
    Plan,
    PutAggregates,
    PutInventories,
    PutTraits,
    RefusedWrite,
    Write,
)
from agent.placement import wire
from agent.placement.http.client import MINIMUM, REPARENTING, PlacementClient
from agent.placement.provider_requests import conflict, delete_provider, listed, part_path, provider_path

CUSTOM = "CUSTOM_"
UNKNOWN_CLASS = re.compile(r"No such resource class \S*CUSTOM_")
UNKNOWN_TRAIT = "No such trait"
NO_PARENT = "parent provider UUID does not exist"
# Placement rejects a move with one of these texts if the tree has changed since the agent planned the move (16.0.0,
# objects/resource_provider.py).
TREE_CHANGED = re.compile(f"{NO_PARENT}|creating loop in the provider tree|(re|un)-parenting a provider")
REFUSALS = (PlacementRejected, InventoryInUse, ProviderInUse, DuplicateName, ProviderElsewhere)


@dataclass(slots=True)
class _Course:
    """The progress of one plan during one call of ``apply``.

    ``generations`` has the present generation of each provider. ``skipped`` are providers that get no further write,
    ``childless`` are providers below which no child is created, ``unmade`` are providers that were not created.
    """

    generations: dict[str, int]
    done: list[Write] = field(default_factory=list)
    refused: list[RefusedWrite] = field(default_factory=list)
    unknown_traits: set[str] = field(default_factory=set)
    skipped: set[str] = field(default_factory=set)
    childless: set[str] = field(default_factory=set)
    unmade: set[str] = field(default_factory=set)

    def leaves_out(self, write: Write) -> bool:
        """Whether to skip the write because it depends on a rejected write."""
        if isinstance(write, MoveProvider):
            return write.parent_uuid in self.unmade
        if isinstance(write, CreateProvider) and write.parent_uuid in self.childless:
            self._skip(write)
        return write.provider_uuid in self.skipped

    def refuse(self, write: Write, error: PlacementError) -> None:
        """Record a write that Placement rejects now, and will reject in every audit until an operator intervenes."""
        self.refused.append(RefusedWrite(write=write, error=error))
        if isinstance(write, MoveProvider):
            return  # The provider's other writes do not depend on the move, so they are not skipped.
        self._skip(write)

    def _skip(self, write: Write) -> None:
        self.skipped.add(write.provider_uuid)
        if isinstance(write, CreateProvider):
            self.unmade.add(write.provider_uuid)
        if isinstance(write, CreateProvider | PutInventories):
            # If this write is skipped, create no child of this provider. The plan may move a class from the provider to
            # the child. The provider keeps the class now, so both would offer the class.
            self.childless.add(write.provider_uuid)

    def applied(self, requests: int) -> Applied:
        """Return the result of the plan, with the number of requests that the plan took."""
        return Applied(
            done=tuple(self.done),
            requests=requests,
            refused=tuple(self.refused),
            unknown_traits=frozenset(self.unknown_traits),
        )


class TreeWriter:
    """Implements the protocol Reporter (agent/ports.py) over REST. Not thread-safe."""

    def __init__(self, client: PlacementClient) -> None:
        self._client = client
        self._ensured: frozenset[str] = frozenset()

    def apply(self, plan: Plan, cancelled: Callable[[], bool]) -> Applied:
        """Send the writes of ``plan``, and go on after a rejected write. Before each write, call ``cancelled``.

        Raises AuditCancelled if ``cancelled`` returned True, GenerationConflict if the caller must read and decide
        again, and other PlacementErrors. The error's ``applied`` contains the writes that succeeded before.
        """
        before = self._client.requests
        course = _Course(dict(plan.generations))
        try:
            with self._client.global_request_id():
                for write in plan.writes:
                    _stop_if(cancelled, f"stopped after {len(course.done)} of {len(plan.writes)} writes")
                    self._try(write, course)
        except (PlacementError, AuditCancelled) as error:
            error.applied = course.applied(self._client.requests - before)
            raise
        return course.applied(self._client.requests - before)

    def _try(self, write: Write, course: _Course) -> None:
        if course.leaves_out(write):
            return
        try:
            course.done.append(self._carry_out(write, course))
        except REFUSALS as error:
            if error.status is None:  # The client did not send this write, because the server is too old for it.
                raise
            course.refuse(write, error)

    def _carry_out(self, write: Write, course: _Course) -> Write:
        """Send one write and return it as it was sent: without traits that Placement does not know.

        ``course.generations`` then has the provider's new generation.
        """
        uuid = write.provider_uuid
        match write:
            case CreateProvider():
                course.generations[uuid] = self._create(write)
            case MoveProvider():
                self._move(write)
            case DeleteProvider():
                delete_provider(self._client, uuid)
            case PutInventories() | PutAggregates():
                self._put(write, course)
            case PutTraits():
                return self._put_traits(write, course)
        return write

    def _put_traits(self, write: PutTraits, course: _Course) -> PutTraits:
        """Write the traits that Placement knows: Placement rejects a whole set if one of its traits is unknown."""
        sent = _of_known(write, course)
        try:
            self._put(sent, course)
        except PlacementRejected as error:
            if UNKNOWN_TRAIT not in error.message:
                raise
            self._learn_unknown(sent, course, error)
            sent = _of_known(write, course)
            self._put(sent, course)
        return sent

    def _learn_unknown(self, write: PutTraits, course: _Course, error: PlacementRejected) -> None:
        """Find the write's traits that Placement does not know. Later writes omit the standard traits among them.

        The text of ``error`` may be cut off, so the agent asks Placement for the names of all traits.

        Raises GenerationConflict if a custom trait is unknown: the next attempt creates the trait. Raises
        GenerationConflict also if Placement knows all traits of the write by now.
        """
        missing = frozenset(write.traits) - self._client.get("/traits", MINIMUM, wire.parse_trait_names)
        standard = {name for name in missing if not name.startswith(CUSTOM)}
        course.unknown_traits |= standard
        if not missing or missing != standard:
            self._ensured = frozenset()
            raise conflict("the write needs a custom class or trait that Placement does not know yet", error) from error

    def _put(self, write: PutInventories | PutTraits | PutAggregates, course: _Course) -> None:
        try:
            course.generations[write.provider_uuid] = self._replace(write, course.generations[write.provider_uuid])
        except PlacementRejected as error:
            if error.status == 404:
                raise conflict("the provider was deleted since it was read", error) from error
            if not UNKNOWN_CLASS.search(error.message):
                raise
            # Placement does not know the class. Either another client deleted a custom class, or two threads of
            # Placement refreshed the cache of class names at once (attribute_cache.py, seen with 16 writers). In both
            # cases the next attempt creates all custom names again.
            self._ensured = frozenset()
            raise conflict("the write needs a custom class or trait that Placement does not know yet", error) from error

    def _replace(self, write: PutInventories | PutTraits | PutAggregates, generation: int) -> int:
        put, path = self._client.put, partial(part_path, write.provider_uuid)
        match write:
            case PutInventories(inventories=inventories):
                self._ensure("/resource_classes", (inventory.resource_class for inventory in inventories))
                body = wire.render_inventories(inventories, generation)
                return put(path("inventories"), MINIMUM, body, wire.parse_inventories).generation
            case PutTraits(traits=traits):
                self._ensure("/traits", traits)
                return put(
                    path("traits"), MINIMUM, wire.render_traits(traits, generation), wire.parse_traits
                ).generation
            case PutAggregates(aggregates=aggregates):
                body = wire.render_aggregates(aggregates, generation)
                return put(path("aggregates"), MINIMUM, body, wire.parse_aggregates).generation

    def _create(self, write: CreateProvider) -> int:
        """Create the provider and return its generation.

        Raises GenerationConflict, and DuplicateName or ProviderElsewhere if the name or uuid is taken (``_not_new``).
        """
        try:
            body = wire.render_provider(write)
            created = self._client.post("/resource_providers", MINIMUM, body, wire.parse_provider)
        except DuplicateName as error:
            raise self._not_new(write, error) from error
        except PlacementRejected as error:
            if NO_PARENT not in error.message:
                raise
            raise conflict("the provider's parent was deleted since the tree was read", error) from error
        return created.generation or 0

    def _not_new(self, write: CreateProvider, error: DuplicateName) -> PlacementError:
        """Return the error for a provider whose name or uuid is taken. Placement has one error code for both cases.

        - DuplicateName: only the name is taken.
        - GenerationConflict: a provider with this uuid exists in the planned place. Another client has created it.
        - ProviderElsewhere: a provider with this uuid exists in another place.

        The function looks for the uuid in Placement, because the text of Placement's answer does not say enough.
        """
        tree = {provider.uuid: provider for provider in listed(self._client, in_tree=write.provider_uuid)}
        if not tree:
            return error
        if write.parent_uuid is None or write.parent_uuid in _above(tree, write.provider_uuid):
            return conflict("another client created the provider after the agent had read the tree", error)
        return ProviderElsewhere(
            f"{_where(tree, write.provider_uuid)}: {error.message}", status=error.status, request_id=error.request_id
        )

    def _move(self, write: MoveProvider) -> None:
        """Move the provider below its new parent.

        Raises GenerationConflict if the provider was renamed, or if the tree has changed since the plan. The request
        replaces the name as well, and Placement checks no generation for name and parent. So the agent reads the name
        right before the write, and does not move a renamed provider.
        """
        path = provider_path(write.provider_uuid)
        version = REPARENTING if self._client.maximum() >= REPARENTING else MINIMUM
        try:
            standing = self._client.get(path, MINIMUM, wire.parse_provider)
            if standing.name != write.name:
                raise GenerationConflict(f"provider {write.provider_uuid} was renamed since it was read")
            self._client.put(path, version, wire.render_move(write), wire.parse_provider)
        except PlacementRejected as error:
            if error.status != 404 and not TREE_CHANGED.search(error.message):
                raise
            raise conflict("the tree was changed since it was read", error) from error

    def _ensure(self, collection: str, names: Iterable[str]) -> None:
        """Create in ``collection`` (traits or classes) those custom ``names`` that this process has not created yet."""
        for name in sorted(names):
            path = f"{collection}/{quote(name, safe='')}"
            if name.startswith(CUSTOM) and path not in self._ensured:
                self._client.put(path, MINIMUM, None, wire.nothing)
                self._ensured |= {path}


def _of_known(write: PutTraits, course: _Course) -> PutTraits:
    return replace(write, traits=tuple(name for name in write.traits if name not in course.unknown_traits))


def _stop_if(cancelled: Callable[[], bool], where: str) -> None:
    if cancelled():
        raise AuditCancelled(where)


def _above(tree: Mapping[str, Provider], uuid: str) -> tuple[str, ...]:
    return ancestors(uuid, {provider.uuid: provider.parent_uuid for provider in tree.values()})


def _where(tree: Mapping[str, Provider], uuid: str) -> str:
    """Return a sentence that says where the provider is; ``tree`` is the tree that contains the provider."""
    standing, above = tree[uuid], _above(tree, uuid)
    if standing.parent_uuid is None:
        return f"provider {uuid} exists already: its name is {standing.name}, and it has no parent"
    at = tree[above[-1]] if above else standing
    return f"provider {uuid} exists already: its name is {standing.name}, in the tree of {at.name} ({at.uuid})"
