"""Explain a finding code: print its runbook from agent/runbooks, or else the docstring of the finding's own module.

For this the command needs no configuration and no root rights, so an operator can read the page on any machine.
"""

from __future__ import annotations

import importlib
import importlib.resources
import re
import textwrap
from importlib.resources.abc import Traversable
from typing import Any

_FOLDER = "runbooks"
_WIDTH = 100
# Matches a finding code or the name of an alert. A resource class has no hyphen and no lower-case letter, so it never
# matches.
_CODE = re.compile(r"[a-z]+(-[a-z]+)+|Stocktake([A-Z][a-z]+)+")


def page_of(code: str) -> str | None:
    """Return the page about the finding code or the alert, None if no code and no alert has this name."""
    if not _CODE.fullmatch(code):
        return None
    for file in _files():
        if file.name == f"{code}.md":
            return file.read_text(encoding="utf-8")
    return _page_of_rule(code)


def known_codes() -> frozenset[str]:
    """Return the codes of all findings, and the names of the alerts that ``stocktake explain`` can explain."""
    from agent.findings import BUILTIN

    return frozenset(rule.code for rule in BUILTIN) | {file.name.removesuffix(".md") for file in _files()}


def code_page(code: str, page: str) -> dict[str, Any]:
    """Return the JSON document about a finding code."""
    return {"schema_version": 1, "subject": "code", "code": code, "text": page.splitlines()}


def _files() -> tuple[Traversable, ...]:
    folder = importlib.resources.files("agent") / _FOLDER
    return tuple(file for file in folder.iterdir() if file.name.endswith(".md")) if folder.is_dir() else ()


def _page_of_rule(code: str) -> str | None:
    """Return a short page about a finding's code that has no runbook; None if no finding has this code.

    The page has the docstring of the code's module in agent/findings, the severity and similar facts.
    """
    from agent.findings import BUILTIN

    rule = next((rule for rule in BUILTIN if rule.code == code), None)
    if rule is None:
        return None
    module = importlib.import_module(f"agent.findings.{code.replace('-', '_')}")
    about = (module.__doc__ or "").strip()
    roles = ", ".join(sorted(role.value for role in rule.healed_in))
    parts = (
        about,
        f"severity: {rule.severity.value}",
        f"to check this finding, an audit must read: {', '.join(sorted(rule.rests_on)) or 'nothing'}",
        f"`stocktake heal` repairs this finding if [agent] role is one of: {roles}"
        if roles
        else "`stocktake heal` does not repair this finding",
    )
    return f"{code}\n\n" + "\n\n".join(map(_wrapped, parts)) + "\n"


def _wrapped(text: str) -> str:
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        textwrap.fill(" ".join(part.split()), _WIDTH, break_long_words=False, break_on_hyphens=False)
        for part in paragraphs
    )
