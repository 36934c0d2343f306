"""Facts for pages: the host of the golden screens, hosts of any size, a host with dead sources, hostile names."""

import dataclasses
import re

from agent.model.report import AuditReport, Outcome, SourceStatus, StorageRow, Verdict
from agent.pages.blocks import Picture
from agent.pages.host.facts import Change, HostFacts, Option
from agent.pages.page import Page
from agent.pages.shapes import TYPE, WIDTH, text_width
from tests.rigs.screens import DELETED, SCREEN, ledger_row

NOW = "2026-11-22T03:12:00Z"
GIB = 1 << 30
HOSTILE_NAMES = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}",
    "</script>",
    "\u202eevil\u2066",
    "x" * 4096,
    "a\x00b",
    "\x1b[2J\x1b]0;title\x07",
    "\u5b57" * 60,
    "<svg onload=alert(1)>",
    "javascript:alert(1)",
)
CHANGES = (
    Change(
        id="9a11aa556677",
        at="2026-11-22T03:08:00Z",
        what="allocations allocation-leaked 6b1f7c22-9a01-5d3c-8e44-0c6f5a2be003",
        actor="root (stocktake heal)",
        result="done",
        words="removed 4 VCPU",
        code="allocation-leaked",
        about=DELETED,
        undone_by=("9b22aa556677",),
    ),
    Change(
        id="9b22aa556677",
        at="2026-11-22T03:09:00Z",
        what="allocations 6b1f7c22-9a01-5d3c-8e44-0c6f5a2be003",
        actor="root (stocktake undo)",
        result="done",
        words="put back 4 VCPU",
        undoes="9a11aa556677",
    ),
    Change(
        id="77aa00112233",
        at="2026-11-22T03:10:00Z",
        what="provider-name",
        actor="root (stocktake adopt)",
        result="unknown",
        words="the answer was lost",
        is_adoption=True,
    ),
)
OPTIONS = (
    Option(group="agent", name="role", value="owner", origin="/etc/stocktake/stocktake.conf", default="observer"),
    Option(group="placement", name="password", value="****", origin="/etc/nova/nova.conf"),
)
USAGE = {"id": 0, "cpus": 4, "memory_mib": 32768, "pinned": [1, 2, 3], "pages": [{"size_kib": 2048, "used": 512}]}


def numa_cell(number: int) -> dict:
    pages = [{"nova_object.data": {"size_kb": size, "total": total}} for size, total in ((2048, 1024), (1048576, 16))]
    return {"nova_object.data": {"id": number, "pcpuset": list(range(8)), "memory": 65536, "mempages": pages}}


def pci_pool(address: str = "0000:81:00.0") -> dict:
    tags = {"dev_type": "type-VF", "address": address}
    ids = {"product_id": "1515", "vendor_id": "8086", "numa_node": 0, "count": 7}
    return {"nova_object.data": {**ids, "tags": tags}}


VIEW = {
    "numa_topology": {"nova_object.data": {"cells": [numa_cell(0), numa_cell(1)]}},
    "pci_stats": {"nova_object.data": {"objects": [pci_pool()]}},
    "unknown": [],
}


def facts(report: AuditReport = SCREEN, **changes: object) -> HostFacts:
    """Return what the page of this report shows, with a journal, options and two NUMA cells."""
    plain = HostFacts(
        report=report,
        now=NOW,
        view=VIEW,
        cell_usages=(USAGE,),
        changes=CHANGES,
        options=OPTIONS,
        impacts={seen.finding.code: "The scheduler refuses instances." for seen in report.findings},
        version="0.1.0",
    )
    return dataclasses.replace(plain, **changes)


def dead(report: AuditReport = SCREEN) -> AuditReport:
    """Return the report of an audit that could read no source; findings and rows of an earlier audit are lost."""
    sources = tuple(
        SourceStatus(name=each.name, ok=False, age_s=None, duration_ms=30000.0, error="no answer within 30 s")
        for each in report.sources
    )
    return dataclasses.replace(
        report,
        outcome=Outcome.UNREADABLE,
        sources=sources,
        findings=(),
        ledger=(),
        inventory=(),
        traits=(),
        storage=(),
        evacuations=(),
        summary=None,
    )


def _uuid(number: int) -> str:
    return f"{number:08x}-3b92-5d58-9d51-d1d8bc0d5770"


def large(guests: int, volumes: int = 0, names: tuple[str, ...] = ()) -> AuditReport:
    """Return a report with this number of guests, each with three classes, and of volumes; ``names`` are reused."""

    def name(number: int) -> str:
        return names[number % len(names)] if names else f"guest-{number}"

    ledger = tuple(
        ledger_row(_uuid(number), name(number), resource_class, (amount, amount, amount), Verdict.AGREED)
        for number in range(guests)
        for resource_class, amount in (("VCPU", 4), ("MEMORY_MB", 8192), ("DISK_GB", 40))
    )
    store = 2 * max(1, volumes) * GIB
    kinds = ("instance", "foreign", "block-storage", "orphaned")
    rows = [
        StorageRow(
            store="vg guests",
            owner_kind=kinds[number % len(kinds)],
            owner=f"guests/{name(number)}",
            what=f"linear volume {name(number)}",
            size_bytes=GIB,
            source=f"lvm guests/{name(number)}",
            store_bytes=store,
        )
        for number in range(volumes)
    ]
    free = dataclasses.replace(SCREEN.storage[-1], size_bytes=store - volumes * GIB, store_bytes=store)
    return dataclasses.replace(
        SCREEN, ledger=(*SCREEN.ledger, *ledger), storage=(*rows, free) if volumes else SCREEN.storage
    )


def pictures(page: Page) -> list[Picture]:
    """Return the pictures of a page."""
    return [block for section in page.sections for block in section.blocks if isinstance(block, Picture)]


def assert_inside(picture: Picture) -> None:
    """Fail if a shape of the picture, or a text by its estimated width, reaches out of the view box."""
    for shape in picture.shapes:
        at = {name: float(value) for name, value in shape.attributes if re.fullmatch(r"-?[\d.]+", value)}
        if shape.tag == "text":
            # The estimate is generous; a browser checks the real widths.
            width = text_width(shape.text)
            anchor = dict(shape.attributes).get("text-anchor", "start")
            left = at["x"] - {"start": 0.0, "middle": width / 2, "end": width}[anchor]
            assert left >= -1, shape
            assert left + width <= WIDTH + 1, shape
            assert at["y"] >= TYPE - 2, shape
            assert at["y"] <= picture.height, shape
        elif shape.tag == "rect":
            assert at["x"] >= 0, shape
            assert at["y"] >= 0, shape
            assert at["x"] + at["width"] <= WIDTH + 0.1, shape
            assert at["y"] + at["height"] <= picture.height + 0.1, shape
            assert at["width"] >= 0, shape
            assert at["height"] >= 0, shape
