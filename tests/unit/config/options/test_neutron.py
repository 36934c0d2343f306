"""Scenario 86, as far as the configuration files decide it: which NUMA cells are near a network."""

import pytest

from agent.config.options.neutron import networks
from agent.errors import ConfigError
from agent.model.settings import NetworkAffinity
from tests.rigs.configs import ALONE, load_beside_nova, load_ours

CELLS = """\
[neutron]
physnets = foo, baz
[neutron_physnet_foo]
numa_nodes = 1
[neutron_physnet_baz]
numa_nodes = 3,1,2
[neutron_tunnel]
numa_nodes = 0,2
"""


def test_s86_numa_cells_of_networks_are_read(tmp_path):
    """The agent reads numa_nodes of each physical network and of tunnels from stocktake.conf and nova.conf."""
    expected = NetworkAffinity(physnets=(("baz", (1, 2, 3)), ("foo", (1,))), tunnel=(0, 2))
    assert networks(load_ours(tmp_path, ALONE + CELLS)) == expected
    assert networks(load_beside_nova(tmp_path, "", CELLS)) == expected


def test_networks_have_no_numa_affinity_by_default(tmp_path):
    assert networks(load_ours(tmp_path, ALONE)) == NetworkAffinity()


def test_s86_a_physnet_without_numa_nodes_is_rejected(tmp_path):
    """A network in [neutron] physnets needs numa_nodes in its group [neutron_physnet_NAME]."""
    with pytest.raises(ConfigError) as caught:
        networks(load_ours(tmp_path, ALONE + "[neutron]\nphysnets = foo,bar\n[neutron_physnet_foo]\nnuma_nodes = 0\n"))
    quoted = f"{tmp_path}/stocktake.conf: [neutron] physnets = foo,bar"
    assert caught.value.problems == (f"{quoted}: needs [neutron_physnet_bar] numa_nodes, which is not set",)


@pytest.mark.parametrize("cells", ["-1", "one", "0,one,2"])
def test_an_invalid_numa_nodes_value_is_rejected(tmp_path, cells):
    with pytest.raises(ConfigError) as caught:
        load_ours(tmp_path, f"{ALONE}[neutron]\nphysnets = foo\n[neutron_physnet_foo]\nnuma_nodes = {cells}\n")
    (problem,) = caught.value.problems
    assert problem == (
        f"{tmp_path}/stocktake.conf: [neutron_physnet_foo] numa_nodes = {cells}: "
        "must be a comma-separated list, each item a whole number, at least 0"
    )
