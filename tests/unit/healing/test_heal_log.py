"""What the daemon logs of its heal: a change with both states and its undo, waiting once, refusal once."""

import logging
from dataclasses import replace

from agent.healing import heal_log
from agent.healing.attempt import WriteAttempt
from agent.healing.heal import Healed
from agent.host_files.journal import Result
from agent.model.finding import FindingState
from agent.model.heal import HealAction, HealRefusal
from agent.model.placement import Allocation, ConsumerRecord
from agent.model.plan import PutAllocations
from agent.telemetry import events
from agent.telemetry.events import Varies
from tests.rigs.log_days import ROOT, leak, report_of, seen

LEAK = seen(leak())
OTHER_TREE = "bd0379cb-12b7-54ae-a063-fe1cfa3fdfa4"
CONSUMER = LEAK.finding.consumer_uuid


def allocation(provider: str, resource_class: str, amount: int) -> Allocation:
    return Allocation(
        consumer_uuid=CONSUMER, consumer_generation=1, provider_uuid=provider, resource_class=resource_class,
        amount=amount,
    )  # fmt: skip


HERE = (allocation(ROOT, "VCPU", 8), allocation(ROOT, "MEMORY_MB", 16384))
THERE = (allocation(OTHER_TREE, "VCPU", 8),)
ACTION = HealAction(
    finding_id=LEAK.finding.id,
    code=LEAK.finding.code,
    before=ConsumerRecord(
        consumer_uuid=CONSUMER, generation=1, project_id="p", user_id="u", consumer_type="INSTANCE",
        allocations=(*HERE, *THERE),
    ),
    write=PutAllocations(
        consumer_uuid=CONSUMER, consumer_generation=1, project_id="p", user_id="u", consumer_type=None,
        allocations=THERE,
    ),
    why="heal removes 8 VCPU from this host; the consumer keeps its allocations on other hosts",
)  # fmt: skip


def healed(result: Result, *, entry_id: str | None = "3f9c00000000", unproven: bool = False) -> Healed:
    return Healed(
        action=ACTION, outcome=WriteAttempt(result=result, words="in words", entry_id=entry_id, unproven=unproven)
    )


def refusal(guard: str, why: str = "116 s left") -> HealRefusal:
    return HealRefusal(
        finding_id=LEAK.finding.id, code=LEAK.finding.code, consumer_uuid=CONSUMER, guard=guard, why=why, waits=True
    )


def runs(*each, findings=(LEAK,)):
    """Return the lines of each run of heal; a run is its refusals and its changes."""
    state, logged = heal_log.HealLogState(), []
    for refusals, changes in each:
        state, lines = heal_log.lines(state, refusals, changes, report_of(*findings))
        logged.append([(line.event, line.level) for line in lines])
    return logged


def test_a_repair_is_logged_with_its_undo_command():
    """The log line of a repair shows the old and new allocations and the `stocktake undo` command."""
    _, (line,) = heal_log.lines(heal_log.HealLogState(), (), (healed(Result.DONE),), report_of(LEAK))
    assert (line.event, line.level) == (events.FINDING_HEALED, logging.WARNING)
    assert line.fields["entry_id"] == "3f9c00000000"
    assert line.fields["undo"] == "stocktake undo 3f9c00000000"
    assert line.fields["before"] == f"16384 MiB of MEMORY_MB, 8 VCPU on {ROOT}; 8 VCPU on {OTHER_TREE}"
    assert line.fields["after"] == f"8 VCPU on {OTHER_TREE}"
    assert line.fields["subject"].endswith(CONSUMER)


def test_the_log_shows_that_no_allocation_is_left():
    """If a repair removes all allocations of a consumer, its log line shows "no allocation" as the new state."""
    action = replace(ACTION, write=replace(ACTION.write, allocations=()))
    change = replace(healed(Result.DONE), action=action)
    _, (line,) = heal_log.lines(heal_log.HealLogState(), (), (change,), report_of(LEAK))
    assert line.fields["after"] == "no allocation"


def test_a_repair_not_in_the_journal_is_logged_without_undo():
    """If a repair was refused before its journal entry was written, the log shows no `stocktake undo` command."""
    _, (line,) = heal_log.lines(heal_log.HealLogState(), (), (healed(Result.REFUSED, entry_id=None),), report_of(LEAK))
    assert (line.event, line.level) == (events.HEAL_REFUSED, logging.WARNING)
    assert not {"undo", "before", "after", "entry_id"} & line.fields.keys()


def test_a_repair_of_unknown_outcome_is_logged_as_an_error():
    assert runs(((), (healed(Result.UNKNOWN),))) == [[(events.HEAL_UNKNOWN, logging.ERROR)]]


def test_a_waiting_repair_is_logged_as_info():
    """The log line of a waiting repair has level info, and the line of a refused repair has level warning."""
    waits = replace(refusal("minimum-age"), waits=True, wait_s=115.6)
    assert runs(((waits,), ())) == [[(events.HEAL_WAITING, logging.INFO)]]
    assert runs(((replace(waits, waits=False),), ())) == [[(events.HEAL_REFUSED, logging.WARNING)]]
    _, (line,) = heal_log.lines(heal_log.HealLogState(), (waits,), (), report_of(LEAK))
    assert (line.fields["guard"], line.fields["wait_s"]) == ("minimum-age", 116)


def test_a_waiting_repair_is_logged_again_for_a_new_reason():
    """The daemon logs once that a repair waits, and again only if a different guard holds the repair back."""
    ages = [((refusal("minimum-age", f"{left} s left"),), ()) for left in (116, 56)]
    others = [((refusal("max-percent"),), ()), ((refusal("minimum-age"),), ())]
    waiting = [(events.HEAL_WAITING, logging.INFO)]
    assert runs(*ages, *others) == [waiting, [], waiting, []]


def test_a_waiting_repair_is_logged_again_if_its_finding_returns():
    """The daemon logs again that a repair waits if the repair's finding had disappeared for an audit."""
    state, first = heal_log.lines(heal_log.HealLogState(), (refusal("minimum-age"),), (), report_of(LEAK))
    state, _ = heal_log.lines(state, (), (), report_of())
    _, again = heal_log.lines(state, (refusal("minimum-age"),), (), report_of(LEAK))
    assert len(first) == len(again) == 1


def test_a_waiting_repair_of_an_unchecked_finding_is_not_logged():
    """The daemon logs nothing about a waiting repair if the last audit could not check the repair's finding."""
    unknown = seen(leak(), FindingState.UNKNOWN, "placement")
    assert runs(((refusal("sources-fresh"),), ()), findings=(unknown,)) == [[]]


def test_a_repair_stopped_by_old_nova_data_is_logged_once():
    """If nova's data are too old for a repair in two runs in a row, the daemon logs this only in the first run."""
    unproven = ((), (healed(Result.REFUSED, entry_id=None, unproven=True),))
    assert [len(lines) for lines in runs(unproven, unproven, ((), ()), unproven)] == [1, 0, 0, 1]


def test_every_heal_log_message_has_one_fixed_log_level():
    assert not [event for event in events.EVENTS if event.logger.name == "HEAL" and isinstance(event.level, Varies)]
