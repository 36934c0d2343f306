"""What the comparison with nova-compute forgives, and what it does not; no nova-compute runs here."""

from typing import Any

from tests.variants.both import Answer, Pair
from tests.variants.compare import differences
from tests.variants.draw import Variant


def _answer(**vcpu: Any) -> Answer:
    record = {"total": 2, "reserved": 0, "min_unit": 1, "max_unit": 2, "step_size": 1, "allocation_ratio": 4.0} | vcpu
    tree = {"vm": {"parent": None, "inventories": {"VCPU": record}, "traits": frozenset()}}
    return Answer(outcome="audited", said="", tree=tree)


def _differences(nova: Answer, agent: Answer) -> list[str]:
    return differences(Pair(variant=Variant(number=0, choices=()), nova=nova, agent=agent))


def test_nova_compute_may_reserve_more_than_the_total():
    """nova-compute reserves more VCPU than the total. The comparison accepts that the agent reserves only the total."""
    assert _differences(_answer(reserved=64, allocation_ratio=0.0), _answer(reserved=2)) == []


def test_the_comparison_reports_different_reserved_amounts():
    """The comparison of the agent with nova-compute reports different reserved amounts of VCPU."""
    assert _differences(_answer(reserved=64, allocation_ratio=0.0), _answer(reserved=1)) != []
    assert _differences(_answer(reserved=1, allocation_ratio=0.0), _answer(reserved=2)) != []
    assert _differences(_answer(reserved=1), _answer(reserved=2)) != []
