"""A reshape in the journal: what the agent writes it can read back, and an unreadable entry is never undone."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from agent.healing.reshape_journal import after_document, before_json, reshape_from
from agent.model.heal import ConsumerChange, ProviderChange, Reshaping
from agent.repairs.base import rewritten
from tests.rigs import facts
from tests.rigs.reshape import record_of

INVENTORIES = st.lists(st.sampled_from(["VGPU", "VCPU", "CUSTOM_X"]), unique=True).map(
    lambda names: tuple(facts.inventory(name, 4, allocation_ratio=1.5) for name in sorted(names))
)
SETS = st.none() | INVENTORIES
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["providers", "consumers", "consumer", "resource_class", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(sets=st.lists(st.tuples(SETS, SETS), min_size=1, max_size=4), where=st.sampled_from([None, "on cmp1", "gone"]))
def test_a_reshape_is_read_back_unchanged_from_the_journal(sets, where):
    """A reshape moves resources between providers.

    The agent reads the same amounts back that it wrote to its journal.
    """
    providers = tuple(
        ProviderChange(uuid=facts.uuid(n), name=f"n{n}", parent_uuid=facts.uuid(0) if n else None, before=b, after=a)
        for n, (b, a) in enumerate(sets)
    )
    record = record_of("i1", 2)
    write = rewritten(record, record.allocations[:1])
    done = Reshaping(resource_class="VGPU", providers=providers, changes=(ConsumerChange(before=record, write=write),))
    lines = [json.loads(json.dumps(each)) for each in (before_json(done, lambda _: where), after_document(done))]
    told = reshape_from(*lines)
    assert told is not None
    assert (told.resource_class, told.providers) == ("VGPU", providers)
    (consumer,) = told.consumers
    assert (consumer.before, consumer.instance) == (record, where)
    assert [row["amount"] for row in consumer.after["allocations"]] == [1]


@given(before=JSON, after=JSON)
def test_an_invalid_reshape_entry_has_no_changes_to_undo(before, after):
    """If the journal entry of a reshape of providers is invalid, the agent finds no changes in it to undo."""
    told = reshape_from(before, after)
    assert told is None or (told.providers, told.consumers) == ((), ())
