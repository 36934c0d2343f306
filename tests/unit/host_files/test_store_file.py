"""store.json: what was saved is loaded; garbage counts as no record, and the file with the garbage is kept."""

from __future__ import annotations

import json
import logging
import stat
from pathlib import Path

import pytest

from agent.errors import ConfigError
from agent.host_files.store_file import StoreFile, document_of
from agent.model.host.store import StoreRecord
from tests.rigs.stores import mark, vg_mark

RECORD = StoreRecord(mark=mark(300))


@pytest.mark.parametrize("record", [RECORD, StoreRecord(mark=vg_mark(20)), StoreRecord(mark=None)])
def test_a_saved_store_json_is_loaded_again(tmp_path: Path, record: StoreRecord):
    """The agent saves in store.json which storage the guests' disks use, and can load the same data again."""
    assert StoreFile(str(tmp_path / "state")).save(record)
    assert StoreFile(str(tmp_path / "state")).load() == record


def test_the_store_json_file_has_mode_0640(tmp_path: Path):
    StoreFile(str(tmp_path)).put(RECORD)
    assert stat.S_IMODE((tmp_path / "store.json").stat().st_mode) == 0o640


def test_a_missing_store_json_causes_no_warning(tmp_path: Path, caplog):
    file = StoreFile(str(tmp_path))
    assert (file.load(), file.notes, caplog.records) == (None, (), [])


def _changed(**changes: object) -> str:
    document = document_of(RECORD)
    return json.dumps(document | {"store": document["store"] | changes})


GARBAGE = {
    "empty": "",
    "no JSON": "{",
    "a list": "[]",
    "deep": "[" * 99999,
    "another version": json.dumps(document_of(RECORD) | {"schema_version": 2}),
    "no store": '{"schema_version": 1}',
    "a store that is a number": '{"schema_version": 1, "store": 3}',
    "no size": _changed(size_bytes=None),
    "a size that is a truth value": _changed(size_bytes=True),
    "a size of hundreds of digits": _changed(size_bytes=10**400),
    "a name that is a number": _changed(name=3),
    "a file system that is a text": _changed(filesystem="ext4"),
    "a file system without a type": _changed(filesystem={"mount_point": "/"}),
}


@pytest.mark.parametrize("text", GARBAGE.values(), ids=GARBAGE.keys())
def test_an_invalid_store_json_is_ignored_with_one_warning(tmp_path: Path, caplog, text: str):
    """If store.json is invalid, the agent logs one warning. The next save keeps the old text as store.json.bad."""
    (tmp_path / "store.json").write_text(text)
    file = StoreFile(str(tmp_path))
    with caplog.at_level(logging.WARNING):
        assert [file.load(), file.load()] == [None, None]
    assert len(caplog.records) == 1
    assert len(file.notes) == 1
    assert file.save(RECORD)
    assert (file.load(), file.notes) == (RECORD, ())
    assert (tmp_path / "store.json.bad").read_text() == text


def test_an_unwritable_store_json_stops_only_adopt(tmp_path: Path, caplog):
    """If store.json cannot be written, an audit only logs a warning. `stocktake adopt` fails."""
    (tmp_path / "state").write_text("no folder")
    file = StoreFile(str(tmp_path / "state"))
    with caplog.at_level(logging.WARNING):
        assert [file.save(RECORD), file.save(RECORD)] == [False, False]
    assert [record.message for record in caplog.records if "not written" in record.message] != []
    assert file.notes[-1].startswith("the place of guests' disks is not remembered over a restart, because ")
    with pytest.raises(ConfigError, match=r"store\.json"):
        file.put(RECORD)
