"""Section 2, the findings: a block for each group of similar findings, with commands to copy.

A finding that is only the result of another finding has no block of its own.

Pure: the module uses no clock, file, socket or log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from agent.model.finding import FindingState, Remedy, RemedyKind, SeenFinding, Severity
from agent.pages.blocks import Block, Command, FindingBlock, Meaning, Paragraph
from agent.pages.host.amounts import impact_of
from agent.pages.host.facts import HostFacts
from agent.pages.host.repairs import repairs_of
from agent.pages.page import Section
from agent.pages.sizes import by_the_rule
from agent.pages.tables import cut, was_unread
from agent.pages.times import with_age
from agent.render.reading_order import names_of
from agent.text.wording import alike

#: How many digits of an id a page shows; every command accepts an id that is shortened to these digits.
ID_DIGITS = 8
#: The maximum number of blocks on the page, and the maximum number of findings in one block.
MOST_BLOCKS = 40
MOST_MEMBERS = 30
_APPLY = "To carry out the plan, run the command again with --plan DIGEST --yes. The plan's output shows the DIGEST."
MEANINGS = {Severity.ERROR: Meaning.WRONG, Severity.WARNING: Meaning.FOREIGN, Severity.INFO: Meaning.RESERVED}
_LABELS = {
    RemedyKind.HEAL: "fix",
    RemedyKind.HAND: "by hand",
    RemedyKind.INSPECT: "inspect",
    RemedyKind.WAIT: "wait",
}
_ORDER = tuple(Severity)


def findings(facts: HostFacts) -> Section:
    """Return the section."""
    names = names_of(facts.report)
    groups = groups_of(facts)
    blocks: list[Block] = [_block(group, names, facts) for group in groups[:MOST_BLOCKS]]
    if len(groups) > MOST_BLOCKS:
        blocks.append(
            Paragraph(text=f"and {len(groups) - MOST_BLOCKS} more; this command lists them all: stocktake findings")
        )
    if not blocks:
        blocks.append(Paragraph(text=_nothing(facts)))
    return Section(id="findings", heading="Findings", blocks=tuple(blocks))


def groups_of(facts: HostFacts) -> list[list[SeenFinding]]:
    """Return the findings in groups of similar findings, one group for each block of the section.

    Findings that are caused by another finding are left out.
    """
    return [list(group) for group in alike(causes_of(facts.report.findings, names_of(facts.report)), _likeness)]


def block_id(group: Sequence[SeenFinding]) -> str:
    """Return the HTML id of the block that shows this group."""
    return f"f-{_short(group[0])}"


def causes_of(found: Sequence[SeenFinding], names: Mapping[str, str]) -> list[SeenFinding]:
    """Return the findings that are not caused by another finding in ``found``.

    The most urgent findings are first. Of equally urgent findings, the oldest is first.
    """
    listed = {seen.finding.id for seen in found}
    causes = [seen for seen in found if not any(root in listed for root in seen.caused_by)]
    return sorted(causes, key=lambda seen: (*urgency(seen), who(seen, names)))


def urgency(seen: SeenFinding) -> tuple[int, str, str, str]:
    """Return a key that sorts the most urgent finding first, and of equally urgent findings the oldest first."""
    finding = seen.finding
    return _ORDER.index(finding.severity), seen.first_seen_at, finding.code, finding.id


def who(seen: SeenFinding, names: Mapping[str, str]) -> str:
    """Return what the finding is about: a consumer's name and uuid, a subject, a resource class or a provider."""
    finding = seen.finding
    if finding.consumer_uuid:
        name = names.get(finding.consumer_uuid, "")
        return f"{name} {finding.consumer_uuid}" if name and name != finding.consumer_uuid else finding.consumer_uuid
    return finding.subject or finding.resource_class or finding.provider_uuid or "this host"


def _nothing(facts: HostFacts) -> str:
    unread = [source.name for source in facts.unread_sources]
    return f"No findings are known. There may be some, because {was_unread(unread)}." if unread else "No findings."


def _likeness(seen: SeenFinding) -> tuple[str, ...]:
    finding = seen.finding
    kinds = (f"{remedy.kind.value} {remedy.command is not None}" for remedy in finding.remedies)
    return finding.severity.value, finding.code, seen.state.value, *kinds


def _block(group: Sequence[SeenFinding], names: Mapping[str, str], facts: HostFacts) -> FindingBlock:
    first = group[0]
    finding = first.finding
    is_one = len(group) == 1
    more = len(group) - MOST_MEMBERS
    members = tuple(_member(seen, names, facts) for seen in group[:MOST_MEMBERS])
    impacts = (impact_of(facts.report, group), facts.impacts.get(finding.code, ""))
    return FindingBlock(
        id=block_id(group),
        severity=finding.severity.value,
        meaning=MEANINGS[finding.severity],
        code=finding.code,
        who=cut(who(first, names)) if is_one else f"{len(group)} findings",
        state=_state(group, facts),
        short_id=_short(first) if is_one else "",
        actual=cut(by_the_rule(" ".join(map(_sentence, (finding.actual, *finding.known)))), 1000) if is_one else "",
        impact=" ".join(filter(None, impacts)),
        history=repairs_of(group, facts),
        members=() if is_one else (*members, *((f"and {more} more",) if more > 0 else ())),
        commands=tuple(_commands(group)),
        also=_also(group, facts.report.findings),
    )


def _member(seen: SeenFinding, names: Mapping[str, str], facts: HostFacts) -> str:
    words = cut(by_the_rule(seen.finding.headline or who(seen, names)))
    return "; ".join((f"[{_short(seen)}] {words}", *_times(seen, facts.now)))


def _state(group: Sequence[SeenFinding], facts: HostFacts) -> str:
    """Return the state of the findings as text. For a single finding, the text also has the finding's times."""
    seen = group[0]
    text = seen.state.value
    if seen.state is FindingState.UNKNOWN:
        last = f", last checked {with_age(seen.last_seen_at, facts.now)}" if seen.last_seen_at else ""
        text = f"not known now, because {was_unread(seen.unknown_because)}{last}"
    return "; ".join((text, *(_times(seen, facts.now) if len(group) == 1 else ())))


def _times(seen: SeenFinding, now: str) -> Iterator[str]:
    """Yield up to two times: when the fault began, and when an audit first saw the finding.

    Only a row of nova's database can say when the fault began.
    """
    began, because = seen.finding.began_at, seen.finding.began_because
    if began:
        yield f"began {with_age(began, now)}{f': {cut(because)}' if because else ''}"
    if seen.first_seen_at:
        yield f"first seen {with_age(seen.first_seen_at, now)}"


def _commands(group: Sequence[SeenFinding]) -> Iterator[Command]:
    first = group[0].finding
    heal = [_heal_id(seen) for seen in group]
    if len(group) > 1:
        if all(heal):
            words = (
                "Repair these findings. Each run of heal changes a limited number of consumers, so repeat the command. "
            )
            words += _APPLY
            yield Command(label="fix", words=words, line=f"stocktake heal --code {first.code}")
        yield Command(
            label="inspect",
            words="Explain one of these findings, with the commands to inspect or repair it.",
            line=f"stocktake explain {first.id[:ID_DIGITS]}",
        )
    else:
        yield from (_command(remedy) for remedy in first.remedies)
        if not any(remedy.command for remedy in first.remedies):
            words = "Explain this finding with its evidence."
            yield Command(label="inspect", words=words, line=f"stocktake explain {first.id[:ID_DIGITS]}")
        if not first.remedies and first.remedy:
            yield Command(label="how", words=_sentence(first.remedy), line=None)
    yield Command(label="docs", words="", line=f"stocktake explain {first.code}")


def _heal_id(seen: SeenFinding) -> str:
    has_heal = any(remedy.kind is RemedyKind.HEAL and remedy.command for remedy in seen.finding.remedies)
    return _short(seen) if has_heal else ""


def _command(remedy: Remedy) -> Command:
    words = _sentence(remedy.words)
    if remedy.kind is RemedyKind.HEAL and remedy.command:
        words = f"{words} {_APPLY}"
    return Command(label=_LABELS[remedy.kind], words=words, line=remedy.command)


def _also(group: Sequence[SeenFinding], found: Sequence[SeenFinding]) -> str:
    wanted = {each for seen in group for each in seen.symptoms}
    cited = [f"{seen.finding.code} [{_short(seen)}]" for seen in found if seen.finding.id in wanted]
    return f"also caused: {', '.join(cited[:MOST_MEMBERS])}" if cited else ""


def _short(seen: SeenFinding) -> str:
    return seen.finding.id[:ID_DIGITS]


def _sentence(text: str) -> str:
    """Return the text as a sentence: with a capital letter and a full stop."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}" if text else ""
