"""Turn rows of the table ``services`` into the hosts of a cell's nova-compute services. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.nova import ComputeHost
from agent.sources.nova.documents import Cells, Row, short


def compute_hosts_from_rows(rows: Iterable[Row]) -> tuple[ComputeHost, ...]:
    """Return the hosts, sorted by name. Raises SourceInconsistent if a row names no host."""
    return tuple(sorted(map(_host, rows), key=lambda each: each.host))


def _host(row: Row) -> ComputeHost:
    cells = Cells(f"services id {short(row.get('id'))}", row)
    return ComputeHost(host=cells.needed_text("host"), disabled=cells.flag("disabled"))
