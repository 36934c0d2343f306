"""The model cloud's histories on a real Placement: the same operations and agents, but Placement's own answers."""

import os

from tests.cloud.cloud import Cloud
from tests.cloud.episode import Episode, Tally, events_of
from tests.cloud.real_placement import RealPlacement
from tests.rigs.placement import client_of

# By hand 5,000 steps are usual (STOCKTAKE_CLOUD_STEPS=5000).
STEPS = int(os.environ.get("STOCKTAKE_CLOUD_STEPS", "500"))
SEED = int(os.environ.get("STOCKTAKE_CLOUD_SEED", "1"))
LENGTH = 250


def test_the_agent_finds_all_leaks_after_random_cloud_events(placement, tmp_path):
    """After random cloud events, the agent finds all leaked allocations and keeps all valid ones."""
    client = client_of(tmp_path, placement.server.url)
    tally, number = Tally(), 0
    while tally.steps < STEPS:
        number += 1
        # Each history has its own name, which is not random: the schedule of full reads follows from the name.
        cloud = Cloud(RealPlacement(placement), f"life-{SEED}-{number}")
        episode = Episode(cloud, client, tally, min_age_s=0.0, step_s=1)
        try:
            episode.play(events_of(hash((SEED, number)), LENGTH))
        except AssertionError as error:
            story = "\n".join(episode.trace[-80:])
            raise AssertionError(f"seed {SEED}, life {number}:\n{story}\n{error}") from error
    assert tally.audits > STEPS / 10
    assert min(tally.operations, tally.leaks, tally.heals) > 0
