"""Which image formats can become a disk here: scenarios 113 and 114."""

from __future__ import annotations

import pytest

from agent.model.plan import PutTraits
from agent.model.snapshot import LIBVIRT
from agent.traits import image_types
from tests.rigs.facts import decided, root, settings, snapshot, usual_traits, view

ALWAYS = {"AKI", "AMI", "ARI", "ISO", "RAW"}
ALL = ALWAYS | {"QCOW2", "PLOOP"}

CHOICES = {
    "the default": ({}, ALWAYS | {"QCOW2"}),
    "s113 lvm, not converted": ({"images_type": "lvm", "force_raw_images": False}, ALWAYS),
    "lvm, converted": ({"images_type": "lvm", "force_raw_images": True}, ALWAYS | {"QCOW2"}),
    "rbd, not converted": ({"images_type": "rbd", "force_raw_images": False}, ALWAYS),
    "flat, not converted": ({"images_type": "flat", "force_raw_images": False}, ALWAYS | {"QCOW2"}),
    "parallels": ({"virt_type": "parallels"}, ALL),
    "s114 raw is excluded": ({"image_types_excluded": frozenset({"raw"})}, ALWAYS - {"RAW"} | {"QCOW2"}),
    "s114 all are excluded": ({"image_types_excluded": frozenset(name.lower() for name in ALL)}, set()),
    "excluding what was never offered": (
        {"image_types_excluded": frozenset({"vmdk", "ploop"})},
        ALWAYS | {"QCOW2"},
    ),
}


@pytest.mark.parametrize(("choice", "expected"), CHOICES.values(), ids=CHOICES.keys())
@pytest.mark.parametrize("facts", [snapshot(), snapshot(lost=[LIBVIRT])], ids=["", "no libvirt"])
def test_the_image_type_traits_follow_the_configuration(choice, expected, facts):
    """The traits of image formats depend on options such as images_type, even if libvirt could not be read."""
    wish = image_types.wish(facts, settings(**choice))
    assert wish.wanted == {f"COMPUTE_IMAGE_TYPE_{name}" for name in expected}
    assert wish.unwanted == {f"COMPUTE_IMAGE_TYPE_{name}" for name in ALL - expected}


def written(before, **choice):
    """Return the traits that an audit writes to a root with the traits ``before``."""
    plan = decided(snapshot(placement=view(provider=root(traits=before))), settings(**choice)).plan
    (put,) = [write for write in plan.writes if isinstance(write, PutTraits)]
    return set(put.traits)


def test_s114_the_trait_of_an_excluded_image_type_is_removed():
    """The agent removes COMPUTE_IMAGE_TYPE_RAW from the root provider if the configuration excludes raw images."""
    before = usual_traits()
    assert written(before, image_types_excluded=frozenset({"raw"})) == before - {"COMPUTE_IMAGE_TYPE_RAW"}


def test_s108_the_trait_of_an_unsupported_image_type_is_removed():
    """An operator set COMPUTE_IMAGE_TYPE_PLOOP.

    The agent removes the trait, because the host cannot use this format.
    """
    # Scenario 109: the operator's own trait, and a trait that the driver does not mention, stay.
    operators = {"COMPUTE_IMAGE_TYPE_PLOOP", "COMPUTE_IMAGE_TYPE_VMDK", "CUSTOM_X"}
    assert written(usual_traits() | operators) == usual_traits() | operators - {"COMPUTE_IMAGE_TYPE_PLOOP"}
