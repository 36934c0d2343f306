"""What ``watch`` keeps of a message: known values, None for unknown ones, and nothing of what is not a host's state."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.fleet.conditions import Condition
from agent.fleet.host import MOST_ENTRIES, MOST_TEXT, host_seen, sender_of
from tests.rigs.fleet_hosts import DOCUMENT, NOW, amounts, broken, clean, seen

NEWER = (
    "severities", "confirmed", "unknown", "unknown_since", "causes_by_code", "leaked", "missing", "oldest_at", "worst",
    "held_back", "heal", "resources_left_out",
)  # fmt: skip


def test_fields_that_an_older_agent_omits_are_unknown():
    """An older agent sends no severities and no leaked amounts.

    `stocktake watch` takes them as unknown, never as zero.
    """
    older = {name: value for name, value in DOCUMENT.items() if name not in NEWER}
    found = host_seen(older, 0.0)
    assert (found.severities, found.leaked, found.held_back, found.heal_enabled) == (None, None, None, None)
    assert found.told is Condition.UNRATED


def test_watch_shows_the_right_age_if_a_host_clock_is_wrong():
    """`stocktake watch` shows the right age of a host's oldest finding, even if the host's clock is years fast."""
    wrong_clock = {"at": "2031-01-01T00:10:00.000Z", "oldest_at": "2031-01-01T00:00:00.000Z"}
    assert seen(broken(**wrong_clock)).oldest_age_s == 600.0


def test_the_fleet_view_ignores_child_providers():
    """`stocktake watch` ignores the resources of a host's child providers in Placement, such as VGPU."""
    child = {"provider_uuid": "child", "resource_class": "VGPU", "used": 1, "free": 2.0}
    kept = seen(clean(resources=[*amounts(), child])).amounts
    assert [each.resource_class for each in kept] == ["VCPU", "MEMORY_MB", "DISK_GB"]


@pytest.mark.parametrize(("age_s", "is_silent"), [(0, False), (180, False), (185, False), (186, True), (9999, True)])
def test_a_host_is_silent_after_three_missed_intervals(age_s, is_silent):
    """`stocktake watch` marks a host as silent if the host sends no message for three intervals plus 5 seconds."""
    assert seen(clean(), age_s).is_silent(NOW) is is_silent


def test_the_time_of_the_last_outcome_change_is_kept():
    """`stocktake watch` remembers when the outcome of a host's audits last changed."""
    first, second, third = (
        host_seen(clean(outcome=name), at) for name, at in (("partial", 1), ("partial", 2), ("clean", 3))
    )
    assert second.after(first).outcome_since == 1
    assert third.after(second).outcome_since == 3


def test_texts_of_a_message_are_cut_and_escaped():
    """`stocktake watch` cuts an overlong error text of a host's message and escapes control characters."""
    found = seen(broken("a\x1b[2Jb", error="x" * 9000, sources_lost=["\x07\u202e"]))
    assert found.host == "a\\u001b[2Jb"
    assert found.sources_lost == ("\\u0007\\u202e",)
    assert len(found.error) == MOST_TEXT


@pytest.mark.parametrize("version", [None, 0, 2, "1", True])
def test_an_unsupported_schema_version_is_rejected(version):
    """`stocktake watch` rejects a host's message if its schema_version is missing or is not the number 1."""
    with pytest.raises(SourceInconsistent, match="schema_version"):
        seen(clean(schema_version=version))


@pytest.mark.parametrize(
    "changes",
    [
        {"findings": []},
        {"findings": [0]},
        {"findings": "ab"},
        {"findings": {"a": "1"}},
        {"findings": {str(number): 1 for number in range(MOST_ENTRIES + 1)}},
        {"host": ""},
        {"host": "x" * 256},
        {"host": 7},
        {"interval_s": -1},
        {"interval_s": float("inf")},
        {"worst": {"code": "a"}},
        {"oldest_at": "yesterday"},
        {"heal": [1]},
        {"heal": {"enabled": "yes"}},
        {"sources_lost": "placement"},
        {"resources": [{}]},
    ],
)
def test_a_message_with_an_invalid_value_is_rejected(changes):
    """`stocktake watch` rejects a host's message if a field has a wrong type or an impossible value."""
    with pytest.raises(SourceInconsistent, match="does not contain a host's state"):
        seen(clean(**changes))


@pytest.mark.parametrize(
    ("document", "sender"),
    [({"host": "a\nb"}, "a\\u000ab"), ({"host": 1}, "an unknown sender"), (3, "an unknown sender")],
)
def test_a_message_without_a_host_has_an_unknown_sender(document, sender):
    """`stocktake watch` rejects a message and names the sender in the error.

    If the message contains no host name, the sender is "an unknown sender".
    """
    assert sender_of(document) == sender


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional={name: JSON for name in DOCUMENT}))
def test_a_message_of_random_values_is_kept_or_rejected(changes):
    """`stocktake watch` keeps or rejects a host's message with random field values, and never crashes."""
    try:
        found = host_seen({**DOCUMENT, **changes}, 0.0)
    except SourceInconsistent:
        return
    assert found.host.isprintable()
    assert found.outcome.isprintable()


@given(JSON)
def test_a_message_of_random_json_is_rejected(document):
    with pytest.raises(SourceInconsistent):
        host_seen(document, 0.0)


def test_a_host_message_can_be_converted_to_json_and_back():
    """The conversion of a host's message to JSON and back changes no value."""
    assert host_seen(json.loads(json.dumps(DOCUMENT)), 0.0) == host_seen(DOCUMENT, 0.0)
