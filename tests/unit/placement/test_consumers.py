"""Which consumer records each read includes: suspects and new consumers at once, all others in turn."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.model.placement import Allocation, ConsumerRecord, Provider
from agent.model.plan import PutAllocations
from agent.placement.consumers import NO_CONSUMERS, Consumers, read_consumers
from agent.ports import ViewRequest

ROOT = Provider(uuid="root", name="root", parent_uuid=None, generation=1)


class Records:
    """An AllocationWriter that records which consumers were read."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def consumer(self, consumer_uuid: str) -> ConsumerRecord:
        self.asked.append(consumer_uuid)
        return ConsumerRecord(consumer_uuid=consumer_uuid, generation=1, project_id=None, user_id=None, allocations=())

    def put(self, write: PutAllocations) -> None:
        raise AssertionError("nothing is written here")


def held(generations: dict[str, int]):
    allocations = tuple(
        Allocation(consumer_uuid=c, consumer_generation=g, provider_uuid="root", resource_class="VCPU", amount=1)
        for c, g in generations.items()
    )
    return ((ROOT, allocations),)


def looked(last: Consumers, generations: dict[str, int], **wanted: object) -> tuple[Consumers, list[str]]:
    """Return the consumers after the read, and the uuids whose records it requested."""
    usual = {"consumer_reads": 20, "unsuspicious_reads": 0, "fresh_allocations": True}
    request = ViewRequest(root_uuid="root", root_name="root", **(usual | wanted))  # type: ignore[arg-type]
    source = Records()
    after = read_consumers(source, last, held(generations), request)
    assert len(after.records) <= len(generations)
    return after, source.asked


def test_the_first_read_requests_no_consumer_records():
    """When the agent reads Placement for the first time, it requests no records of single consumers."""
    after, asked = looked(NO_CONSUMERS, dict.fromkeys("abc", 1))
    assert (asked, after.records) == ([], ())


def test_records_of_new_and_changed_consumers_are_read():
    """From its second read of Placement on, the agent requests the records of new and of changed consumers."""
    first, _ = looked(NO_CONSUMERS, {"a": 1, "b": 1, "c": 1})
    _, asked = looked(first, {"a": 1, "b": 2, "c": 1, "d": 1})
    assert asked == ["b", "d"]


def test_records_of_new_consumers_are_read_a_few_at_a_time():
    """Placement has five new consumers, and the limit is two per read.

    The agent requests their records in three reads.
    """
    nobody, _ = looked(NO_CONSUMERS, {})
    generations = dict.fromkeys("abcde", 1)
    look, asked, turns = nobody, [], []
    for _ in range(4):
        look, now = looked(look, generations, consumer_reads=2)
        turns.append(len(now))
        asked += now
    assert (turns, asked) == ([2, 2, 1, 0], ["a", "b", "c", "d", "e"])


def test_the_record_of_a_suspicious_consumer_is_read_once():
    """If a consumer's allocation is suspicious, the agent reads the consumer's record from Placement only once."""
    first, asked = looked(NO_CONSUMERS, dict.fromkeys("abc", 1), suspects=("c", "gone"))
    assert asked == ["c"]
    assert looked(first, dict.fromkeys("abc", 1), suspects=("c",))[1] == []


def test_all_consumer_records_are_read_if_there_is_no_limit():
    assert looked(NO_CONSUMERS, dict.fromkeys("abc", 1), unsuspicious_reads=None)[1] == ["a", "b", "c"]


def test_consumers_are_read_by_descending_generation():
    """The agent rereads Placement's consumer records in rounds, and begins each round with the highest generation."""
    generations = {"a": 1, "b": 1, "c": 5, "d": 2}
    look, order = NO_CONSUMERS, []
    for _ in range(8):
        look, asked = looked(look, generations, unsuspicious_reads=1)
        order += asked
    assert order == ["c", "d", "a", "b", "c", "d", "a", "b"]


def test_new_consumers_do_not_delay_reads_of_known_consumers():
    """The agent reads a new Placement consumer at once, and still rereads a known consumer in the same audit."""
    first, _ = looked(NO_CONSUMERS, {"a": 1, "b": 1})
    _, asked = looked(first, {"a": 1, "b": 1, "c": 1}, unsuspicious_reads=1)
    assert asked == ["c", "a"]


def test_a_consumer_removed_from_placement_is_forgotten():
    first, _ = looked(NO_CONSUMERS, {"a": 1, "b": 1}, unsuspicious_reads=None)
    after, asked = looked(first, {"b": 1})
    assert ([record.consumer_uuid for record in after.records], asked) == (["b"], [])


@given(st.integers(0, 30), st.integers(1, 3))
def test_every_consumer_record_is_read_in_turn(count, reads):
    """The agent reads at most a few consumer records per audit, and after enough audits it has read all of them."""
    generations = {f"{number:02}": 1 for number in range(count)}
    look, order = NO_CONSUMERS, []
    for _ in range(-(-count // reads)):
        look, asked = looked(look, generations, unsuspicious_reads=reads)
        order += asked
    assert set(order) == set(generations)
    assert len(order) < count + reads
