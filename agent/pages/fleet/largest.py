"""Section: the consumers with the most VCPU in the whole fleet.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from agent.pages.blocks import Cell, Column, Paragraph, Table
from agent.pages.fleet.facts import FleetFacts
from agent.pages.fleet.wording import amounts, marked_names, some
from agent.pages.page import Section
from agent.pages.tables import NOT_KNOWN, cut

#: The maximum number of consumers in the table. It must not exceed MOST_LARGEST: report_file.py keeps only so many
#: consumers of each host, so a longer table could miss a consumer.
MOST_LISTED = 10
_MOST_HOSTS = 3
_HEADING = "Consumers with the most VCPU"


def largest(facts: FleetFacts) -> Section:
    """Return the section."""
    if facts.details is None:
        text = (
            "This page was made from the agents' messages. Messages do not name the consumers. To see them, make the "
            "page from report files: stocktake report --html FILE --fleet DIR."
        )
        return Section(id="largest", heading=_HEADING, blocks=(Paragraph(text=text),))
    table = _table(facts)
    nothing = Paragraph(text="No report names a consumer to which Placement has allocated VCPU.")
    return Section(id="largest", heading=_HEADING, blocks=(table if table.rows else nothing,))


def _table(facts: FleetFacts) -> Table:
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    where: dict[str, list[str]] = defaultdict(list)
    names: dict[str, str] = {}
    for host, details in sorted((facts.details or {}).items()):
        for owner in details.largest:
            sums[owner.consumer_uuid].update(dict(owner.amounts))
            where[owner.consumer_uuid].append(host)
            names.setdefault(owner.consumer_uuid, owner.name)
    most = sorted(sums, key=lambda uuid: (-sums[uuid]["VCPU"] - sums[uuid]["PCPU"], uuid))[:MOST_LISTED]
    shown = marked_names(facts)
    cpus = [sums[uuid]["VCPU"] + sums[uuid]["PCPU"] for uuid in most]
    equal = bool(cpus) and cpus[-1] == cpus[0] and len(sums) > len(most)
    return Table(
        id="largest-consumers",
        caption=f"The {len(most)} consumers to which Placement has allocated the most VCPU and PCPU",
        columns=(
            Column(heading="consumer"),
            Column(heading="uuid", is_code=True, is_word=True),
            Column(heading="recorded"),
            Column(heading="on"),
        ),
        rows=tuple(
            (
                Cell(text=cut(names[uuid]) or NOT_KNOWN),
                Cell(text=uuid),
                Cell(text=amounts(sums[uuid])),
                Cell(text=some([shown.get(host, host) for host in where[uuid]], _MOST_HOSTS)),
            )
            for uuid in most
        ),
        foot="All consumers in this table have the same number of CPUs. Others may have this number too."
        if equal
        else "",
    )
