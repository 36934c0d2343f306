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
def test_a_consumer_is_found_by_uuid_or_name_or_libvirt_domain_or_volume(typed):
    assert consumer_of(NAMED, typed) == GUEST


def test_a_volume_without_an_instance_is_found_by_volume_group_and_volume_name():
    assert consumer_of(NAMED, FOREIGN) == FOREIGN


def test_a_consumer_is_found_by_a_unique_uuid_prefix_of_8_characters():
    only = replace(NAMED, names=(ConsumerName("db", "95a20332-20e6-52bf-aeae-06fd5924e001"),))
    assert consumer_of(only, "95a20332") == "95a20332-20e6-52bf-aeae-06fd5924e001"
    assert consumer_of(only, "95a2033") == "95a2033"


def test_a_consumer_name_takes_precedence_over_an_equal_uuid_prefix():
    named = replace(NAMED, names=(ConsumerName("95a20332", GUEST), ConsumerName("db", "95a20332" + LEAKED[8:])))
    assert consumer_of(named, "95a20332") == GUEST


@pytest.mark.parametrize("typed", ["twin", "22222222"])
def test_an_ambiguous_consumer_name_or_prefix_is_an_error_that_lists_the_uuids(typed):
    with pytest.raises(UsageError) as raised:
        consumer_of(NAMED, typed)
    assert str(raised.value) == f"several consumers match {typed}: {GUEST}, {LEAKED}"


def test_an_unknown_consumer_is_an_error_that_suggests_the_most_similar_name():
    with pytest.raises(UsageError, match=r"^found no consumer web-9 on .*; did you mean web-1"):
        require_consumer(ALL_READ, "web-9")


@pytest.mark.parametrize("typed", ["VCPU", "vcpu", "Vcpu"])
def test_a_resource_class_is_found_if_typed_in_upper_or_lower_case(typed):
    assert require_class(REPORT, typed) == "VCPU"
