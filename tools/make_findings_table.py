#!/usr/bin/env python3
"""Write the table of finding codes in docs/findings.md: severity, sources, alerts and runbook of each code.

    .venv/bin/python tools/make_findings_table.py

The table comes from the rules in agent/findings and from the runbooks' last sections. A test compares the document with
the table.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from agent.findings import BUILTIN  # noqa: E402 - the path above comes first

DOCUMENT = ROOT / "docs" / "findings.md"
RUNBOOKS = ROOT / "agent" / "runbooks"
HEAD = "| Code | Severity | Rests on | Alert | Runbook |\n| --- | --- | --- | --- | --- |\n"


def rows() -> str:
    """Return the table with one row for each code, sorted by code."""
    lines = []
    for rule in sorted(BUILTIN, key=lambda rule: rule.code):
        sources = ", ".join(sorted(rule.rests_on)) or "-"
        page = f"[page](../agent/runbooks/{rule.code}.md)"
        lines.append(f"| `{rule.code}` | {rule.severity.value} | {sources} | {_alerts(rule.code)} | {page} |\n")
    return HEAD + "".join(lines)


def _alerts(code: str) -> str:
    """Return the alerts that the code's runbook names."""
    found = re.search(r"^- Alert: (.*)\.$", (RUNBOOKS / f"{code}.md").read_text(), re.MULTILINE)
    assert found, code
    return "-" if found[1] == "none" else found[1]


def main() -> None:
    """Replace the table in the document."""
    before, _, rest = DOCUMENT.read_text().partition(HEAD)
    _, _, after = rest.partition("\n\n")
    DOCUMENT.write_text(f"{before}{rows()}\n{after}")


if __name__ == "__main__":
    main()
