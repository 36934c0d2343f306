"""Decide whether a light read of the cloud's state is enough for an audit, or why the audit reads in full. Pure.

In a light read, the agent reads only the row of the host's compute service, the heartbeats and the time. The audit then
uses nova's other rows as the last full read returned them. So a light read is enough only if three things are certain:

- These rows are still the same.
- The audit would do and report the same as the last audit.
- The last audit saw no change, because an audit in the middle of a change may see only a part of the change.

If anything is unclear, the audit reads in full.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Iterable
from typing import NamedTuple

from agent.model.audit import AuditMemory, AuditRequest, Depth, FullState
from agent.model.compared import Row
from agent.model.finding import Finding, SeenFinding
from agent.model.host.facts import HostFacts
from agent.model.nova import Instance, LightState, NovaState
from agent.model.placement import PlacementView
from agent.model.report import Verdict
from agent.model.snapshot import StateRead

# A light read detects a change of an instance's row by its ``updated_at``. While nova moves an instance, nova writes
# some columns (of instance_extra) without a new ``updated_at``. So the agent reads in full while an instance has a
# task_state or an unfinished migration. After a move, the row may still contain old data of the move. Then the agent
# reads in full until the row has been unchanged for this time.
JUST_MOVED = datetime.timedelta(minutes=10)
# Codes of findings that do not depend on nova's rows. If an audit has a finding with another code, the next audit reads
# all of nova's rows.
NOT_ABOUT_THE_CLOUD = frozenset(
    {
        "capabilities-incomplete",
        "cpu-offline",
        "mdev-type-unknown",
        "over-capacity",
        "pci-reporting-disabled",
        "pci-spec-conflict",
        "pci-spec-unmatched",
        "pmem-namespace-missing",
        "provider-config-conflict",
        "provider-config-unmatched",
        "store-changed",
        "thin-pool-filling",
        "thin-pool-overcommitted",
        "trait-unexpected",
        "usage-unlisted",
        "volume-foreign",
        "volume-group-missing",
    }
)


class Judged(NamedTuple):
    """Whether a light read is enough. ``why`` is the reason to read in full, empty if the light read is enough.

    ``saw_change``: something changed or may have changed.
    """

    why: str
    saw_change: bool = False


class Beside(NamedTuple):
    """What an audit read and found besides nova's rows; a field is None if its source could not be read."""

    node_uuid: str | None
    host: HostFacts | None
    view: PlacementView | None
    rests: str = ""


def why_no_light_read(request: AuditRequest, memory: AuditMemory) -> str:
    """Return why the audit must read nova's rows in full without trying a light read; empty if it may try one."""
    last = memory.full_state
    if request.depth is Depth.FULL:
        return "an operator runs a command"
    if not request.is_periodic:
        return "the audit is not one of the periodic audits"
    if last is None:
        return "the last audit has no complete copy of nova's rows"
    if not last.state.kind.has_cloud:
        return "[state] source = none: there is no nova to read"
    if memory.recheck_recorded:
        return "the audit reads Placement's allocations again, and must compare them with new rows of nova's database"
    return last.rests


def judged(
    last: FullState,
    light: LightState,
    view: PlacementView | None,
    consumers: frozenset[str],
    node_uuid: str | None,
    *,
    is_due: bool,
) -> Judged:
    """Return whether a light read is enough, and if not, why. ``is_due``: the schedule asks for a full read now.

    ``view`` is what this audit read from Placement. ``consumers`` and ``node_uuid`` say which rows the audit needs. If
    the last full read had other ``consumers`` or another ``node_uuid``, it lacks rows, so a light read is not enough.
    """
    changed = () if last.sign is None else light.sign.changed_since(last.sign)
    if changed:
        return Judged(f"rows of these kinds changed in nova's database: {', '.join(changed)}", saw_change=True)
    if (
        view is None
        or last.allocations != view.allocations
        or (consumers, node_uuid) != (last.consumers, last.node_uuid)
    ):
        return Judged("Placement's allocations changed, or were not read", saw_change=True)
    if last.saw_change:
        return Judged("the last audit saw a change that may not have been finished")
    if last.sign is None or not last.sign.is_settled:
        return Judged(
            "a light read might miss a change: a row changed just before the last full read, "
            "or the last full read has no digest"
        )
    if is_due:
        return Judged("the schedule asks for a full read of nova's database")
    return Judged(_unseen_changes(last.state, light.now))


def guests_changed(last: FullState | None, host: HostFacts | None) -> bool:
    """Return whether libvirt's guests differ from those at the last full read, or are unknown."""
    return last is None or host is None or last.domains != host.domains


def why_not_enough(findings: Iterable[Finding], memory: AuditMemory, *, is_writing: bool) -> str:
    """Return why a full read must follow the light read; empty if the audit writes nothing and has no new findings."""
    if is_writing:
        return "the audit is about to write"
    sightings = memory.history.sightings if memory.history else ()
    # The history also has findings that the last audit could not check. Leave these findings out.
    known = {sighting.id for sighting in sightings if not sighting.unknown_because}
    return "" if {finding.id for finding in findings} == known else "the findings changed"


def what_rests_on(findings: Iterable[SeenFinding], rows: Iterable[Row]) -> str:
    """Return why the next audit must read nova's rows in full; "" if there is no reason.

    The reason is a finding that depends on these rows or is not confirmed, or a consumer with an unfinished operation.
    """
    for seen in findings:
        finding = seen.finding
        if not seen.confirmed:
            return f"finding {finding.code} needs more audits to be confirmed"
        if finding.consumer_uuid is not None or finding.code not in NOT_ABOUT_THE_CLOUD:
            return f"finding {finding.code} depends on rows of nova's database"
    settling = next((row for row in rows if row.verdict is Verdict.SETTLING), None)
    return "" if settling is None else f"consumer {settling.key} has an unfinished operation"


def kept(last: FullState | None, how: StateRead, state: NovaState | None, beside: Beside) -> FullState | None:
    """Return the last full read, with which the next audit compares its own read.

    This is ``last`` if this audit's read was light, else this audit's read. Returns None if this audit could not read
    the cloud's state.
    """
    if state is None:
        return None
    if how.is_light and last is not None:
        return dataclasses.replace(last, saw_change=False, rests=beside.rests)
    return FullState(
        state=state,
        sign=how.sign,
        consumers=how.consumers,
        node_uuid=beside.node_uuid,
        domains=beside.host.domains if beside.host else None,
        allocations=beside.view.allocations if beside.view else None,
        saw_change=how.saw_change or (last is not None and _rows(last.state) != _rows(state)),
        rests=beside.rests,
    )


def _rows(state: NovaState) -> tuple[object, ...]:
    """Return the rows to compare with those of the last full read: the rows of instances and migrations.

    A comparison of the signs (StateSign) is not enough, because an audit reads the sign before the rows. An instance
    may arrive between these two reads and leave before the next audit. Then only the rows show the instance.
    """
    return (state.instances, state.migrations, state.finished_evacuations)


def _unseen_changes(state: NovaState, now: datetime.datetime | None) -> str:
    """Return why a light read might miss a change of nova's rows; empty if there is no reason."""
    for move in state.migrations:
        if move.under_way:
            return f"migration {move.uuid} is under way"
    for instance in state.instances:
        if instance.task_state is not None:
            return f"instance {instance.uuid} has a task"
        if instance.hidden and not instance.deleted:
            return f"instance {instance.uuid} is hidden"
        if _has_rest_of_a_move(instance) and _is_young(instance.updated_at or instance.created_at, now):
            return f"instance {instance.uuid} has just moved"
    return ""


def _has_rest_of_a_move(instance: Instance) -> bool:
    return any(rest is not None for rest in (instance.context, instance.old_flavor, instance.new_flavor))


def _is_young(moment: datetime.datetime | None, now: datetime.datetime | None) -> bool:
    return moment is None or now is None or now - moment < JUST_MOVED
