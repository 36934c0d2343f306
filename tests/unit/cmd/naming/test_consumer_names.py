"""Consumers by uuid, by the beginning of a uuid, by name and as GROUP/VOLUME."""

from dataclasses import replace

import pytest

from agent.cmd.naming.consumer_names import consumer_of
from agent.cmd.naming.validate_names import require_class, require_consumer
from agent.model.report import ConsumerName
from agent.usage_error import UsageError
from tests.rigs.reports import GUEST, LEAKED, REPORT

FOREIGN = "guests/scratch"
DOMAIN = ConsumerName("instance-0000002a", GUEST)
OF_GUEST = replace(REPORT.storage[0], owner_kind="instance", owner=GUEST, source="lvm guests/web-1_disk")
NAMED = replace(
    REPORT,
    names=(*REPORT.names, DOMAIN, ConsumerName("twin", GUEST), ConsumerName("twin", LEAKED)),
    storage=(*REPORT.storage, OF_GUEST),
)
ALL_READ = replace(NAMED, sources=REPORT.sources[:1])


@pytest.mark.parametrize(
    "typed",
    [GUEST, GUEST.upper(), GUEST.replace("-", ""), "22222222-0000-4000-8000-000000000001"[:36], "web-1",
     "instance-0000002a", "guests/web-1_disk"],
)  # fmt: skip
def test_an_instance_is_found_by_uuid_or_name_or_volume(typed):
    """The operator may type an instance's UUID, its name in nova, its libvirt domain's name or one of its volumes."""
    assert consumer_of(NAMED, typed) == GUEST


def test_a_volume_is_found_by_its_group_and_name():
    """A volume without an instance is found by its volume group and name, such as guests/scratch."""
    assert consumer_of(NAMED, FOREIGN) == FOREIGN


def test_an_instance_is_found_by_8_characters_of_its_uuid():
    """The operator may type the first 8 characters of an instance's UUID; 7 characters are not enough."""
    only = replace(NAMED, names=(ConsumerName("db", "95a20332-20e6-52bf-aeae-06fd5924e001"),))
    assert consumer_of(only, "95a20332") == "95a20332-20e6-52bf-aeae-06fd5924e001"
    assert consumer_of(only, "95a2033") == "95a2033"


def test_an_instance_name_wins_over_an_equal_uuid_prefix():
    """The name 95a20332 finds the instance with this name, even if another instance's UUID begins with 95a20332."""
    named = replace(NAMED, names=(ConsumerName("95a20332", GUEST), ConsumerName("db", "95a20332" + LEAKED[8:])))
    assert consumer_of(named, "95a20332") == GUEST


@pytest.mark.parametrize("typed", ["twin", "22222222"])
def test_an_ambiguous_instance_name_is_an_error(typed):
    """If several instances match the name or the beginning of a UUID, the error message lists their UUIDs."""
    with pytest.raises(UsageError) as raised:
        consumer_of(NAMED, typed)
    assert str(raised.value) == f"several consumers match {typed}: {GUEST}, {LEAKED}"


def test_an_unknown_instance_name_suggests_a_similar_name():
    """The operator types web-9, and no instance has this name; the error message asks "did you mean web-1"."""
    with pytest.raises(UsageError, match=r"^found no consumer web-9 on .*; did you mean web-1"):
        require_consumer(ALL_READ, "web-9")


@pytest.mark.parametrize("typed", ["VCPU", "vcpu", "Vcpu"])
def test_a_resource_class_is_found_in_upper_or_lower_case(typed):
    assert require_class(REPORT, typed) == "VCPU"
