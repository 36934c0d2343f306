"""The model of Placement against the real one: the same random writes must yield the same answers and state."""

import os
from collections import Counter

from tests.cloud.placement_model import PlacementModel
from tests.cloud.random_writes import Writes
from tests.cloud.real_placement import RealPlacement
from tests.rigs.placement import new_uuid

# Use 2,000 by hand (STOCKTAKE_MODEL_WRITES=2000). Each write costs a request, and each batch a read of the whole state.
WRITES = int(os.environ.get("STOCKTAKE_MODEL_WRITES", "400"))
BATCH = 25


def test_the_placement_model_answers_like_real_placement(placement):
    """The tests' model of Placement and the real service give the same answers to the same random writes."""
    seed = int(os.environ.get("STOCKTAKE_MODEL_SEED", "1"))
    model, real = PlacementModel(), RealPlacement(placement)
    writes = Writes(model, seed, new_uuid())
    for provider in writes.providers:
        assert model.create_provider(provider, provider) == real.create_provider(provider, provider)
    answers: Counter[tuple[str, int, str]] = Counter()
    for number in range(WRITES):
        words, write = writes.draw()
        expected, actual = write(model), write(real)
        assert actual == expected, f"write {number} of seed {seed}: {words}"
        answers[words.split()[0], *expected] += 1
        if number % BATCH == BATCH - 1:
            _same_state(model, real, writes, f"after write {number} of seed {seed}: {words}")
    refusals = {key[1:] for key in answers if key[1] >= 300}
    assert refusals >= {(409, "placement.concurrent_update"), (409, "placement.undefined_code")}
    assert sum(count for key, count in answers.items() if key[1] < 300) > WRITES // 3


def _same_state(model: PlacementModel, real: RealPlacement, writes: Writes, when: str) -> None:
    for consumer in writes.consumers:
        assert real.held(consumer) == model.held(consumer), when
    for uuid, provider in model.providers.items():
        assert real.provider(uuid) == provider, when
        assert real.holders(uuid) == {
            c: (found.generation, found.holdings[uuid])
            for c, found in model.consumers.items()
            if uuid in found.holdings
        }, when
