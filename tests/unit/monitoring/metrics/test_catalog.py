"""docs/monitoring.md lists every metric."""

import re

from agent.monitoring.metrics.catalog import CATALOG, COUNTER
from tests.rigs.source_tree import ROOT


def test_the_documented_metrics_equal_the_catalog():
    """The table in docs/monitoring.md has the same metrics, types, labels and help texts as the code's catalog."""
    text = (ROOT / "docs/monitoring.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \| (.*?) \|$", text, re.MULTILINE)
    names = {name: f"{name}_total" if metric.kind == COUNTER else name for name, metric in CATALOG.items()}
    expected = [
        (names[name], metric.kind, ", ".join(f"`{label}`" for label in metric.labels), metric.help)
        for name, metric in CATALOG.items()
    ]
    assert rows == expected
