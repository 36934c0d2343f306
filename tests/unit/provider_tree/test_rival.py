"""Other writers of the root: nova-compute is known by its trait and its heartbeat, any other writer by two strikes."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from agent.model.audit import WrittenProvider
from agent.model.books import DesiredProvider, Frozen
from agent.model.finding import Silence
from agent.model.placement import ROOT
from agent.provider_tree.rival import judged, remembered, rival_of, silence, without_foreign_ratios
from agent.resources import OWNED_CLASSES
from tests.rigs.facts import NODE, NOW, ROOT_UUID, inventory, root, service, settings, state

NOVA = frozenset({"COMPUTE_NODE", "OWNER_NOVA"})
OURS = frozenset({"COMPUTE_NODE", "CUSTOM_OWNER_STOCKTAKE"})


def seen(seconds, **changes):
    return state(service=service(last_seen_up=NOW - datetime.timedelta(seconds=seconds), **changes))


ALIVE, DEAD = seen(5), seen(61)
NEW = state(service=service(last_seen_up=None, created_at=NOW - datetime.timedelta(seconds=5)))
NEVER = state(service=service(last_seen_up=None, created_at=NOW - datetime.timedelta(days=1)))

# (traits, state, takeover) -> whether the agent may write
GUARD = {
    "ours": (OURS, DEAD, False, True),
    "ours, nova-compute alive": (OURS, ALIVE, True, False),
    "nova's, dead": (NOVA, DEAD, False, False),
    "nova's, dead, takeover": (NOVA, DEAD, True, True),
    "nova's, alive, takeover": (NOVA, ALIVE, True, False),
    "nova's, alive to the second": (NOVA, seen(60), True, False),
    "nova's, no service row, takeover": (NOVA, state(), True, True),
    "nova's, state not read, takeover": (NOVA, None, True, False),
    "nova's, started five seconds ago": (NOVA, NEW, True, False),
    "nova's, never reported for a day": (NOVA, NEVER, True, True),
    "nova's, forced down and still reporting": (NOVA, seen(5, forced_down=True), True, False),
    "nova's, forced down and silent": (NOVA, seen(61, forced_down=True), True, True),
    "nova's, disabled is not dead": (NOVA, seen(5, disabled=True), True, False),
    "both, nova-compute alive": (NOVA | OURS, ALIVE, False, False),
    "both, state not read": (NOVA | OURS, None, False, False),
    "nobody's": (frozenset(), DEAD, False, True),
    "nobody's, nova-compute alive": (frozenset(), ALIVE, False, False),
}


@pytest.mark.parametrize(("traits", "known", "takeover", "may_write"), GUARD.values(), ids=GUARD.keys())
def test_nova_compute_is_detected_by_its_trait_or_heartbeat(traits, known, takeover, may_write):
    """The agent detects nova-compute by a trait of the provider or by a recent heartbeat."""
    rival = rival_of(root(traits=traits), known, settings(takeover=takeover), None, silent_for_s=60)
    assert (rival is None) is may_write


@pytest.mark.parametrize("traits", [NOVA, NOVA | OURS], ids=["a takeover", "it came back"])
@pytest.mark.parametrize(("silent_for_s", "may_write"), [(0, False), (56, False), (57, True), (60, True)])
def test_a_takeover_waits_for_57_s_of_silence(traits, silent_for_s, may_write):
    """The agent takes nova-compute's place only after nova-compute has been silent for at least 57 s."""
    # nova-compute sets its trait seconds before its first heartbeat (measured): the service row is from its last run.
    rival = rival_of(root(traits=traits), DEAD, settings(takeover=True), None, silent_for_s)
    assert (rival is None) is may_write


def test_a_heartbeat_is_compared_with_the_newest_in_the_cell():
    """nova-compute counts as running if its heartbeat is only 5 s older than the newest heartbeat in the cell."""
    late = datetime.timedelta(seconds=50)
    reports = dataclasses.replace(seen(55), heartbeat=NOW - late)
    assert rival_of(root(traits=NOVA), reports, settings(takeover=True), None, 60) is not None
    ahead = dataclasses.replace(seen(5), now=NOW + datetime.timedelta(seconds=90))
    assert rival_of(root(traits=NOVA), ahead, settings(takeover=True), None, 60) is not None


BEFORE = Silence((NOW - datetime.timedelta(seconds=61)).isoformat(), 7, 100)
# (present root, state) -> remembered silence
LOOKS = {
    "nothing moved": (root(traits=NOVA, generation=7), DEAD, BEFORE),
    "a heartbeat": (root(traits=NOVA, generation=7), ALIVE, Silence(ALIVE.service.last_seen_up.isoformat(), 7, 130)),
    "somebody wrote the provider": (root(traits=NOVA, generation=8), DEAD, BEFORE._replace(generation=8, since=130)),
    "its service row is gone": (root(traits=NOVA, generation=7), state(), Silence("", 7, 130)),
    "the state was not read": (root(traits=NOVA, generation=8), None, BEFORE),
    "Placement was not read": (None, ALIVE, BEFORE),
    "the provider is not nova-compute's": (root(traits=OURS, generation=7), DEAD, None),
}


@pytest.mark.parametrize(("there", "known", "after"), LOOKS.values(), ids=LOOKS.keys())
def test_a_sign_of_nova_compute_restarts_the_takeover_wait(there, known, after):
    """The agent waits to take nova-compute's place. A new heartbeat or a changed provider starts the wait again."""
    assert silence(BEFORE, there, known, 130) == after


def test_nova_compute_is_reported_even_without_a_provider():
    """The agent reports a running nova-compute as another writer even if the host has no provider in Placement."""
    assert rival_of(None, None, settings(), written(strikes=2)) is None
    assert rival_of(None, DEAD, settings(), None) is None
    assert rival_of(None, ALIVE, settings(), None) is not None


VCPU = inventory("VCPU", 4, allocation_ratio=4.0)
MEMORY = inventory("MEMORY_MB", 512)


def written(*inventories, strikes=0):
    return WrittenProvider(provider_uuid=ROOT_UUID, inventories=inventories or (VCPU,), strikes=strikes)


def wanted(*inventories, **changes):
    plain = DesiredProvider(
        key=ROOT,
        uuid=ROOT_UUID,
        name=NODE,
        parent_uuid=None,
        inventories=inventories or (VCPU,),
        owned_classes=OWNED_CLASSES,
    )
    return dataclasses.replace(plain, **changes)


BY_API = dataclasses.replace(VCPU, allocation_ratio=16.0)
THEIRS = dataclasses.replace(VCPU, total=99)
FROZEN = (Frozen(name="VCPU", why="libvirt could not be read"),)
# (strikes so far, existing inventories, presently wanted provider) -> strikes
STRIKES = {
    "as we left it": (0, (VCPU,), wanted(), 0),
    "changed": (0, (THEIRS,), wanted(), 1),
    "changed a second time": (1, (THEIRS,), wanted(), 2),
    "changed, and then not": (1, (VCPU,), wanted(), 0),
    "taken away": (0, (), wanted(), 1),
    "a ratio set through the API is kept, and is no strike": (0, (BY_API,), wanted(BY_API), 0),
    "changed to what is wanted now anyway": (1, (THEIRS,), wanted(THEIRS), 0),
    "a class that is not ours": (0, (VCPU, inventory("CUSTOM_X", 1)), wanted(), 0),
    "a class that is frozen proves nothing": (0, (THEIRS,), wanted(frozen=FROZEN), 0),
    "two stay two": (2, (VCPU,), wanted(), 2),
}


@pytest.mark.parametrize(("before", "there", "now_wanted", "after"), STRIKES.values(), ids=STRIKES.keys())
def test_audits_that_find_changes_by_others_are_counted(before, there, now_wanted, after):
    """The agent counts how many audits in a row found its inventories in Placement changed by another writer."""
    judgement = judged(written(strikes=before), root(*there), now_wanted)
    assert judgement == written(strikes=after)


def test_a_deleted_provider_is_no_sign_of_another_writer():
    """Only a change of the agent's inventory counts as a sign of another writer.

    The deletion of a provider does not.
    """
    assert judged(written(strikes=1), None, wanted()) is None


def test_no_other_writer_is_seen_before_the_first_write():
    """The agent has never written the provider. It does not report another writer, whatever the inventories are."""
    assert judged(None, root(THEIRS), wanted()) is None


@pytest.mark.parametrize(("strikes", "stopped"), [(0, False), (1, False), (2, True)])
def test_another_writer_is_reported_after_two_audits(strikes, stopped):
    """The agent reports another writer after two audits found changed inventories. One audit is not enough."""
    rival = rival_of(root(THEIRS, traits=OURS), state(), settings(), written(strikes=strikes))
    assert (rival is not None) is stopped


def test_the_message_shows_what_another_writer_changed():
    """Another writer changed the agent's inventory in Placement.

    The agent's message shows the old and the new inventory.
    """
    rival = rival_of(root(THEIRS, traits=OURS), state(), settings(), written(VCPU, MEMORY, strikes=2))
    assert rival is not None
    assert rival.why == (
        "2 audits in a row found that another writer changed this agent's inventories: "
        "MEMORY_MB total=512 reserved=0 max_unit=512 ratio=1.0 is now absent; "
        "VCPU total=4 reserved=0 max_unit=4 ratio=4.0 is now VCPU total=99 reserved=0 max_unit=4 ratio=4.0"
    )


def test_another_writer_is_reported_after_its_change_is_gone():
    """Two audits found changes by another writer, and now the changes are gone. The agent still reports the writer."""
    rival = rival_of(root(VCPU, traits=OURS), state(), settings(), written(strikes=2))
    assert rival is not None
    assert rival.why.endswith("the change is gone now")


def test_a_write_of_the_agent_does_not_reset_the_change_count():
    """The agent counts changes by other writers. A write of the agent does not reset this count."""
    assert remembered(written(strikes=1), wanted(MEMORY)) == written(MEMORY, strikes=1)
    assert remembered(None, wanted(MEMORY)) == written(MEMORY)


RATIOS = {
    "set alone, through the API: kept": (BY_API, 16.0),
    "it came with another total: ours stays": (dataclasses.replace(THEIRS, allocation_ratio=16.0), 4.0),
    "it came with another largest unit": (dataclasses.replace(BY_API, max_unit=2**31 - 1), 4.0),
    "another reserve alone says nothing about it": (dataclasses.replace(BY_API, reserved=1), 16.0),
}


@pytest.mark.parametrize(("there", "ratio"), RATIOS.values(), ids=RATIOS.keys())
def test_a_ratio_is_kept_if_nothing_else_was_changed(there, ratio):
    """An operator changed only the allocation ratio of an inventory. The agent keeps the new ratio."""
    (read,) = without_foreign_ratios(root(there), written()).inventories
    assert read == dataclasses.replace(there, allocation_ratio=ratio)


def test_the_ratio_of_another_clients_inventory_is_kept():
    """The agent keeps the allocation ratio of an inventory that only another client has written."""
    odd = root(dataclasses.replace(THEIRS, allocation_ratio=16.0), inventory("CUSTOM_X", 1, allocation_ratio=3.0))
    assert without_foreign_ratios(odd, None) == odd
    assert without_foreign_ratios(odd, written()).inventory("CUSTOM_X") == inventory(
        "CUSTOM_X", 1, allocation_ratio=3.0
    )
