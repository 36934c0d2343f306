"""Lives of the model cloud for light reads: after each audit, compare its state with that of a full read.

The audit is the part that reads the state: the agent's own read_state, light_or_full and ConductorState. The other
sources say as little as possible: libvirt's guests never change, no finding rests on the state, no full read is due,
and on every other host Placement never changes. So only the light read can tell that something changed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from agent.audit.light_or_full import Beside, kept
from agent.audit.parts import AuditTask, Parts
from agent.audit.read_state import read_state
from agent.audit.run import run_audit
from agent.books.confirm import evidence_digest
from agent.conductor.reader import ConductorState
from agent.model.audit import PERIODIC, AuditMemory, AuditRequest, AuditResult, Identity
from agent.model.nova import NovaState
from agent.model.placement import Allocation, PlacementView
from agent.model.settings import Role
from agent.ports import Deadline
from tests.cloud.cell_client import CellClient
from tests.cloud.cloud import HOSTS, Cloud, Interrupted
from tests.cloud.episode import Episode, Tally, events_of
from tests.cloud.host_agent import HostAgent, settings_of
from tests.cloud.model_client import ModelClient
from tests.cloud.placement_model import PlacementModel
from tests.rigs import facts

LENGTH = 30
VERBS = {"step": 60, "start": 16, "audit": 30, "fail": 3, "crash": 2, "mishap": 3, "mend": 3, "power": 6, "pass": 6}
# For agents that must find something: lives in which more goes wrong.
MISHAPS = VERBS | {"mishap": 12, "crash": 6}
# Columns of instance_extra: nova's Instance.save writes them in a statement that does not touch the instance's row.
EXTRA = {"old_flavor", "new_flavor", "migration_context_id"}
CLOCKS_DIFFER_BY_S = 9
BETWEEN_AUDITS_S = (0, 0, 1, 11, 60)
# The share of audits during which the cloud continues.
IN_MOTION = 0.2
REQUEST = AuditRequest(reasons=(PERIODIC,))


class OldState(AssertionError):
    """An audit with a light read decided on rows that are not those of the cloud."""


class NovaCloud(Cloud):
    """A cloud whose rows get their times as in nova: from several clocks, and none for columns of instance_extra."""

    def __init__(self, placement: Any, dice: random.Random) -> None:
        self._dice = dice
        super().__init__(placement)

    def stamp(self) -> datetime.datetime:
        """Return the time by the clock of the service that writes now."""
        return self.now() + datetime.timedelta(seconds=self._dice.randint(-CLOCKS_DIFFER_BY_S, CLOCKS_DIFFER_BY_S))

    def save(self, uuid: str, *expected: str | None, **changes: Any) -> None:
        """Save as the parent does, but stamp the row only if a column of ``instances`` changes."""
        before = self.instances.get(uuid)
        super().save(uuid, *expected, **changes)
        assert before is not None
        moment = before.updated_at if set(changes) <= EXTRA else self.stamp()
        self.instances[uuid] = dataclasses.replace(self.instances[uuid], updated_at=moment)


class Watch:
    """The reads of one host's agent; ``reads`` counts its light and its full reads of the state."""

    def __init__(self, cloud: Cloud, host: str, *, has_deaf_placement: bool) -> None:
        self._cloud = cloud
        self._host = host
        self._has_deaf_placement = has_deaf_placement
        self._client = CellClient(cloud)
        self._source = ConductorState(self._client, cloud.now)  # type: ignore[arg-type]
        self._facts = facts.host()
        root = cloud.roots[host]
        self._memory = AuditMemory(identity=Identity(uuid=root, origin="file"), recheck_recorded=False)
        self._parts: Any = SimpleNamespace(
            state=self._source,
            clock=SimpleNamespace(now=str, monotonic=lambda: float(cloud.seconds)),
            reading=contextlib.nullcontext,
        )
        self.reads = {"light": 0, "full": 0}

    def audit(self, interlude: Callable[[], None] | None = None) -> None:
        """Read as an audit does. Raises OldState if its state differs from that of a full read.

        ``interlude`` changes the cloud between any two calls; then only the next audits are checked.
        """
        self._client.interlude = interlude or _nothing
        view = self._view()
        task = AuditTask(request=REQUEST, settings=facts.settings(host=self._host), parts=self._parts, cancelled=bool)
        reading, how = read_state(task, self._memory, view, is_due=False)
        assert reading.value is not None, reading.error
        self.reads["light" if how.is_light else "full"] += 1
        self._client.interlude = _nothing
        if how.is_light and interlude is None:
            self._check(reading.value, view.consumer_uuids)
        identity = self._memory.identity
        assert identity is not None
        beside = Beside(node_uuid=identity.uuid, host=self._facts, view=view)
        last = kept(self._memory.full_state, how, reading.value, beside)
        self._memory = dataclasses.replace(self._memory, full_state=last)

    def _view(self) -> PlacementView:
        root = self._cloud.roots[self._host]
        held: tuple[Allocation, ...] = ()
        if not self._has_deaf_placement:
            consumers: Any = self._cloud.placement
            held = tuple(
                Allocation(
                    consumer_uuid=uuid, provider_uuid=root, resource_class=name, amount=amount, consumer_generation=1
                )
                for uuid, consumer in sorted(consumers.consumers.items())
                for name, amount in sorted(consumer.holdings.get(root, {}).items())
            )
        return PlacementView(root_uuid=root, providers=(), allocations=held, allocations_fresh=True)

    def _check(self, state: NovaState, consumers: frozenset[str]) -> None:
        identity = self._memory.identity
        truth = self._source.read(self._host, consumers, Deadline.after(30), identity.uuid if identity else None)
        found, wanted = _what_counts(state, consumers), _what_counts(truth, consumers)
        if found != wanted:
            differing = [f"{a}\n  is now\n  {b}" for a, b in zip(found, wanted, strict=True) if a != b]
            raise OldState(f"{self._host} at {self._cloud.seconds} s: {differing}")


def _what_counts(state: NovaState, consumers: frozenset[str]) -> tuple[object, ...]:
    """Return what a light audit must have as it is now; docs/explanation/what-the-cloud-pays.md lists the rest."""
    moving = {move.instance_uuid for move in state.migrations if move.in_progress}
    mine = [i for i in state.instances if (i.host == state.host and not i.deleted) or i.uuid in moving | consumers]
    return (tuple(mine), state.migrations, state.service, state.heartbeat, state.now, state.pulse_at)


def _nothing() -> None:
    """Do nothing."""


class LightEpisode(Episode):
    """A life whose audits are those of ``watches``; they begin some seconds after the last event, or in its second."""

    def __init__(self, number: int) -> None:
        model, dice = PlacementModel(), random.Random(number)
        cloud = NovaCloud(model, dice)
        client: Any = ModelClient(model)
        super().__init__(cloud, client, Tally(), min_age_s=0.0, step_s=dice.choice((0, 1, 5, 30)))
        self.watches = {host: Watch(cloud, host, has_deaf_placement=place % 2 == 0) for place, host in enumerate(HOSTS)}
        self._verbs |= {"audit": self._watch, "quiet": self._watch}

    def _watch(self, dice: random.Random) -> None:
        self.cloud.seconds += dice.choice(BETWEEN_AUDITS_S)
        for host, watch in self.watches.items():
            self._tell(f"audit of {host} at {self.cloud.seconds} s")
            watch.audit((lambda: self._step(dice)) if dice.random() < IN_MOTION else None)


def play(count: int, seed: int) -> dict[str, int]:
    """Play ``count`` lives; return how many reads were light and full. Raises OldState with the life's trace."""
    reads = {"light": 0, "full": 0}
    for number in range(count):
        episode = LightEpisode(hash((seed, number)))
        try:
            with contextlib.suppress(Interrupted):
                episode.play(events_of(hash((seed, number)), LENGTH, VERBS))
        except OldState as error:
            raise OldState("\n".join([f"life {number} of seed {seed}", *episode.trace[-40:], str(error)])) from error
        for watch in episode.watches.values():
            reads = {kind: count + watch.reads[kind] for kind, count in reads.items()}
    return reads


class PeriodicAgent(HostAgent):
    """An observer on one host that reads nova's state over the model's conductor, light if ``reason`` allows that."""

    def __init__(self, cloud: Cloud, host: str, client: Any, *, reason: str) -> None:
        self.reason = reason
        super().__init__(cloud, host, client, settings_of(Role.OBSERVER, min_age_s=0.0))
        self._act = self._audited

    def _new_parts(self) -> Parts:
        state = ConductorState(CellClient(self.cloud), self.cloud.now)  # type: ignore[arg-type]
        return dataclasses.replace(super()._new_parts(), state=state)

    def _audited(self, _request: object, *rest: Any) -> AuditResult:
        return run_audit(AuditRequest(reasons=(self.reason,)), *rest)

    def told(self) -> dict[str, tuple[str, bool]]:
        """Return what the last audit's findings say, and whether they are confirmed."""
        return {seen.finding.id: (evidence_digest(seen.finding), seen.confirmed) for seen in self.findings()}


class PairEpisode(Episode):
    """A life with two observers on each host, which audit at the same moments; the second always reads in full."""

    def __init__(self, number: int) -> None:
        model, dice = PlacementModel(), random.Random(number)
        cloud = NovaCloud(model, dice)
        client: Any = ModelClient(model)
        super().__init__(cloud, client, Tally(), min_age_s=0.0, step_s=dice.choice((0, 1, 5, 30)))
        self.pairs = [
            tuple(PeriodicAgent(cloud, host, client, reason=reason) for reason in (PERIODIC, "always in full"))
            for host in HOSTS
        ]
        self.findings = self.light = 0
        self._verbs |= {"audit": self._compare, "quiet": self._compare}

    def _compare(self, dice: random.Random) -> None:
        self.cloud.seconds += dice.choice(BETWEEN_AUDITS_S)
        for light, full in self.pairs:
            self._tell(f"audit of {light.host} at {self.cloud.seconds} s")
            result = light.audit()
            full.audit()
            assert result.snapshot is not None
            self.findings += len(light.told())
            self.light += result.snapshot.state_read.is_light
            if light.told() != full.told():
                differing = [light.findings(), full.findings()]
                raise OldState(f"{light.host}, {result.snapshot.state_read}: {differing}")


def play_pairs(count: int, seed: int) -> tuple[int, int]:
    """Play ``count`` lives with pairs of agents; return how many audits were light, and how many findings were told."""
    light = findings = 0
    for number in range(count):
        episode = PairEpisode(hash((seed, number)))
        try:
            with contextlib.suppress(Interrupted):
                episode.play(events_of(hash((seed, number)), LENGTH, MISHAPS))
        except OldState as error:
            raise OldState("\n".join([f"life {number} of seed {seed}", *episode.trace[-40:], str(error)])) from error
        light, findings = light + episode.light, findings + episode.findings
    return light, findings
