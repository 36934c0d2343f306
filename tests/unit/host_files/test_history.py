import datetime
import json
import logging
import os
import stat
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.host_files.history import FindingsFile
from agent.model.finding import History, Sighting
from agent.model.placement import LeftProvider
from agent.model.provider_config import Added, Addition

SEEN = Sighting(
    id="5f0f",
    code="volume-foreign",
    first_seen_at="2026-11-21T10:00:00.000Z",
    last_seen_at="2026-11-21T10:01:00.000Z",
    times=2,
    evidence_digest="aa",
)
ADDED = (Addition("u", Added.RESOURCE_CLASS, "CUSTOM_A"), Addition("u", Added.TRAIT, "CUSTOM_T"))
HISTORY = History(sightings=(SEEN,), added=ADDED)

MOMENTS = st.datetimes(timezones=st.just(datetime.UTC)).map(lambda t: t.isoformat(timespec="milliseconds"))
TIMES = MOMENTS.map(lambda text: text.replace("+00:00", "Z"))
SIGHTINGS = st.builds(
    Sighting,
    id=st.uuids().map(str),
    code=st.text(max_size=9),
    first_seen_at=TIMES,
    last_seen_at=TIMES,
    times=st.integers(0, 2**63 - 1),
    evidence_digest=st.text(max_size=9),
    stands_since=st.just("") | TIMES,
)
LEFT = LeftProvider("11111111-1111-4111-8111-111111111111", "old-name")
# Everything that JSON allows, including numbers of hundreds of digits and lone surrogates.
ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**400), 10**400) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=8,
)
# A row in which one value is replaced by anything.
NEARLY = st.builds(
    lambda name, value: {**saved(SEEN), "id": "another", name: value}, st.sampled_from(SEEN.__slots__), ANY_JSON
)


def saved(sighting: Sighting) -> dict:
    return {name: getattr(sighting, name) for name in sighting.__slots__}


def document(sightings: list, added: list = (), left: list = ()) -> str:
    return json.dumps({"schema_version": 1, "sightings": sightings, "added": list(added), "left": list(left)})


def test_a_saved_findings_file_is_loaded_again(tmp_path):
    """The agent's findings are the same after they were saved in findings.json and loaded again."""
    FindingsFile(str(tmp_path / "state")).save(HISTORY)
    assert FindingsFile(str(tmp_path / "state")).load() == HISTORY


def test_the_findings_file_has_mode_0640_and_a_schema_version(tmp_path):
    FindingsFile(str(tmp_path)).save(HISTORY)
    assert stat.S_IMODE(os.stat(tmp_path / "findings.json").st_mode) == 0o640
    assert json.loads((tmp_path / "findings.json").read_text())["schema_version"] == 1


def test_a_missing_findings_file_causes_no_warning(tmp_path, caplog):
    """Without a findings.json, the agent starts with an empty history and logs nothing."""
    assert FindingsFile(str(tmp_path)).load() == History()
    assert caplog.records == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "[" * 9999,
        '{"schema_version": 2, "sightings": []}',
        '{"schema_version": 1}',
        '{"schema_version": 1, "sightings": [1]}',
        '{"schema_version": 1, "sightings": [{"id": "x"}]}',
        '{"schema_version": 1, "sightings": [], "added": {}}',
        '{"schema_version": 1, "sightings": [], "added": [["u", "class"]]}',
        '{"schema_version": 1, "sightings": [], "added": [["u", "aggregate", "x"]]}',
        '{"schema_version": 1, "sightings": [{"id": "x", "times": ' + "9" * 5000 + "}]}",
        json.dumps({"schema_version": 1, "sightings": [{**dict.fromkeys(SEEN.__slots__, "x"), "times": True}]}),
    ],
)
def test_an_invalid_findings_file_is_logged_once_and_kept(tmp_path, caplog, text):
    """If findings.json is invalid, the agent logs one warning. The next save renames the file to findings.json.bad."""
    path = tmp_path / "findings.json"
    path.write_text(text)
    store = FindingsFile(str(tmp_path))
    with caplog.at_level(logging.WARNING):
        assert store.load() == store.load() == History()
    assert len(caplog.records) == 1
    assert path.read_text() == text, "reading changes nothing"
    store.save(HISTORY)
    assert store.load() == HISTORY
    assert (tmp_path / "findings.json.bad").read_text() == text


def test_a_findings_file_that_is_not_utf8_is_ignored(tmp_path):
    """If findings.json is not valid UTF-8, the agent starts without any earlier findings."""
    (tmp_path / "findings.json").write_bytes(b"\xff\xfe")
    assert FindingsFile(str(tmp_path)).load() == History()


def test_failed_saves_of_findings_cause_one_warning(tmp_path, caplog):
    """If two saves of findings.json in a row fail, the agent logs only one warning."""
    (tmp_path / "file").write_text("")
    store = FindingsFile(str(tmp_path / "file"))
    assert [store.save(HISTORY), store.save(HISTORY)] == [False, False]
    (warning,) = caplog.records
    assert (warning.levelno, warning.path, warning.error) == (
        logging.WARNING,
        f"{tmp_path}/file/findings.json",
        "File exists",
    )
    (tmp_path / "file").unlink()
    assert store.save(HISTORY)
    assert store.load() == HISTORY
    assert len(caplog.records) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(st.lists(SIGHTINGS, max_size=4, unique_by=lambda sighting: sighting.id))
def test_saved_findings_are_loaded_sorted_by_id(tmp_path, sightings):
    store = FindingsFile(str(tmp_path))
    store.save(History(sightings=tuple(sightings)))
    assert store.load() == History(sightings=tuple(sorted(sightings, key=lambda sighting: sighting.id)))


def test_a_findings_file_needs_no_optional_lists(tmp_path):
    """A findings.json that contains only schema_version and sightings is loaded without an error."""
    (tmp_path / "findings.json").write_text('{"schema_version": 1, "sightings": []}')
    assert FindingsFile(str(tmp_path)).load() == History()


def test_providers_of_deleted_nodes_are_remembered(tmp_path):
    """The agent saves the providers of deleted compute nodes in findings.json and knows them after a restart."""
    left = (LEFT, LeftProvider("22222222-2222-4222-8222-222222222222", "older-name"))
    FindingsFile(str(tmp_path)).save(History(left=left))
    assert FindingsFile(str(tmp_path)).load().left == left


@pytest.mark.parametrize(
    "row",
    [1, ["uuid"], ["uuid", 1], ["a", "b", "c"], ["no uuid", "name"], ["../../x", "name"], {"0": LEFT.uuid, "1": "n"}],
)
def test_an_invalid_provider_in_the_findings_file_is_skipped(tmp_path, row):
    """If one entry of the list of providers in findings.json is invalid, the agent loads all other entries."""
    (tmp_path / "findings.json").write_text(document([saved(SEEN)], left=[row, list(LEFT)]))
    assert FindingsFile(str(tmp_path)).load() == History(sightings=(SEEN,), left=(LEFT,))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("first_seen_at", "yesterday"),
        ("first_seen_at", "2026-11-21T10:00:00"),
        ("first_seen_at", "2026-11-21"),
        ("first_seen_at", "2026-13-41T10:00:00Z"),
        ("first_seen_at", "2026-11-21T10:00:00+02:00"),
        ("last_seen_at", None),
        ("last_seen_at", "٢٠٢٦-11-21T10:00:00Z"),
        ("stands_since", "2026-11-21T10:00:00.000Z\n"),
        ("times", -1),
        ("times", 2**63),
        ("times", 10**400),
        ("times", True),
        ("times", 1.5),
        ("id", SEEN.id),
    ],
)
def test_an_invalid_row_of_findings_is_skipped_and_logged(tmp_path, caplog, name, value):
    """If a row of findings.json is invalid, the agent logs a warning and loads all other rows."""
    text = document([{**saved(SEEN), "id": "another", name: value}, saved(SEEN)][:: -1 if name == "id" else 1])
    (tmp_path / "findings.json").write_text(text)
    store = FindingsFile(str(tmp_path))
    assert store.load() == History(sightings=(SEEN,))
    (warning,) = caplog.records
    assert "sightings[0]" in warning.error or (name == "id" and "repeats '5f0f'" in warning.error)
    assert store.notes == (f"{tmp_path}/findings.json was not read completely: {warning.error}",)
    store.save(HISTORY)
    assert (tmp_path / "findings.json.bad").read_text() == text
    assert store.notes == (
        f"{tmp_path}/findings.json was not read completely: {warning.error}; "
        f"a copy of the unreadable file is kept as {tmp_path}/findings.json.bad",
    )


@settings(max_examples=300)
@given(st.lists(NEARLY | ANY_JSON, max_size=3), st.lists(ANY_JSON, max_size=3), st.lists(ANY_JSON, max_size=3))
def test_valid_rows_are_loaded_beside_invalid_rows(sightings, added, left):
    """Whatever invalid rows findings.json contains, the agent loads the valid rows and keeps a copy of the file."""
    text = document([*sightings, saved(SEEN)], [*added, *map(list, ADDED)], [*left, list(LEFT)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "findings.json"
        path.write_text(text)
        store = FindingsFile(folder)
        found = store.load()
        assert {SEEN.id} <= {sighting.id for sighting in found.sightings}
        assert set(ADDED) <= set(found.added)
        assert LEFT in found.left
        assert store.save(found)
        assert FindingsFile(folder).load() == found, "what was read once is read again"
        assert text in {path.read_text() for path in Path(folder).iterdir()} or not store.notes


@settings(max_examples=200)
@given(st.binary(max_size=60) | ANY_JSON.map(lambda value: json.dumps(value).encode()))
def test_an_invalid_findings_file_is_kept_with_suffix_bad(content):
    """The next save renames an invalid findings.json to findings.json.bad with unchanged content."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "findings.json"
        path.write_bytes(content)
        store = FindingsFile(folder)
        assert store.load() == History()
        assert store.notes
        assert store.save(HISTORY)
        assert path.with_name("findings.json.bad").read_bytes() == content
        assert store.load() == HISTORY


def test_at_most_ten_invalid_findings_files_are_kept(tmp_path):
    store = FindingsFile(str(tmp_path))
    for number in (*range(12), 3):
        (tmp_path / "findings.json").write_text(f"garbage {number}")
        store.save(HISTORY)
    kept = {path.read_text() for path in tmp_path.glob("findings.json.bad*")}
    assert kept == {f"garbage {number}" for number in (*range(9), 11)}


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_folder_in_place_of_the_findings_file_is_renamed(tmp_path, make):
    """If findings.json is a folder, the agent renames it to findings.json.bad and saves a new file."""
    make(tmp_path / "findings.json")
    store = FindingsFile(str(tmp_path))
    assert store.load() == History()
    assert store.save(HISTORY)
    assert store.load() == HISTORY
    assert (tmp_path / "findings.json.bad").exists()
