"""What the agent uses above the microversion that it requires."""

from agent.placement.http.client import MINIMUM, TYPED
from agent.placement.microversions import optional_features, spoken


def test_the_minimum_microversion_has_no_optional_features_and_1_39_has_all():
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


def test_microversion_1_38_adds_the_optional_feature_consumer_types():
    assert optional_features(TYPED)[0][-1] == f"consumer types ({spoken(TYPED)})"
