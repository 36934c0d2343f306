"""nova-compute as the other writer of a host's provider: it starts, reports, rewrites the provider, and ends for good.

Its heartbeat is a row of the cell like any other, so a database that is late shows an old
one. It sets its trait when it starts, some seconds before its first heartbeat, as was seen of the real one.
"""

from __future__ import annotations

from typing import NamedTuple

from agent.model.owners import OURS, RIVAL
from tests.cloud.cloud import Cloud, Life
from tests.cloud.feeds import REPORT_S
from tests.cloud.placement_model import PlacementModel, Stock

FIRST_REPORT_S = 5
# Its silence is proven over a minute, by audits that come each minute; two more find, and two heal.
GONE_S = 420


class Written(NamedTuple):
    """One write of a provider by our agent, and when its audit began."""

    host: str
    audit_began: int


class WrongWrite(AssertionError):
    """Our agent wrote a provider that a living nova-compute had made its own."""


class MissedTakeover(AssertionError):
    """nova-compute is gone for minutes, and its provider is not ours."""


def start(cloud: Cloud, placement: PlacementModel, host: str) -> None:
    """It starts and writes the provider; its first heartbeat comes after that."""
    before = cloud.lives.get(host)
    cloud.lives[host] = Life(cloud.seconds, None, heartbeat(before, cloud.seconds))
    rewrite(cloud, placement, host)


def stop(cloud: Cloud, host: str) -> None:
    """It is ended, and gives no sign of life any more."""
    cloud.lives[host] = cloud.lives[host]._replace(stopped=cloud.seconds)


def is_alive(cloud: Cloud, host: str) -> bool:
    """Whether its process runs."""
    life = cloud.lives.get(host)
    return life is not None and life.stopped is None


def is_long_gone(cloud: Cloud, host: str) -> bool:
    """Whether there is none, or none that lived within the time that a takeover and the audits after it need."""
    life = cloud.lives.get(host)
    return life is None or (life.stopped is not None and cloud.seconds - life.stopped > GONE_S)


def rewrite(cloud: Cloud, placement: PlacementModel, host: str) -> None:
    """Its audit: the whole inventory, by its own reserve, and its trait beside those that it does not know."""
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
    """Its newest heartbeat as a database shows it that follows up to that second; None: it never reported."""
    if life is None:
        return None
    until = second if life.stopped is None else min(second, life.stopped)
    lived = until - life.started - FIRST_REPORT_S
    return life.before if lived < 0 else life.started + FIRST_REPORT_S + lived // REPORT_S * REPORT_S


def check_write(cloud: Cloud, written: Written) -> None:
    """Raise where nova-compute lived, and had its trait there, before the audit that wrote had begun."""
    life = cloud.lives.get(written.host)
    if life is not None and life.stopped is None and life.started < written.audit_began:
        raise WrongWrite(f"provider of {written.host}, whose nova-compute lives since {life.started} s")


def check_taken_over(cloud: Cloud, placement: PlacementModel, host: str, since: int) -> None:
    """Raise where it was dead at that second, minutes ago, and the provider is not ours alone."""
    life = cloud.lives.get(host)
    if life is None or life.stopped is None or life.stopped > since:
        return
    traits = placement.providers[cloud.roots[host]].traits
    if RIVAL in traits or OURS not in traits:
        raise MissedTakeover(f"provider of {host} after {cloud.seconds - life.stopped} s: {sorted(traits)}")
