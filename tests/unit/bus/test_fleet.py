"""What ``watch`` derives from messages: rows, silent hosts, and nothing from a message that is not a host's state."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.bus.fleet import cells, host_seen, line, silence_line, table
from agent.bus.host_state import Sending, host_state
from agent.errors import SourceInconsistent
from tests.rigs.reports import REPORT

DOCUMENT = host_state(REPORT, Sending(at="2026-11-21T10:00:05.000Z", interval_s=60.0, agent_version="1"))


def seen(received_at: float = 1000.0, **changes: object):
    return host_seen({**DOCUMENT, **changes}, received_at)


def test_the_watch_row_shows_host_age_outcome_and_free_capacity():
    assert cells(seen(), 1007.4) == (
        "compute-17", "7 s", "findings", "1", "204/-12", "-", "?/?", "1", "state"
    )  # fmt: skip


def test_the_watch_row_shows_free_memory_with_its_unit():
    rows = [{"provider_uuid": "r", "resource_class": "MEMORY_MB", "used": 512, "free": 1536.0}]
    assert cells(seen(resources=rows, provider_uuid="r"), 1000.0)[4:7] == ("-", "512/1536 MiB", "-")


def test_the_watch_row_excludes_resources_of_child_providers():
    rows = [
        {"provider_uuid": "r", "resource_class": "VCPU", "used": 1, "free": 2.0},
        {"provider_uuid": "child", "resource_class": "VCPU", "used": 100, "free": 200.0},
    ]
    assert cells(seen(resources=rows, provider_uuid="r"), 1000.0)[4] == "1/2"


def test_the_watch_row_shows_a_question_mark_for_unknown_values():
    unknown = seen(resources=None, guests=None, findings=None, outcome="crashed")
    assert cells(unknown, 1000.0)[3:8] == ("?", "?", "?", "?", "?")


@pytest.mark.parametrize(("age_s", "is_silent"), [(0, False), (180, False), (185, False), (186, True), (9999, True)])
def test_a_host_is_silent_if_no_message_came_for_three_intervals_plus_grace(age_s, is_silent):
    assert seen().is_silent(1000.0 + age_s) is is_silent
    assert ("silent" in cells(seen(), 1000.0 + age_s)[1]) is is_silent


def test_the_line_for_a_silent_host_shows_the_seconds_since_its_last_message():
    assert silence_line(seen(), 1190.0) == "compute-17 is silent: no message for 190 s, one was due every 60 s"


def test_a_plain_watch_line_shows_each_value_with_its_label():
    assert line(seen()) == (
        "compute-17 findings guests=1 vcpu=204/-12 memory=- disk=?/? findings=1 lost=state"
    )  # fmt: skip


def test_the_watch_table_is_sorted_by_host_and_has_aligned_columns():
    lines = table([seen(host="b"), seen(host="a-very-long-name"), seen(host="c")], 1000.0)
    assert [one.split()[0] for one in lines] == ["HOST", "a-very-long-name", "b", "c"]
    assert len({one.index(" findings ") for one in lines[1:]}) == 1


def test_the_watch_table_contains_no_control_characters():
    shown = "\n".join(table([seen(host="a\x1b[2Jb", outcome="x\ny", sources_lost=["\x07"])], 1000.0))
    assert shown.count("\n") == 1
    assert all(character.isprintable() for character in shown.replace("\n", ""))


@pytest.mark.parametrize("version", [None, 0, 2, "1"])
def test_an_unsupported_schema_version_is_rejected(version):
    with pytest.raises(SourceInconsistent, match="schema_version"):
        seen(schema_version=version)


@pytest.mark.parametrize("findings", [[], [0], [3], "ab"])
def test_a_message_whose_findings_are_not_an_object_is_rejected(findings):
    with pytest.raises(SourceInconsistent, match="does not contain a host's state"):
        seen(findings=findings)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.fixed_dictionaries({}, optional={name: JSON for name in DOCUMENT}))
def test_a_host_state_message_with_random_values_is_shown_or_rejected(changes):
    try:
        found = host_seen({**DOCUMENT, **changes}, 0.0)
    except SourceInconsistent:
        return
    assert all(character.isprintable() for character in "".join(cells(found, 1.0)))


@given(JSON)
def test_an_arbitrary_json_message_is_rejected(document):
    with pytest.raises(SourceInconsistent):
        host_seen(document, 0.0)


def test_host_state_is_equal_after_a_json_round_trip():
    assert host_seen(json.loads(json.dumps(DOCUMENT)), 0.0) == host_seen(DOCUMENT, 0.0)
