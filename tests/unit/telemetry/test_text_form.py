"""A line of the text form: the order of its fields, at most 1,000 bytes, whole uuids and commands."""

import json
import re
import shlex

from hypothesis import given
from hypothesis import strategies as st

from agent.telemetry.text_form import LINE_BYTES, VALUE_BYTES, clipped, message, quoted, shortened, size_bytes

UUID = "95a20332-20e6-52bf-aeae-06fd5924e001"
OTHER = "bd0379cb-12b7-54ae-a063-fe1cfa3fdfa4"
ANY_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def parts(line: str) -> dict[str, str]:
    """Return the fields of a line in their order, as a shell would split them."""
    words = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)', line)
    return {name: json.loads(value) if value.startswith('"') else value for name, value in words}


def test_the_fields_of_a_log_line_have_a_fixed_order():
    """Each log line shows severity, finding code and subject first, then the other fields in a fixed order."""
    fields = {
        "audit": "0b5f", "fix": "stocktake heal", "first_seen_at": "T", "provider_uuid": OTHER, "consumer_uuid": UUID,
        "finding_id": "87", "zebra": 1, "apple": 2, "outcome": "o", "error": "e", "source": "s", "entry_id": "3f",
        "actor": "a", "reason": "r", "caused_by": ("c",), "confirmed": True, "state": "seen", "expected": "x",
        "actual": "y", "subject": "i", "code": "c", "severity": "error",
    }  # fmt: skip
    line = message("finding appeared", fields)
    assert list(parts(line)) == [
        "severity", "code", "subject", "actual", "expected", "state", "confirmed", "caused_by", "reason", "actor",
        "entry_id", "source", "error", "outcome", "apple", "zebra", "finding_id", "consumer_uuid", "provider_uuid",
        "first_seen_at", "fix", "audit",
    ]  # fmt: skip
    assert line.startswith("finding appeared severity=error code=c ")


def test_a_log_line_omits_fields_without_value():
    """A log line omits fields that are None or empty text, and shows an empty list as a dash."""
    assert message("t", {"a": None, "b": "", "c": (), "d": 0, "e": False}) == "t c=- d=0 e=False"


def test_a_fix_command_replaces_the_advice_in_words():
    """If a log line has a command in its field fix, it omits the advice in the field remedy."""
    assert message("t", {"remedy": "heal it", "fix": "stocktake heal"}) == 't fix="stocktake heal"'
    assert message("t", {"remedy": "wait"}) == "t remedy=wait"


def test_a_long_log_value_is_cut_after_a_word():
    """The agent cuts a long value in a log line after a word and adds how many bytes are missing."""
    text = "a word " * 100
    shown = shortened(text, VALUE_BYTES)
    kept, _, left = json.loads(shown).partition(" \u2026 (+")
    assert text.startswith(kept)
    assert kept.endswith(("a", "word"))
    assert int(left.rstrip(")")) == size_bytes(text) - size_bytes(kept)
    assert size_bytes(shown) <= VALUE_BYTES


def test_a_long_list_is_logged_as_three_items():
    """The agent logs the first three of five items of a list, and then "and 2 more"."""
    assert shortened(("a", "b", "c", "d", "e"), VALUE_BYTES) == '"a, b, c and 2 more"'
    assert shortened(("a", "b c", "d"), VALUE_BYTES) == 'a,"b c",d'


def test_a_very_long_name_does_not_hide_the_uuid():
    """If an instance has a very long name, the agent cuts the name in the log and still shows the whole UUID."""
    shown = clipped(f"instance {'x' * 4096} {UUID}", VALUE_BYTES)
    assert shown.startswith("instance xxx")
    assert shown.endswith(f") {UUID}")


def test_a_shortened_error_keeps_its_http_status():
    """If the agent shortens a long error text in the log, the HTTP status and the request ID stay at its end."""
    end = f"(HTTP 401) [req-{UUID}]"
    assert clipped(f"placement: {'because ' * 100}{end}", VALUE_BYTES).endswith(f") {end}")


def test_a_logged_value_is_not_cut_inside_a_uuid():
    for length in range(40, 200):
        shown = clipped(f"{'y' * 30}{UUID},{OTHER},{UUID}{'z' * 300}", length)
        pieces = re.findall(r"[0-9a-f]{2,}[0-9a-f-]+", shown.partition(" \u2026")[0])
        assert all(ANY_UUID.fullmatch(piece) for piece in pieces), shown


def test_a_too_long_command_is_replaced_by_stocktake_explain():
    """If a finding's repair command is too long for its log line, the line shows `stocktake explain` instead."""
    line = message("t", {"fix": "timeout 10 stat -f /" + "d" * 600, "finding_id": UUID})
    assert parts(line)["fix"] == "stocktake explain 95a20332"


def test_ten_changed_options_fit_into_a_log_line():
    """The agent logs all of ten changed options after a reload of its configuration, without cutting the list."""
    changed = "; ".join(f"[group] some_option_{number}: {number} -> {number + 1}" for number in range(10))
    assert parts(message("configuration reloaded", {"changed": changed, "duration_ms": 38}))["changed"] == changed


names = st.text(max_size=40) | st.text(min_size=1, max_size=20).map(lambda text: text * 300)
uuids = st.uuids().map(str)
values = (
    names
    | st.integers()
    | st.none()
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.lists(names, max_size=8).map(tuple)
    | st.tuples(names, uuids).map(" ".join)
)
commands = (
    st.lists(names.map(lambda text: text[:60]), min_size=1, max_size=6).map(shlex.join).filter(lambda c: len(c) < 250)
)


@given(
    facts=st.dictionaries(st.from_regex(r"[a-z_]{1,20}", fullmatch=True), values, max_size=12),
    prose=st.fixed_dictionaries({"actual": names, "expected": names, "subject": st.tuples(names, uuids).map(" ".join)}),
    ids=st.fixed_dictionaries({"finding_id": uuids, "consumer_uuid": uuids, "provider_uuid": uuids, "audit": uuids}),
    fix=commands,
)
def test_a_finding_fits_into_one_short_log_line(facts, prose, ids, fix):
    """The log line of any finding has at most 1,000 bytes and shows its UUIDs whole."""
    line = message("finding confirmed", {"severity": "error", "code": "x", **facts, **prose, **ids, "fix": fix})
    assert size_bytes(line) <= LINE_BYTES
    assert line.isprintable()
    for value in ids.values():
        assert f"={value}" in line
    if size_bytes(quoted(fix)) <= LINE_BYTES // 2:
        assert f" fix={quoted(fix)}" in line
    assert prose["subject"][-36:] in line or "left_out=" in line
