"""Compose the page of one host from its sections.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from agent.pages.host.capacity import capacity
from agent.pages.host.configuration import configuration
from agent.pages.host.facts import HostFacts
from agent.pages.host.findings import findings
from agent.pages.host.journal import journal
from agent.pages.host.ledger import ledger
from agent.pages.host.numa import numa
from agent.pages.host.providers import providers
from agent.pages.host.sources import sources
from agent.pages.host.storage import storage
from agent.pages.host.timeline import timeline
from agent.pages.host.unknown import unknown
from agent.pages.host.verdict import verdict
from agent.pages.page import Page
from agent.pages.sizes import RULE
from agent.pages.tables import cut
from agent.pages.times import utc, with_age

#: The sections in the order in which the page shows them.
SECTIONS = (
    verdict,
    findings,
    capacity,
    storage,
    ledger,
    providers,
    timeline,
    numa,
    sources,
    configuration,
    journal,
    unknown,
)


def host_page(facts: HostFacts) -> Page:
    """Return the page of one host."""
    report = facts.report
    about = (
        f"numbers from the audit at {with_age(report.started_at, facts.now)}",
        f"role {report.role}",
        f"provider {report.provider_uuid or 'not known'}",
        *((f"Stocktake {facts.version}",) if facts.version else ()),
        f"page made {utc(facts.now)}: ages on this page are counted up to this time",
        RULE,
        *(f"simulated: {what}" for what in report.simulated),
    )
    return Page(
        title=f"Stocktake: {facts.name}",
        heading=f"Resources of {facts.name}",
        about=tuple(cut(fact) for fact in about),
        sections=tuple(section(facts) for section in SECTIONS),
    )
