"""Decide whether another writer owns this host's root provider, so that the agent must not write it.

There are three signs:
- nova-compute of this host is alive.
- The provider has nova-compute's owner trait. A nova-compute that starts again sets this trait seconds before its first
  heartbeat, so the trait counts even while the last known heartbeat is old.
- Two audits in a row found that another writer changed an inventory that the agent had written. After only one such
  audit, the agent writes the inventory again.
"""

from __future__ import annotations

import dataclasses
import datetime
from dataclasses import dataclass

from agent.model.audit import WrittenProvider
from agent.model.books import DesiredProvider
from agent.model.finding import RemedyKind, Silence
from agent.model.nova import NovaState
from agent.model.owners import AGENT_OWNER, RIVAL
from agent.model.placement import Inventory, Provider
from agent.model.settings import Role, Settings

MAX_STRIKES = 2
# nova-compute counts as gone once it has been silent for this fraction of service_down_time. The fraction is less than
# 1 because an audit may come a little early: with a service_down_time of 60 s and two audits 59.8 s apart, the agent
# would otherwise have to wait for a third audit.
ENOUGH = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Why the agent does not write the host's root provider, and what the operator can do about it.

    ``overwrote``: True if another writer changed what this agent wrote. A restarted agent has forgotten its earlier
    writes, so it cannot notice such a change. ``kind`` is WAIT if the operator need not act.
    """

    why: str
    remedy: str
    overwrote: bool = False
    kind: RemedyKind = RemedyKind.HAND


def rival_of(
    root: Provider | None,
    state: NovaState | None,
    settings: Settings,
    written: WrittenProvider | None,
    silent_for_s: float = 0.0,
) -> Rival | None:
    """Return why the agent must not write this host's root provider; None if it may.

    Always None in role companion, because the agent never writes the root provider in this role.

    ``silent_for_s``: how long nova-compute's heartbeat and the root's generation have been unchanged, in seconds.
    """
    if settings.role is Role.COMPANION:
        return None
    if state is not None and is_alive(state, settings):
        return _living(settings)
    if root is None:
        return None
    return _nova_compute(root, state, settings, silent_for_s) or _overwriter(root, written)


def _living(settings: Settings) -> Rival:
    return Rival(
        why=f"nova-compute of this host is alive (heartbeat within the last {settings.service_down_time_s} s) and "
        "replaces the root's inventory each cycle",
        remedy="if nova-compute stays on this host, set [agent] role = companion. If the agent is to replace "
        "nova-compute, first stop nova-compute on this host for good",
    )


def _nova_compute(root: Provider, state: NovaState | None, settings: Settings, silent_for_s: float) -> Rival | None:
    if RIVAL not in root.traits:
        return None
    if state is None:
        return Rival(
            why=f"the provider has the trait {RIVAL}, and it is unknown whether nova-compute of this host is alive: "
            "nova's database could not be read, or the answer is old",
            remedy="the next audit reads nova's database again; the finding source-unavailable or source-stale says "
            "what is wrong",
            kind=RemedyKind.WAIT,
        )
    is_silent = silent_for_s >= ENOUGH * settings.service_down_time_s
    if AGENT_OWNER in root.traits:
        return None if is_silent else _returned(settings)
    if not settings.takeover:
        return Rival(
            why=f"the provider has the trait {RIVAL} and not {AGENT_OWNER}, so nova-compute created the provider",
            remedy="set [agent] takeover = true once nova-compute is gone for good; while nova-compute runs here, "
            "set [agent] role = companion",
        )
    return None if is_silent else _not_proven_gone(settings)


def _not_proven_gone(settings: Settings) -> Rival:
    return Rival(
        why=f"the provider has the trait {RIVAL}, and nova-compute is not proven to be gone: the proof "
        f"is {settings.service_down_time_s} s without a heartbeat of nova-compute and without a change of the provider",
        remedy="keep this agent running: it takes the provider over by itself once nova-compute is proven to be gone. "
        "If you use `stocktake audit --publish` or `stocktake-agent --once` instead of a running agent, run that "
        "command again after service_down_time",
        kind=RemedyKind.WAIT,
    )


def silence(before: Silence | None, root: Provider | None, state: NovaState | None, at: int) -> Silence | None:
    """Return since when nova-compute's heartbeat and the root provider's generation have been unchanged.

    None if the root provider has no trait of nova-compute. ``before`` is the result of the previous audit. Return
    ``before`` again if this audit could not read the root provider or nova's data.
    ``at`` is the time of this audit's read, in seconds since the machine's start.
    """
    if root is None or state is None:
        return before
    if RIVAL not in root.traits:
        return None
    seen = state.service.last_seen_up if state.service else None
    heartbeat = seen.isoformat() if seen else ""
    if before is not None and (before.heartbeat, before.generation) == (heartbeat, root.generation):
        return before
    return Silence(heartbeat, root.generation or 0, at)


def alive_since(before: int | None, state: NovaState | None, settings: Settings, at: int) -> int | None:
    """Return since when every audit has found nova-compute alive; None if nova-compute is not alive now.

    Times are in seconds since the host's boot. ``before`` is the result of the previous audit, ``at`` the time of this
    audit's read. An audit that did not read nova's rows breaks the series, because it did not see nova-compute alive.
    """
    if state is None or not is_alive(state, settings):
        return None
    return at if before is None else before


def _returned(settings: Settings) -> Rival:
    """Return the reason and remedy if nova-compute put its owner trait on a root provider of the agent.

    The agent waits for ``service_down_time``, and takes the root back if nova-compute shows no sign of life meanwhile.
    """
    return Rival(
        why=f"nova-compute put {RIVAL} back on this agent's provider: nova-compute has started again, even if its "
        "service row does not show it yet",
        remedy="stop nova-compute on this host for good, or set [agent] role = companion to stay beside it; "
        f"after {settings.service_down_time_s} s without a sign of life from nova-compute, the agent takes the "
        "provider back",
    )


def is_alive(state: NovaState, settings: Settings) -> bool:
    """Return whether this host's nova-compute sent a heartbeat within ``service_down_time``."""
    # forced_down does not count: an operator sets it through nova's API, and nova-compute may still run and write.
    service = state.service
    seen = (service.last_seen_up or service.created_at) if service else None
    # Compare nova-compute's heartbeat with the newest heartbeat of any service, not with this host's clock. If the
    # database replica lags a minute behind, both heartbeats are a minute late, but this host's clock is not.
    clock = state.newest_heartbeat or state.heartbeat or state.now
    if seen is None or clock is None:
        return False
    return clock - seen <= datetime.timedelta(seconds=settings.service_down_time_s)


def _overwriter(root: Provider, written: WrittenProvider | None) -> Rival | None:
    if written is None or written.strikes < MAX_STRIKES:
        return None
    written_before = {i.resource_class: i for i in written.inventories}
    different = [(i, root.inventory(c)) for c, i in sorted(written_before.items()) if root.inventory(c) != i]
    changes = "; ".join(f"{_shown(mine)} is now {_shown(now)}" for mine, now in different) or "the change is gone now"
    return Rival(
        why=f"{written.strikes} audits in a row found that another writer changed this agent's inventories: {changes}",
        remedy="find the other writer (a second agent, nova-compute, a script) and stop it, then send this agent "
        "SIGHUP",
        overwrote=True,
    )


def _shown(inventory: Inventory | None) -> str:
    if inventory is None:
        return "absent"
    return (
        f"{inventory.resource_class} total={inventory.total} reserved={inventory.reserved} "
        f"max_unit={inventory.max_unit} ratio={inventory.allocation_ratio}"
    )


def without_foreign_ratios(root: Provider, written: WrittenProvider | None) -> Provider:
    """Return the root without allocation ratios that another writer most likely set by accident.

    If another writer also changed the total, min_unit, max_unit or step_size of an inventory, the inventory's ratio is
    most likely only that writer's default. Then the result has the agent's last ratio. If only the ratio changed, an
    operator set this ratio. Then the result keeps this ratio.
    """
    written_before = {i.resource_class: i for i in (written.inventories if written else ())}
    read = tuple(_with_own_ratio(i, written_before.get(i.resource_class)) for i in root.inventories)
    return dataclasses.replace(root, inventories=read)


def _with_own_ratio(observed: Inventory, mine: Inventory | None) -> Inventory:
    if mine is None or _size(observed) == _size(mine):
        return observed
    return dataclasses.replace(observed, allocation_ratio=mine.allocation_ratio)


def _size(inventory: Inventory) -> tuple[int, int, int, int]:
    return inventory.total, inventory.min_unit, inventory.max_unit, inventory.step_size


def judged(written: WrittenProvider | None, root: Provider | None, wanted: DesiredProvider) -> WrittenProvider | None:
    """Return ``written`` with the number of strikes: audits in a row that found the agent's inventory overwritten.

    A change by another writer is a strike only if it contradicts what the agent wants now. A ratio that an operator
    sets through the API is kept and is not a strike. An audit without such a change resets the count to 0. But once the
    count has reached MAX_STRIKES, only a restart or SIGHUP resets the count: the other writer may write again later.
    """
    if written is None or written.strikes >= MAX_STRIKES:
        return written
    # Another client deleted the root provider. Only overwritten inventories count as strikes, not a deletion. For a
    # root that the agent creates again, the count begins at 0.
    if root is None:
        return None
    frozen = frozenset(f.name for f in wanted.frozen)
    compared = {i.resource_class: i for i in written.inventories if i.resource_class not in frozen}
    against = [name for name, own in compared.items() if root.inventory(name) not in (own, wanted.inventory(name))]
    return dataclasses.replace(written, strikes=written.strikes + 1 if against else 0)


def remembered(before: WrittenProvider | None, wanted: DesiredProvider) -> WrittenProvider:
    """Return the values that the agent has written to the root provider, for a comparison in the next audit."""
    return WrittenProvider(
        provider_uuid=wanted.uuid,
        inventories=wanted.inventories,
        strikes=before.strikes if before else 0,
        cleared=wanted.traits_unwanted,
    )
