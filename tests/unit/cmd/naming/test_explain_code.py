"""`explain CODE`: a page for each finding code, without configuration."""

import json

import pytest

from agent.cmd.naming.explain_code import known_codes, page_of
from agent.findings import BUILTIN
from tests.rigs.commands import stocktake_here


@pytest.mark.parametrize("code", sorted(rule.code for rule in BUILTIN))
def test_each_finding_code_has_a_page_that_begins_with_the_code(code):
    page = page_of(code)
    assert page is not None
    assert page.lstrip("# ").startswith(code)
    assert len(page) > 100


def test_explain_finds_a_page_only_for_an_existing_finding_code():
    assert [page_of(text) for text in ("VCPU", "web-1", "../explain", "allocation-leakt", "")] == [None] * 5
    assert "allocation-leaked" in known_codes()


def test_explain_needs_no_configuration_file_to_explain_a_finding_code(tmp_path):
    missing = tmp_path / "none.conf"
    done = stocktake_here("--config-file", missing, "explain", "allocation-leaked", "-f", "json")
    assert (done.code, done.stderr) == (0, "")
    assert (done.document["subject"], done.document["code"]) == ("code", "allocation-leaked")
    text = stocktake_here("--config-file", missing, "explain", "allocation-leaked").stdout
    written = " ".join(json.loads(done.stdout)["text"]).replace("```sh", "").replace("```", "")
    assert text.split() == written.split()
