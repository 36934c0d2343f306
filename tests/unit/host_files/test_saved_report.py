"""The report file read back as a report: whole, of an older version, and with invalid rows."""

import contextlib
import copy
import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.host_files.saved_report import saved_report
from agent.model.plan import Plan
from agent.model.report import AuditReport
from agent.render.documents import report_document, report_from_json, report_to_json
from tests.rigs.reports import REPORT

DOCUMENT = report_document(REPORT)
LISTS = ("ledger", "storage", "inventory", "traits", "evacuations", "names", "providers")
#: What commands with --last show nothing of: how the audit went, and what it wrote.
NOT_KEPT = {
    *("published", "writes_done", "requests", "tried", "conflicts", "conflict_kinds", "attempts", "summary"),
    *("resource_view", "cell_usages", "record_note", "healed", "microversion", "nova_versions", "gone", "first"),
    *("lock_missed", "heal", "remembered", "boot", "read_until"),
}


def kept(report: AuditReport) -> AuditReport:
    """Return the report with the usual values in the fields that are not read back."""
    usual = {f.name: f.default for f in dataclasses.fields(AuditReport) if f.name in NOT_KEPT}
    return dataclasses.replace(report, plan=Plan(held_back=report.plan.held_back), **usual)


def test_a_saved_report_is_read_back_with_its_rows():
    """The rows of a saved report are read back, among them findings, sources and inventories."""
    found = saved_report(report_from_json(report_to_json(REPORT)))
    assert found.problems == ()
    assert found.report == kept(REPORT)
    assert all(getattr(found.report, name) for name in (*LISTS[:4], "findings", "sources"))


def test_the_report_of_an_older_agent_is_read():
    """A saved report is read even if keys are missing that were added in newer versions of the agent."""
    older = copy.deepcopy(DOCUMENT)
    del older["names"], older["providers"]
    for row in older["ledger"]:
        del row["outside_tree"], row["settling"]
    new = ("state", "sightings", "stands_since", "last_seen_at", "unknown_because", "rests_on", "caused_by", "symptoms")
    for finding in older["audit"]["findings"]:
        for key in (*new, "remedies", "headline"):
            del finding[key]
    for source in older["audit"]["sources"]:
        for key in ("asked", "not_asked_because", "lost_since", "losses"):
            del source[key]
    found = saved_report(older)
    assert found.problems == ()
    assert [seen.finding.id for seen in found.report.findings] == [seen.finding.id for seen in REPORT.findings]
    assert len(found.report.ledger) == len(REPORT.ledger)


def test_a_finding_from_a_saved_report_keeps_its_id():
    """The id of a finding is read from the saved report, and not computed anew from the finding's text."""
    changed = copy.deepcopy(DOCUMENT)
    changed["audit"]["findings"][0]["subject"] = "another subject"
    (first, *_) = saved_report(changed).report.findings
    assert first.finding.id == DOCUMENT["audit"]["findings"][0]["id"]


@pytest.mark.parametrize("bad", [None, 7, [], {}, {"x": 10**400}, {"consumer_uuid": []}])
@pytest.mark.parametrize("name", LISTS)
def test_an_invalid_row_of_a_saved_report_is_left_out(name, bad):
    """If a row of a saved report is invalid, all other rows are read. The position of the invalid row is reported."""
    changed = copy.deepcopy(DOCUMENT)
    changed[name] = [bad, *changed[name]]
    found = saved_report(changed)
    assert len(getattr(found.report, name)) == len(getattr(REPORT, name))
    assert [problem.partition(":")[0] for problem in found.problems] == [f"{name}[0]"]


@pytest.mark.parametrize("key", ["audit_id", "host", "started_at", "duration_ms", "outcome", "plan"])
def test_a_saved_report_with_an_invalid_audit_is_refused(key):
    """If a required field of the audit is invalid, for example host or plan, the saved report cannot be read."""
    changed = copy.deepcopy(DOCUMENT)
    changed["audit"][key] = []
    with pytest.raises(SourceInconsistent, match="this version of Stocktake cannot read the report: "):
        saved_report(changed)


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(data=st.data(), part=st.sampled_from(["findings", "sources", *LISTS]))
def test_a_random_value_in_a_report_row_raises_no_error(data, part):
    changed = json.loads(json.dumps(DOCUMENT))
    rows = changed["audit"][part] if part in ("findings", "sources") else changed[part]
    if rows:
        row = data.draw(st.sampled_from(rows))
        row[data.draw(st.sampled_from(sorted(row)))] = data.draw(ANY_JSON)
    saved_report(changed)


@given(audit=st.dictionaries(st.sampled_from(sorted(DOCUMENT["audit"])), ANY_JSON))
def test_random_audit_values_in_a_report_cause_no_crash(audit):
    """Whatever values the audit part of a saved report has, the report is read or refused with SourceInconsistent."""
    with contextlib.suppress(SourceInconsistent):
        saved_report(DOCUMENT | {"audit": DOCUMENT["audit"] | audit})
