"""Compose the page of the fleet from its sections.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from agent.pages.fleet.capacity import capacity
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.fleet_map import fleet_map
from agent.pages.fleet.largest import largest
from agent.pages.fleet.leftovers import orphans, strangers
from agent.pages.fleet.losers import sold_twice, wasted
from agent.pages.fleet.matrix import matrix
from agent.pages.fleet.newest import newest
from agent.pages.fleet.not_known import not_known_section
from agent.pages.fleet.presence import agents, ages, presence
from agent.pages.fleet.shared_consumers import shared_consumers
from agent.pages.fleet.unknown_hosts import unknown_hosts
from agent.pages.fleet.verdict import headline, verdict
from agent.pages.fleet.wording import hosts
from agent.pages.fleet.worst import worst
from agent.pages.page import Page
from agent.pages.sizes import RULE
from agent.pages.times import age_s, utc
from agent.text.amounts import age_text

#: The sections in the order in which the page shows them.
SECTIONS = (
    verdict,
    sold_twice,
    wasted,
    unknown_hosts,
    worst,
    fleet_map,
    matrix,
    newest,
    shared_consumers,
    orphans,
    strangers,
    capacity,
    largest,
    agents,
    presence,
    ages,
    not_known_section,
)


def _later(facts: FleetFacts) -> str:
    """Return a text with the age of the numbers at the time when the page is made; "" below a minute."""
    seconds = age_s(facts.at.isoformat(), facts.made)
    return f", when the numbers were {age_text(seconds)} old" if seconds is not None and seconds >= 60 else ""


def fleet_page(facts: FleetFacts) -> Page:
    """Return the page of the fleet. Its heading says in one sentence how much capacity is wasted."""
    about = (
        "Stocktake fleet",
        hosts(len(facts.view.rows)),
        f"made from {facts.source}",
        f"state at {facts.at:%Y-%m-%d %H:%M:%S} UTC: the numbers on this page are from this time, and ages are "
        "counted up to this time",
        f"page made {utc(facts.made)}{_later(facts)}",
        RULE,
        *((f"Stocktake {facts.version}",) if facts.version else ()),
    )
    return Page(
        title="Stocktake: the fleet",
        heading=headline(facts),
        about=about,
        sections=tuple(section(facts) for section in SECTIONS),
    )
