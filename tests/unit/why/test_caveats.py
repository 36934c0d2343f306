"""The caveats beside the answer for a tree that fits."""

import dataclasses
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.placement import Inventory, Provider
from agent.model.resource_request import OfferedProvider, OfferedProviders, RequestGroup, ResourceRequest
from agent.why.answer import why
from agent.why.caveats import single


def host(uuid="host", total=5, ratio=1.4, resource_class="VCPU", **wanted):
    stock = Inventory(resource_class=resource_class, total=total, allocation_ratio=ratio)
    provider = Provider(uuid=uuid, name=uuid, parent_uuid=None, generation=0, inventories=(stock,), **wanted)
    return OfferedProvider(provider=provider, root_uuid=uuid)


def answer(*groups, world):
    return why(ResourceRequest(groups=groups), OfferedProviders(providers=tuple(world))).trees[0]


def vcpus(amount, suffix=""):
    return RequestGroup(suffix=suffix, resources=(("VCPU", amount),))


# Asked of Placement 16.0.0 on MariaDB: it refused the last unit of the first three, and offered that of the next two.
@pytest.mark.parametrize(
    ("total", "ratio", "is_refused"),
    [
        (10, 0.7, True),
        (5, 1.4, True),
        (10, 1.3, True),
        (10, 1.1, False),
        (30, 0.1, False),
        (48, 4.0, False),
    ],
)
def test_why_warns_if_rounding_may_refuse_an_exact_fit(total, ratio, is_refused):
    """`stocktake why` warns that Placement may refuse the last unit, because its database rounds total times ratio."""
    most = round(total * ratio)
    tree = answer(vcpus(most), world=[host(total=total, ratio=ratio)])
    assert tree.fits
    assert bool(tree.caveats) is is_refused
    assert answer(vcpus(most - 1), world=[host(total=total, ratio=ratio)]).caveats == ()


def test_the_advised_ratio_allows_for_rounding_in_placement():
    """`stocktake why` advises the ratio 1.4001 instead of 1.4, because Placement's database may round."""
    tree = answer(vcpus(7), world=[host(total=5, ratio=1.0)])
    ratio = next(r.number for r in tree.obstacles[0].remedies if r.kind.value == "ratio")
    assert ratio == 1.4001
    assert answer(vcpus(7), world=[host(total=5, ratio=ratio)]).caveats == ()


@given(st.floats(0.0001, 1e6))
def test_a_ratio_is_rounded_to_single_precision(ratio):
    """`stocktake why` rounds an allocation ratio to a 32-bit float, as Placement's database does."""
    assert single(ratio) == struct.unpack("f", struct.pack("f", ratio))[0]


SHARED = {"aggregates": frozenset({"agg"})}
NFS = host("nfs", 100, 1.0, "DISK_GB", traits=frozenset({"MISC_SHARES_VIA_AGGREGATE"}), **SHARED)
DISK = RequestGroup(resources=(("DISK_GB", 1),))


def test_why_warns_that_placement_may_offer_only_one_host():
    """`stocktake why` warns if a sharing provider serves all of a request's unnumbered group.

    Placement may then offer one host only.
    """
    world = [host(ratio=1.0, **SHARED), NFS]
    assert "may offer only one of the hosts that fit" in answer(DISK, vcpus(1, "1"), world=world).caveats[0]
    assert answer(DISK, world=[host(ratio=1.0, **SHARED), NFS]).caveats == ()
    both = dataclasses.replace(DISK, resources=(("DISK_GB", 1), ("VCPU", 1)))
    assert answer(both, vcpus(1, "1"), world=world).caveats == ()
