"""nova-compute as the other writer of a host's provider: it starts, reports, rewrites the provider, and stops for good.

Its heartbeat is a row of the cell like any other, so a lagging database shows an old heartbeat. It sets its trait when
it starts, some seconds before its first heartbeat, as measured on the real nova-compute.
"""

from __future__ import annotations

from typing import NamedTuple

from agent.model.owners import AGENT_OWNER, RIVAL
from tests.cloud.cloud import Cloud, Life
from tests.cloud.feeds import REPORT_S
from tests.cloud.placement_model import PlacementModel, Stock

FIRST_REPORT_S = 5
# Audits come each minute. It takes a minute to prove nova-compute's silence; two more audits find, and two heal.
GONE_S = 420


class Written(NamedTuple):
    """One write of a provider by the agent, and the start of its audit."""

    host: str
    audit_began: int


class WrongWrite(AssertionError):
    """The agent wrote a provider that a living nova-compute had taken over."""


class MissedTakeover(AssertionError):
    """nova-compute has been gone for minutes, and the agent has not taken over its provider."""


def start(cloud: Cloud, placement: PlacementModel, host: str) -> None:
    """Start nova-compute, which writes the provider; its first heartbeat follows later."""
    before = cloud.lives.get(host)
    cloud.lives[host] = Life(cloud.seconds, None, heartbeat(before, cloud.seconds))
    rewrite(cloud, placement, host)


def stop(cloud: Cloud, host: str) -> None:
    """Stop nova-compute; its heartbeat ends."""
    cloud.lives[host] = cloud.lives[host]._replace(stopped=cloud.seconds)


def is_alive(cloud: Cloud, host: str) -> bool:
    """Return whether the host's nova-compute runs."""
    life = cloud.lives.get(host)
    return life is not None and life.stopped is None


def is_long_gone(cloud: Cloud, host: str) -> bool:
    """Return whether no nova-compute has lived within the time that a takeover and the audits after it need."""
    life = cloud.lives.get(host)
    return life is None or (life.stopped is not None and cloud.seconds - life.stopped > GONE_S)


def rewrite(cloud: Cloud, placement: PlacementModel, host: str) -> None:
    """Run nova-compute's audit: write the whole inventory with its own reserve, and add its trait to the others."""
    root = placement.providers[cloud.roots[host]]
    stocks = {
        "VCPU": Stock(total=8, max_unit=8, allocation_ratio=4.0),
        "MEMORY_MB": Stock(total=2048, reserved=64, max_unit=2048),
        "DISK_GB": Stock(total=16, max_unit=16),
    }
    if root.stocks != stocks:
        placement.put_inventories(cloud.roots[host], root.generation, stocks)
    placement.put_traits(cloud.roots[host], root.generation, root.traits | {"COMPUTE_NODE", RIVAL})


def heartbeat(life: Life | None, second: int) -> int | None:
    """Return the newest heartbeat in a database that follows up to that second; None if there was none."""
    if life is None:
        return None
    until = second if life.stopped is None else min(second, life.stopped)
    lived = until - life.started - FIRST_REPORT_S
    return life.before if lived < 0 else life.started + FIRST_REPORT_S + lived // REPORT_S * REPORT_S


def check_write(cloud: Cloud, written: Written) -> None:
    """Raise if nova-compute lived, and had set its trait there, before the writing audit began."""
    life = cloud.lives.get(written.host)
    if life is not None and life.stopped is None and life.started < written.audit_began:
        raise WrongWrite(f"provider of {written.host}, whose nova-compute lives since {life.started} s")


def check_taken_over(cloud: Cloud, placement: PlacementModel, host: str, since: int) -> None:
    """Raise if nova-compute was dead at that second, minutes ago, and the agent does not own the provider alone."""
    life = cloud.lives.get(host)
    if life is None or life.stopped is None or life.stopped > since:
        return
    traits = placement.providers[cloud.roots[host]].traits
    if RIVAL in traits or AGENT_OWNER not in traits:
        raise MissedTakeover(f"provider of {host} after {cloud.seconds - life.stopped} s: {sorted(traits)}")
