"""`explain WHAT`: the first of class, finding and consumer that has the name."""

from dataclasses import replace

import pytest

from agent.cmd.command_line.failures import NoDocument
from agent.cmd.naming.explain_what import answer
from agent.model.finding import FindingState
from agent.usage_error import UsageError
from tests.rigs.reports import FINDING, GUEST, REPORT
from tests.rigs.screens import shown

ALL_READ = replace(REPORT, sources=REPORT.sources[:1])


@pytest.mark.parametrize("what", ["VCPU", "vcpu"])
def test_explain_accepts_a_resource_class_in_upper_or_lower_case(what):
    found = answer(ALL_READ, what).document
    assert (found["subject"], found["resource_class"]) == ("class", "VCPU")


@pytest.mark.parametrize("what", [FINDING.finding.id, FINDING.finding.id[:8]])
def test_explain_accepts_the_id_of_a_finding_or_a_prefix_of_the_id(what):
    found = answer(ALL_READ, what)
    assert found.document["subject"] == "finding"
    assert [each["id"] for each in found.document["findings"]] == [FINDING.finding.id]
    text = found.document["text"]
    assert text == shown(found.blocks)
    assert text[0].startswith("WARNING  volume-foreign  guests/scratch  ")
    assert f"   id: {FINDING.finding.id}" in text
    assert " want: 0 bytes in volumes that are nobody's." in text


@pytest.mark.parametrize("what", [GUEST, "web-1", "guests/scratch"])
def test_explain_accepts_the_uuid_or_the_name_or_the_volume_of_a_consumer(what):
    assert answer(ALL_READ, what).document["subject"] == "consumer"


@pytest.mark.parametrize(
    ("what", "near"),
    [("VCPUS", "VCPU, "), ("volume-foregin", "volume-foreign, "), ("guest/scrtch", "guests/scratch")],
)
def test_explain_of_an_unknown_name_is_an_error_with_the_three_nearest_names(what, near):
    with pytest.raises(UsageError) as raised:
        answer(ALL_READ, what)
    said, _, nearest = str(raised.value).partition("; nearest: ")
    assert said.startswith(f"{what} is no resource class, finding code, finding id or consumer on compute-17")
    assert near in f"{nearest}, "
    assert len(nearest.split(", ")) <= 3


def test_the_explain_command_exits_with_2_only_if_needed_data_were_not_read():
    assert answer(ALL_READ, "VCPU").code == 0
    assert answer(REPORT, "VCPU").code == 2, "the cloud's state was not read"
    unchecked = replace(FINDING, state=FindingState.UNKNOWN, unknown_because=("state",))
    assert answer(ALL_READ, FINDING.finding.id).code == 0
    assert answer(replace(REPORT, findings=(unchecked,)), FINDING.finding.id).code == 2


def test_explain_exits_2_for_an_unknown_consumer_if_a_source_cannot_be_read():
    with pytest.raises(NoDocument, match="as far as the sources could be read") as raised:
        answer(REPORT, "web-9")
    assert raised.value.failure.code == 2
