"""What operators and users do beside nova's long operations, each as one event of a life.

The functions change the cloud as a person with the ``openstack`` command does; ``by_hand`` and ``put_back`` use the
agent's own commands.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

from tests.cloud import operations
from tests.cloud.checks import consumers
from tests.cloud.cloud import Cloud
from tests.cloud.host_agent import HostAgent
from tests.cloud.placement_model import Wanted


def rewrite_a_consumer(cloud: Cloud, agents: Iterable[HostAgent], dice: random.Random) -> str | None:
    """Write the allocations of a consumer that an agent reports; return the consumer, or None if there is none.

    So does ``openstack resource provider allocation set`` with the amounts that it showed before, and nova-manage
    placement heal_allocations.
    """
    named = {seen.finding.consumer_uuid for agent in agents for seen in agent.findings()}
    recorded = sorted(uuid for uuid in named if uuid and cloud.placement.held(uuid))
    if not recorded:
        return None
    chosen = dice.choice(recorded)
    found = cloud.placement.held(chosen)
    assert found is not None
    again = Wanted(
        holdings=found.holdings, generation=found.generation, project=found.project, user=found.user, kind=found.kind
    )
    cloud.placement.put(chosen, again)
    return chosen


def reboot(cloud: Cloud, agents: Iterable[HostAgent], busy: Iterable[str], dice: random.Random) -> str | None:
    """Let nova reboot an instance at rest from beginning to end; return the instance, or None if there is none.

    Users like to reboot an instance that has a problem: mostly one that an agent reports.
    """
    resting = [
        row.uuid
        for row in cloud.instances.values()
        if row.vm_state == "active" and not (row.deleted or row.task_state) and row.uuid not in busy
    ]
    if not resting:
        return None
    reported = {seen.finding.consumer_uuid for agent in agents for seen in agent.findings()} & set(resting)
    chosen = dice.choice(sorted(reported if reported and dice.random() < 0.8 else resting))
    for _ in operations.reboot(cloud, chosen):
        cloud.seconds += 1
    return chosen


def tidy_up(cloud: Cloud) -> None:
    """Write each consumer's allocations as they should be, where no operation is running; other services end theirs."""
    novas = cloud.instances.keys() | {migration.uuid for migration in cloud.migrations.values()}
    for consumer in [uuid for uuid, _ in cloud.needs if uuid not in novas]:
        cloud.free(consumer)
    for consumer in consumers(cloud):
        found = cloud.placement.held(consumer)
        holdings = {root: dict(cloud.needed(consumer, host)) for host, root in cloud.roots.items()}
        holdings = {root: amounts for root, amounts in holdings.items() if amounts}
        if found is None and not holdings:
            continue
        if not holdings:
            cloud.placement.delete(consumer)
            continue
        kind, generation = (found.kind, found.generation) if found else (None, None)
        cloud.placement.put(consumer, Wanted(holdings=holdings, generation=generation, kind=kind))


def by_hand(agent: HostAgent, dice: random.Random) -> str:
    """Run ``stocktake heal`` for all findings, or for all those of one consumer by their ids; return what it is for.

    Some operators begin with the consumer that has the most findings, and some only look at the plan.
    """
    known = [sighting.finding for sighting in agent.history.history.sightings if sighting.finding]
    reported = Counter(finding.consumer_uuid for finding in known if finding.consumer_uuid)
    about = dice.choice((None, *sorted(reported))) if reported else None
    if reported and dice.random() < 0.5:
        about = max(sorted(reported), key=lambda uuid: reported[uuid])
    named = [finding for finding in known if about is not None and finding.consumer_uuid == about]
    agent.heal_by_hand(frozenset(finding.id for finding in named), approves=dice.random() < 0.7)
    return about or "all findings"
