"""What the agent uses above the microversion that it requires."""

from agent.placement.http.client import MINIMUM, TYPED
from agent.placement.microversions import optional_features, spoken


def test_microversion_1_39_has_all_optional_features():
    """Placement's microversion 1.39 has all optional features of the agent. The required minimum has none of them."""
    none, all_missing = optional_features(MINIMUM)
    all_there, nothing = optional_features((1, 39))
    assert (none, nothing) == ((), ())
    assert (
        all_missing
        == all_there
        == (
            "re-parent providers (1.37)",
            "consumer types (1.38)",
            "any-of traits (1.39)",
        )
    )


def test_consumer_types_are_named_with_their_microversion():
    """The agent lists optional features of Placement. For consumer types, the list shows the microversion 1.38."""
    assert optional_features(TYPED)[0][-1] == f"consumer types ({spoken(TYPED)})"
