"""The audit document of one small report, as text for review: keys, order, spelling of values."""

import json
import pathlib

from agent.render.documents import report_document
from tests.rigs.reports import REPORT

GOLDEN = pathlib.Path(__file__).parent / "report_document.json"


def test_the_json_report_of_an_audit_equals_the_golden_file():
    assert json.dumps(report_document(REPORT), indent=1) + "\n" == GOLDEN.read_text()
