import json
import os
import stat
import threading

import pytest

from agent.errors import SourceInconsistent, SourceUnavailable
from agent.host_files.reports import read_report, report_path, write_report
from agent.render.documents import report_document
from tests.rigs.reports import REPORT, report_with


def test_a_written_report_is_read_back(tmp_path):
    run_dir = str(tmp_path / "run")
    write_report(run_dir, REPORT)
    document = read_report(run_dir)
    assert document["audit"]["audit_id"] == REPORT.audit_id
    assert len(document["ledger"]) == len(REPORT.ledger)


def test_the_report_has_mode_0640_and_no_temporary_file_remains(tmp_path):
    old = os.umask(0o077)
    try:
        write_report(str(tmp_path), REPORT)
    finally:
        os.umask(old)
    assert stat.S_IMODE(os.stat(report_path(str(tmp_path))).st_mode) == 0o640
    assert os.listdir(tmp_path) == ["report.json"]


def test_a_reader_never_gets_a_half_written_report(tmp_path):
    """While the agent replaces report.json again and again, every read returns one complete report."""
    run_dir = str(tmp_path)
    write_report(run_dir, report_with(0))
    stop = threading.Event()

    def replace():
        number = 0
        while not stop.is_set():
            number += 1
            write_report(run_dir, report_with(number))

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        for _ in range(200):
            document = read_report(run_dir)
            assert document["audit"]["placement"]["requests"] == len(document["traits"])
    finally:
        stop.set()
        writer.join()


def test_a_missing_report_raises_an_error_with_its_path(tmp_path):
    with pytest.raises(SourceUnavailable, match=f"{tmp_path}/report.json does not exist"):
        read_report(str(tmp_path))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema_version": 2}', '{"schema_version": 1}', "[" * 9999])
def test_an_invalid_report_raises_an_error_with_its_path(tmp_path, text):
    (tmp_path / "report.json").write_text(text)
    with pytest.raises(SourceInconsistent, match=f"{tmp_path}/report.json: "):
        read_report(str(tmp_path))


def test_a_report_that_is_not_utf8_is_rejected(tmp_path):
    (tmp_path / "report.json").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceInconsistent, match="not a JSON document"):
        read_report(str(tmp_path))


def test_a_saved_report_contains_the_agents_version(tmp_path):
    """The agent saves a report in the file report.json.

    The field agent_version of this file contains the agent's version.
    """
    write_report(str(tmp_path), REPORT, "1.4.0")
    written = read_report(str(tmp_path))
    assert written.pop("agent_version") == "1.4.0"
    assert written == json.loads(json.dumps(report_document(REPORT)))


def test_an_unwritable_report_path_is_shown_in_the_error(tmp_path):
    """If report.json cannot be written, the error message contains the file's path."""
    write_report(str(tmp_path), REPORT)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(SourceUnavailable, match=f"{blocked}/report.json cannot be written"):
        write_report(str(blocked), REPORT)
    assert json.loads((tmp_path / "report.json").read_text())["schema_version"] == 1
