"""Define the result of one run of the demo."""

from __future__ import annotations

from dataclasses import dataclass

from agent.demo.stories import Story
from agent.model.report import AuditReport, InventoryRow


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRun:
    """The report of one host's last audit, and the host's inventory in Placement after the run (``holds``)."""

    name: str
    report: AuditReport
    holds: tuple[InventoryRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRun:
    """Everything that the demo prints. ``simulated`` names the parts that were not real."""

    stories: tuple[Story, ...]
    hosts: tuple[HostRun, ...]
    simulated: tuple[str, ...]
