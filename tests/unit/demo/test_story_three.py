"""The agent's own answer also shows the demo's story 3: the two numbers, and max_unit as the limit."""

import dataclasses

import pytest

from agent.demo import cast
from agent.demo.stories import Repair, Seen, stories
from agent.model.finding import Finding, SeenFinding, Severity
from agent.model.placement import Inventory
from agent.model.report import AuditReport, InventoryRow, Outcome
from agent.why.model import Constraint, Obstacle, TreeAnswer

REPORT = AuditReport(
    audit_id="a", host="h", node="h", provider_uuid=cast.FIRST.root_uuid, role="owner", reasons=("demo",),
    started_at="2026-11-21T10:00:00.000Z", duration_ms=1.0, outcome=Outcome.FINDINGS, sources=(),
    findings=(
        SeenFinding(
            finding=Finding(
                code="consumer-on-several-providers", severity=Severity.ERROR, subject=cast.EVACUATED.uuid,
                consumer_uuid=cast.EVACUATED.uuid, expected="one", actual="two", evidence=(), remedy="r",
            ),
            first_seen_at="2026-11-21T10:00:00.000Z", confirmed=True,
        ),
    ),
)  # fmt: skip
VCPU = Inventory(resource_class="VCPU", total=48, max_unit=48, allocation_ratio=4.0)
FIRST = Obstacle(
    constraint=Constraint.MAX_UNIT,
    words="64 are wanted, 48 given",
    change="ask for at most 48",
    wanted=64,
    available=48,
)


def told(**changes):
    answer = TreeAnswer(
        root_uuid=cast.FIRST.root_uuid, root_name="h", obstacles=(dataclasses.replace(FIRST, **changes),)
    )
    return third(answer)


NO_REPAIR = Repair(
    finding_id="", change="", undo="", entry_id=None, used_before=None, used_after=None, used_at_end=None
)


def third(answer):
    row = InventoryRow(provider="h", provider_uuid=cast.FIRST.root_uuid, wanted=VCPU, recorded=VCPU, used=24)
    seen = Seen(
        first=REPORT, second=REPORT, first_holds=(row,), second_holds=(), offered_for_asked=(),
        offered_for_max_unit=(cast.FIRST.root_uuid,), answer=answer, repair=NO_REPAIR,
    )  # fmt: skip
    return stories(seen)[2]


def test_story_3_of_the_demo_quotes_stocktake_why():
    """Story 3 of the demo asks for a server that is too large, and quotes the reason that `stocktake why` gives."""
    story = told()
    assert story.shown
    assert (
        "the command stocktake why names the obstacle max-unit: 64 are wanted, 48 given. "
        "Smallest change: ask for at most 48"
    ) in story.evidence
    assert story.ask == "why --resource VCPU=64"


@pytest.mark.parametrize(
    "changes", [{"constraint": Constraint.CAPACITY}, {"available": 192}, {"wanted": 65}], ids=["other", "room", "asked"]
)
def test_a_wrong_answer_marks_story_3_as_not_shown(changes):
    """The demo marks story 3 as not shown if `stocktake why` answers with a wrong reason or number."""
    assert not told(**changes).shown


@pytest.mark.parametrize("answer", [None, TreeAnswer(root_uuid="u", root_name="h")], ids=["no tree", "fits"])
def test_story_3_is_not_shown_if_the_server_fits(answer):
    """Story 3 of the demo, about a server that is too large, is not shown if the server fits."""
    assert not third(answer).shown
