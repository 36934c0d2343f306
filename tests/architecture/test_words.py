"""Sentences say who acts: the operator, the agent, Placement or nova-compute (CONTRIBUTING.md, Words)."""

import re

from tests.rigs.source_tree import ROOT

#: Words that hide who acts or who owns a thing.
VAGUE = re.compile(r"\b(somebody|someone|nobody|anybody|whoever|theirs)\b", re.IGNORECASE)
#: CONTRIBUTING.md names one of the words to forbid it.
FORBIDS = '"somebody"'


def test_sentences_say_who_acts():
    """No word such as "somebody" or "whoever" stands in the agent's code, the runbooks or the documents."""
    places = [*(ROOT / "agent").rglob("*.py"), *(ROOT / "agent").rglob("*.md"), *(ROOT / "docs").rglob("*.md")]
    vague = []
    for path in [*places, ROOT / "README.md", ROOT / "CONTRIBUTING.md"]:
        lines = enumerate(path.read_text().splitlines(), 1)
        found = ((number, line) for number, line in lines if VAGUE.search(line.replace(FORBIDS, "")))
        vague += [f"{path.relative_to(ROOT)}:{number}: {line.strip()}" for number, line in found]
    assert vague == []
