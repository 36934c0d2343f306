"""The real nova-compute 34 and the agent on the same random nova.conf files; tests.variants.run compares more."""

from __future__ import annotations

import itertools
import os

import pytest

from tests.rigs.libvirtd import libvirtd_program
from tests.variants.both import bench
from tests.variants.compare import differences
from tests.variants.draw import variants

COUNT = 5
SEED = int(os.environ.get("STOCKTAKE_NOVA_CONF_SEED", "4"))


@pytest.mark.skipif(os.geteuid() != 0 or libvirtd_program() is None, reason="needs root and libvirtd")
def test_agent_and_nova_compute_publish_equal_trees(tmp_path):
    """The agent and a real nova-compute read the same random nova.conf and publish equal provider trees."""
    with bench(tmp_path) as standing:
        pairs = [
            standing.ask(variant) for variant in itertools.islice(variants(SEED, with_group=standing.with_group), COUNT)
        ]
    assert {pair.variant.words(): found for pair in pairs if (found := differences(pair))} == {}
    # Most variants must start, or the comparison would be empty.
    assert len([pair for pair in pairs if pair.nova.outcome == "audited" and pair.agent.tree]) >= COUNT - 2
