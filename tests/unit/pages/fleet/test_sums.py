"""The numbers of the fleet's page equal those of a plain loop, and the order of the hosts changes nothing."""

import datetime
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.fleet.conditions import Condition
from agent.fleet.expected import ExpectedHost
from agent.fleet.view import ExpectedHosts
from agent.model.finding import LEAKING
from agent.pages.fleet.gathered import Folder, gathered
from agent.pages.fleet.page import fleet_page
from agent.pages.fleet.sums import class_sums
from agent.pages.fleet.verdict import headline
from agent.pages.host.loss import losses_of
from agent.pages.render import rendered
from agent.render.documents import report_document
from tests.rigs import fleet_reports as fleet

MADE = fleet.AT + datetime.timedelta(minutes=3)
BROKEN = ("broken.json", {"schema_version": 1, "audit": {}})


def folder(expected: int = 0) -> Folder:
    hosts = tuple(
        ExpectedHost(host=fleet.name(number), group=f"rack-{number % 3}") for number in range(1, expected + 1)
    )
    return Folder(source="a test", made=MADE, expected=ExpectedHosts(hosts=hosts) if expected else None)


def files(documents):
    return [(f"{one['audit']['host']}.json", one) for one in documents]


def facts_of(*reports, expected: int = 0, more=()):
    return gathered([*files(map(report_document, reports)), *more], folder(expected))


@st.composite
def reports(draw):
    """Some hosts, each with leaks, promised amounts without an allocation, and consumers that it shares with others."""
    made = []
    for host in range(1, draw(st.integers(0, 8)) + 1):
        found = [fleet.leaked(host, number) for number in range(draw(st.integers(0, 3)))]
        found += [fleet.missing(host)] if draw(st.booleans()) else []
        found += [fleet.spread(host, host % 8 + 1, fleet.uid("shared", host // 2))] if draw(st.booleans()) else []
        found += [fleet.foreign(host)] if draw(st.booleans()) else []
        made.append(fleet.unread(host) if draw(st.integers(0, 5)) == 0 else fleet.report(host, *found))
    return made


@given(reports(), st.randoms(use_true_random=False))
def test_the_order_of_report_files_does_not_matter(made, chance: random.Random):
    """The fleet page is the same in whatever order the report files are read."""
    all_files = [*files(map(report_document, made)), BROKEN]
    shuffled = chance.sample(all_files, len(all_files))
    assert fleet_page(gathered(all_files, folder(12))) == fleet_page(gathered(shuffled, folder(12)))


@given(reports())
def test_each_sum_on_the_fleet_page_adds_up_all_reports(made):
    """The used and the wasted amounts on the fleet page are the sums of these amounts in all reports."""
    facts = facts_of(*made)
    leaked: Counter[str] = Counter()
    used: Counter[str] = Counter()
    for one in made:
        claims = {c for seen in one.findings if seen.finding.code in LEAKING for c in seen.finding.evidence}
        for claim in claims:
            leaked[claim.resource_class] += claim.amount
        for row in one.inventory:
            used[row.recorded.resource_class] += row.used
    assert +leaked == +Counter(facts.view.sums.leaked)
    sums = {each.resource_class: each for each in class_sums(facts.view.rows)}
    assert {name: each.used for name, each in sums.items()} == used
    assert {name: each.wasted for name, each in sums.items() if each.wasted} == +leaked
    for name, each in sums.items():
        assert each.free - each.excess + each.used == pytest.approx(each.capacity), name
        assert each.free - each.missing <= each.free_after <= each.free + each.wasted


@given(reports())
def test_the_fleet_page_counts_every_host_in_exactly_one_state(made):
    facts = facts_of(*made, expected=12)
    assert len(facts.view.rows) == 12 == sum(facts.view.counts.values())
    assert facts.view.counts[Condition.NEVER] == 12 - len(made)


def test_the_heading_says_how_many_hosts_have_unknown_amounts():
    """The heading of the fleet page says for how many hosts the amounts are unknown."""
    leaks = fleet.report(1, fleet.leaked(1))
    facts = facts_of(leaks, fleet.report(2), fleet.unread(3), expected=5, more=(BROKEN,))
    assert headline(facts) == (
        "The scheduler cannot allocate 8 VCPU, 16 GiB RAM, 80 GiB disk (3.1 % of the RAM capacity): Placement counts "
        "them as used on 1 host, although nothing uses them; "
        "the amounts of 3 hosts and 1 file that is not a report are not known"
    )


@pytest.mark.parametrize(
    ("made", "words"),
    [
        ((), "It is not known how much is wasted: there are no hosts"),
        ((fleet.report(1),), "Nothing is wasted (1 host checked): the scheduler can allocate everything that is free"),
        ((fleet.unread(1),), "It is not known how much is wasted: none of 1 host could be read in full"),
        (
            (fleet.report(1), fleet.unread(2)),
            "Nothing is wasted (1 host checked): the scheduler can allocate everything that is free; the amounts of 1 "
            "host are not known",
        ),
    ],
)
def test_waste_is_unknown_if_no_host_was_read_in_full(made, words):
    """If no host was read in full, the heading of the fleet page says that the wasted amount is not known."""
    assert headline(facts_of(*made)) == words


def test_only_the_newest_report_of_a_host_is_counted():
    """If there are two reports of one host, the fleet page counts only the later report."""
    new, old = fleet.report(1, fleet.leaked(1)), fleet.report(1, started_at=fleet.ago(days=1))
    for made in ((new, old), (old, new)):
        both = [(f"{place}.json", report_document(one)) for place, one in enumerate(made)]
        facts = gathered(both, folder())
        assert facts.view.sums.leaked["VCPU"] == 8
        assert facts.older == 1


def test_a_host_with_a_report_17_minutes_behind_is_silent():
    """If a host's report is 17 minutes behind the newest report, the fleet page calls the host silent."""
    facts = facts_of(fleet.report(1), fleet.report(2, started_at=fleet.ago(minutes=17)), fleet.report(60))
    assert {row.host for row in facts.view.rows if row.condition is Condition.SILENT} == {fleet.name(2)}


def test_a_report_from_the_future_makes_no_other_host_silent():
    """A report with a time nine days ahead does not make the other hosts' reports look too old on the fleet page."""
    ahead = fleet.report(2, started_at=fleet.iso(MADE + datetime.timedelta(days=9)))
    facts = facts_of(fleet.report(1), ahead)
    assert {row.condition for row in facts.view.rows} == {Condition.CLEAN}


def test_a_consumer_with_allocations_on_two_hosts_has_one_row():
    """If a consumer has allocations on two hosts, the fleet page shows one row with both hosts."""
    consumer = fleet.uid("shared", 1)
    page = rendered(fleet_page(facts_of(*(fleet.report(h, fleet.spread(h, 3 - h, consumer)) for h in (1, 2)))))
    assert page.count(consumer) == 1
    assert f'<td class="word ">{fleet.name(2)}</td><td>{fleet.name(1)}: 4 VCPU</td>' in page.replace("\n", "")


def test_an_overfull_host_does_not_reduce_the_free_sum():
    """If one host has 205 of 192 VCPU allocated, the free VCPU of the other hosts are still added up in full."""
    over = fleet.report(1, *(fleet.leaked(1, number) for number in range(15)))
    (vcpu, *_) = class_sums(facts_of(over, fleet.report(2)).view.rows)
    used = [85 + 15 * 8, 86]
    assert (vcpu.used, vcpu.capacity, vcpu.over, vcpu.excess) == (sum(used), 2 * 192, 1, used[0] - 192)
    assert vcpu.free == 192 - used[1]
    assert vcpu.free_after == vcpu.free + 192 - 85


def test_the_fleet_page_adds_up_the_amounts_sold_twice():
    """The fleet page adds up, over all hosts, the amounts that are sold twice: in use, but free in Placement."""
    made = [fleet.report(1, fleet.missing(1)), fleet.report(2, fleet.stranger(2), ledger=fleet.strange_rows(2))]
    own: Counter[str] = Counter()
    for one in made:
        own.update(losses_of(one).sold_twice.amounts)
    assert own == {"VCPU": 10, "MEMORY_MB": 8192 + 12_288}
    facts = facts_of(*made)
    sums = facts.view.sums
    assert Counter(sums.missing) + Counter(sums.uncovered) == own
    text = "; 10 VCPU, 20 GiB RAM on 2 hosts are in use, but Placement may allocate them again"
    assert text in headline(facts)


def test_leaked_amounts_are_free_after_heal():
    """The fleet page adds leaked amounts in Placement to what will be free after a run of `stocktake heal`."""
    (vcpu, *_) = class_sums(facts_of(fleet.report(1, fleet.leaked(1), fleet.missing(1))).view.rows)
    assert (vcpu.wasted, vcpu.missing) == (8, 4)
    assert vcpu.free_after == vcpu.free + 8 - 4
