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
def test_explain_accepts_a_resource_class_in_any_case(what):
    """`stocktake explain vcpu` is the same as `stocktake explain VCPU`."""
    found = answer(ALL_READ, what).document
    assert (found["subject"], found["resource_class"]) == ("class", "VCPU")


@pytest.mark.parametrize("what", [FINDING.finding.id, FINDING.finding.id[:8]])
def test_explain_accepts_a_finding_id_or_its_beginning(what):
    found = answer(ALL_READ, what)
    assert found.document["subject"] == "finding"
    assert [each["id"] for each in found.document["findings"]] == [FINDING.finding.id]
    text = found.document["text"]
    assert text == shown(found.blocks)
    assert text[0].startswith("WARNING  volume-foreign  guests/scratch  ")
    assert f"   id: {FINDING.finding.id}" in text
    assert " want: 0 bytes in volumes that are nobody's." in text


@pytest.mark.parametrize("what", [GUEST, "web-1", "guests/scratch"])
def test_explain_accepts_an_instance_or_a_volume(what):
    """`stocktake explain` accepts an instance's UUID or name, and a volume's name such as guests/scratch."""
    assert answer(ALL_READ, what).document["subject"] == "consumer"


@pytest.mark.parametrize(
    ("what", "near"),
    [("VCPUS", "VCPU, "), ("volume-foregin", "volume-foreign, "), ("guest/scrtch", "guests/scratch")],
)
def test_explain_of_an_unknown_name_suggests_similar_names(what, near):
    """`stocktake explain VCPUS` fails, and the error message has up to three similar names, among them VCPU."""
    with pytest.raises(UsageError) as raised:
        answer(ALL_READ, what)
    said, _, nearest = str(raised.value).partition("; nearest: ")
    assert said.startswith(f"{what} is no resource class, finding code, finding id or consumer on compute-17")
    assert near in f"{nearest}, "
    assert len(nearest.split(", ")) <= 3


def test_explain_exits_2_only_if_it_lacks_needed_data():
    """`stocktake explain` exits with 2 if it lacks data for the answer, and otherwise with 0."""
    assert answer(ALL_READ, "VCPU").code == 0
    assert answer(REPORT, "VCPU").code == 2, "the cloud's state was not read"
    unchecked = replace(FINDING, state=FindingState.UNKNOWN, unknown_because=("state",))
    assert answer(ALL_READ, FINDING.finding.id).code == 0
    assert answer(replace(REPORT, findings=(unchecked,)), FINDING.finding.id).code == 2


def test_explain_exits_2_if_a_name_may_be_in_unread_data():
    """`stocktake explain` cannot find the name that the operator typed, and some data could not be read."""
    with pytest.raises(NoDocument, match="as far as the sources could be read") as raised:
        answer(REPORT, "web-9")
    assert raised.value.failure.code == 2
