"""What status prints about a report file: its age, whether the daemon went silent, free, and invalid files."""

import copy
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import SourceInconsistent
from agent.render.documents import report_document, report_from_json
from agent.render.status import last_report, status_blocks, status_document
from tests.rigs.reports import FINDING, REPORT
from tests.rigs.screens import shown

AT = "2026-11-21T10:02:00+00:00"
DOCUMENT = report_document(REPORT)


def told(report=DOCUMENT, now=AT, interval_s=60.0):
    return last_report(report, "/run/stocktake/report.json", now, interval_s)


def status_lines(last):
    return shown(status_blocks(last))


def test_status_shows_the_age_of_the_last_report():
    """`stocktake status` shows how long ago the audit of the last report began."""
    assert told().age_s == 120.0
    assert status_lines(told())[0] == ("last report 120 s ago (one is due every 60 s), in /run/stocktake/report.json")


def test_a_report_from_the_future_has_age_zero():
    """If the host's clock was set back, the last report lies in the future. Its age is then shown as zero."""
    assert told(now="2026-11-21T09:00:00+00:00").age_s == 0.0


@pytest.mark.parametrize(
    ("now", "interval_s", "stale"),
    [
        ("2026-11-21T10:03:00+00:00", 60.0, False),
        ("2026-11-21T10:03:01+00:00", 60.0, True),
        ("2026-11-21T10:03:01+00:00", 600.0, False),
        ("2026-11-28T10:00:00+00:00", None, False),
    ],
)
def test_a_report_is_stale_after_three_audit_intervals(now, interval_s, stale):
    """If a report is older than three audit intervals, `stocktake status` asks if stocktake-agent is running."""
    found = told(now=now, interval_s=interval_s)
    assert found.is_stale is stale
    assert status_document(found)["stale"] is stale
    assert any("is stocktake-agent running?" in line for line in status_lines(found)) is stale


def test_status_shows_the_last_audit_and_free_resources():
    """The JSON of `stocktake status` contains the last audit's outcome, its findings, and the free resources."""
    found = status_document(told())
    assert found["schema_version"] == 1
    assert (found["outcome"], found["age_s"], found["interval_s"]) == ("findings", 120.0, 60.0)
    assert [source["name"] for source in found["sources"]] == ["libvirt", "state"]
    assert [finding["code"] for finding in found["findings"]] == ["volume-foreign"]
    assert {row["resource_class"] for row in found["free"]} == {r["resource_class"] for r in DOCUMENT["inventory"]}


def free_rows(said):
    """Return the cells of the table of free amounts, split at the gaps between columns."""
    first = next(at for at, line in enumerate(said) if line.startswith("PROVIDER"))
    return [re.split(r"  +", line) for line in said[first + 1 :]]


def test_status_explains_a_negative_free_amount():
    """If a free amount is negative, `stocktake status` says that Placement records more than the host offers."""
    report = copy.deepcopy(DOCUMENT)
    report["inventory"] = [{**report["inventory"][0], "resource_class": "VCPU", "free": -43.0, "used": 73}]
    name = report["inventory"][0]["provider"]
    explained = ["FREE is negative: more is recorded than this host offers"]
    assert free_rows(status_lines(told(report))) == [[name, "VCPU", "-43", "73"], explained]


def test_status_shows_equal_providers_in_one_row():
    """`stocktake status` prints 42 providers with equal amounts in one row. Its JSON lists each of the providers."""
    report = copy.deepcopy(DOCUMENT)
    row = {**report["inventory"][0], "resource_class": "CUSTOM_PCI", "free": 1.0, "used": 0}
    used = {**row, "provider": "dev-7", "free": 0.0, "used": 1}
    report["inventory"] = [used if number == 7 else {**row, "provider": f"dev-{number}"} for number in range(43)]
    assert free_rows(status_lines(told(report))) == [
        ["each of 42 providers: dev-0, dev-1, dev-2 and 39 more", "CUSTOM_PCI", "1", "0"],
        ["dev-7", "CUSTOM_PCI", "0", "1"],
    ]
    assert len(status_document(told(report))["free"]) == 43


def test_status_shows_an_unknown_free_amount_as_a_dash():
    report = copy.deepcopy(DOCUMENT)
    report["inventory"] = [{**report["inventory"][0], "resource_class": "VCPU", "free": None, "used": None}]
    assert free_rows(status_lines(told(report)))[0][1:] == ["VCPU", "-", "-"]


def test_status_shows_the_age_of_a_finding():
    """`stocktake status` prints how long ago a finding was first seen."""
    said = status_lines(told())
    assert [line for line in said if line.startswith("WARNING")] == [
        f"WARNING  volume-foreign  guests/scratch  seen, 62 min  [{FINDING.finding.id[:8]}]"
    ]
    assert " docs: stocktake explain volume-foreign" in said


def test_status_sorts_findings_by_severity_and_consumer():
    """`stocktake status` sorts findings by severity, then by the name of the consumer."""
    report = copy.deepcopy(DOCUMENT)
    (plain,) = report["audit"]["findings"]
    named = {"u1": "zebra", "u2": "ant", "u3": "mole"}
    report["ledger"] = [{**report["ledger"][0], "consumer_uuid": u, "consumer_name": n} for u, n in named.items()]
    report["audit"]["findings"] = [{**plain, "consumer_uuid": uuid, "id": uuid, "severity": "info"} for uuid in named]
    report["audit"]["findings"].append({**plain, "consumer_uuid": "u4", "severity": "warning"})
    report["audit"]["findings"].append({**plain, "consumer_uuid": "u5", "severity": "unheard-of"})
    heads = [line.split() for line in status_lines(told(report)) if "  volume-foreign  " in line]
    assert [words[2:4] for words in heads] == [
        ["u4", "seen,"],
        ["ant", "u2"],
        ["mole", "u3"],
        ["zebra", "u1"],
        ["u5", "seen,"],
    ]
    assert [f["consumer_uuid"] for f in status_document(told(report))["findings"]] == ["u1", "u2", "u3", "u4", "u5"]


@pytest.mark.parametrize("key", ["outcome", "started_at", "sources", "findings", "plan", "placement"])
@pytest.mark.parametrize("instead", [None, 7, "x"])
def test_a_malformed_report_file_is_rejected(key, instead):
    """If a field in a report file has a value of the wrong type, the agent raises a `SourceInconsistent` error."""
    report = copy.deepcopy(DOCUMENT)
    report["audit"][key] = instead
    with pytest.raises(SourceInconsistent, match="this version of Stocktake cannot read the report"):
        told(report)


def test_status_json_contains_the_resource_totals():
    """The JSON of `stocktake status` contains the host's totals, such as the number of vcpus."""
    assert status_document(told())["resource_view"] == DOCUMENT["resource_view"]
    assert status_document(told())["resource_view"]["vcpus"] == 48


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**400), 10**400) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=8,
)


def nearly(row):
    """Return the row with one of its values replaced by anything."""
    return st.builds(lambda name, value: {**row, name: value}, st.sampled_from(sorted(row)), ANY_JSON)


@settings(max_examples=300)
@given(data=st.data(), part=st.sampled_from(["findings", "inventory", "ledger"]))
def test_a_malformed_report_row_does_not_hide_other_rows(data, part):
    """If one row of a report file is malformed in any way, `stocktake status` still shows all other rows."""
    report = copy.deepcopy(DOCUMENT)
    rows = report["audit"]["findings"] if part == "findings" else report[part]
    good = list(rows)
    rows.insert(0, data.draw(ANY_JSON | nearly(good[0])))
    found = last_report(report_from_json(json.dumps(report)), "r", AT, 60.0)
    text = "\n".join(status_lines(found))
    assert all(f"  {row['resource_class']}  " in text for row in DOCUMENT["inventory"])
    assert "volume-foreign" in text
    assert all(f"{part}[0]" in problem for problem in found.problems)


def test_a_malformed_report_row_is_left_out_and_reported():
    """`stocktake status` leaves out a malformed row of a report file and prints a note about the row."""
    report = copy.deepcopy(DOCUMENT)
    report["audit"]["findings"].append({"code": "x"})
    found = told(report)
    (problem,) = found.problems
    assert problem.startswith("findings[1]: this version of Stocktake cannot read the row: ")
    assert f"note: /run/stocktake/report.json: a row is ignored: {problem}" in status_lines(found)
    assert len(status_document(found)["findings"]) == 1


def nested(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def test_status_leaves_out_a_finding_nested_too_deep():
    """If a report's finding has JSON nested 500 levels deep, `stocktake status` leaves out this finding."""
    report = copy.deepcopy(DOCUMENT)
    report["audit"]["findings"].append({**report["audit"]["findings"][0], "evidence": nested(500)})
    found = told(report)
    assert found.problems == ("findings[1]: nested too deep",)
    assert json.loads(json.dumps(status_document(found), indent=2))["findings"] == DOCUMENT["audit"]["findings"]


def test_a_report_file_nested_too_deep_is_rejected():
    """If the NUMA topology in a report file is nested 500 levels deep, `stocktake status` rejects the file."""
    with pytest.raises(SourceInconsistent, match="nested too deep"):
        told({**DOCUMENT, "resource_view": {"numa_topology": nested(500)}})
