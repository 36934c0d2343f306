"""`explain CODE`: a page for each finding code, without configuration."""

import json

import pytest

from agent.cmd.naming.explain_code import known_codes, page_of
from agent.findings import BUILTIN
from tests.rigs.commands import stocktake_here


@pytest.mark.parametrize("code", sorted(rule.code for rule in BUILTIN))
def test_each_finding_code_has_an_explanation(code):
    """`stocktake explain` has a page for each finding code, and the page begins with the code."""
    page = page_of(code)
    assert page is not None
    assert page.lstrip("# ").startswith(code)
    assert len(page) > 100


def test_only_a_finding_code_has_an_explain_page():
    """A misspelt code, an instance's name or a path such as ../explain opens no page of `stocktake explain`."""
    assert [page_of(text) for text in ("VCPU", "web-1", "../explain", "allocation-leakt", "")] == [None] * 5
    assert "allocation-leaked" in known_codes()


def test_explain_of_a_finding_code_needs_no_configuration(tmp_path):
    """`stocktake explain allocation-leaked` prints its page even if the configuration file does not exist."""
    missing = tmp_path / "none.conf"
    done = stocktake_here("--config-file", missing, "explain", "allocation-leaked", "-f", "json")
    assert (done.code, done.stderr) == (0, "")
    assert (done.document["subject"], done.document["code"]) == ("code", "allocation-leaked")
    text = stocktake_here("--config-file", missing, "explain", "allocation-leaked").stdout
    written = " ".join(json.loads(done.stdout)["text"]).replace("```sh", "").replace("```", "")
    assert text.split() == written.split()
