import json
import logging
import os
import stat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.model.finding import History, Sighting
from agent.model.placement import LeftProvider
from agent.model.provider_config import Added, Addition
from agent.telemetry.history import FindingsFile

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

SIGHTINGS = st.builds(
    Sighting,
    id=st.uuids().map(str),
    code=st.text(max_size=9),
    first_seen_at=st.text(max_size=9),
    last_seen_at=st.text(max_size=9),
    times=st.integers(1),
    evidence_digest=st.text(max_size=9),
)


def test_what_was_saved_is_loaded_by_the_next_process(tmp_path):
    FindingsFile(str(tmp_path / "state")).save(HISTORY)
    assert FindingsFile(str(tmp_path / "state")).load() == HISTORY


def test_the_file_is_for_root_and_its_group(tmp_path):
    FindingsFile(str(tmp_path)).save(HISTORY)
    assert stat.S_IMODE(os.stat(tmp_path / "findings.json").st_mode) == 0o640
    assert json.loads((tmp_path / "findings.json").read_text())["schema_version"] == 1


def test_no_file_is_an_empty_history_without_a_warning(tmp_path, caplog):
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
        json.dumps({"schema_version": 1, "sightings": [{**dict.fromkeys(SEEN.__slots__, "x"), "times": True}]}),
    ],
)
def test_an_unreadable_file_is_empty_warned_of_once_and_kept_aside_at_the_next_save(tmp_path, caplog, text):
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


def test_bytes_that_are_no_text_are_an_empty_history(tmp_path):
    (tmp_path / "findings.json").write_bytes(b"\xff\xfe")
    assert FindingsFile(str(tmp_path)).load() == History()


def test_a_folder_that_cannot_be_written_is_told_once_until_it_can(tmp_path, caplog):
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
def test_any_history_comes_back_by_id(tmp_path, sightings):
    store = FindingsFile(str(tmp_path))
    store.save(History(sightings=tuple(sightings)))
    assert store.load() == History(sightings=tuple(sorted(sightings, key=lambda sighting: sighting.id)))


def test_a_file_of_before_there_were_additions_is_read(tmp_path):
    (tmp_path / "findings.json").write_text('{"schema_version": 1, "sightings": []}')
    assert FindingsFile(str(tmp_path)).load() == History()


def test_what_was_left_of_orphaned_nodes_outlives_a_restart(tmp_path):
    left = (LeftProvider("uuid-1", "old-name"), LeftProvider("uuid-2", "older-name"))
    FindingsFile(str(tmp_path)).save(History(left=left))
    assert FindingsFile(str(tmp_path)).load().left == left


@pytest.mark.parametrize("left", ['"x"', "[1]", '[["uuid"]]', '[["uuid", 1]]', '[["a", "b", "c"]]'])
def test_garbage_in_what_was_left_is_no_history(tmp_path, left):
    (tmp_path / "findings.json").write_text(f'{{"schema_version": 1, "sightings": [], "left": {left}}}')
    assert FindingsFile(str(tmp_path)).load() == History()
