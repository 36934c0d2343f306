"""Show findings to people as text: one block for each cause with the commands to type, then the symptoms.

A symptom is a finding that another finding causes; a cause is any other finding. The functions take the JSON documents
of findings (documents.py). A finding in the report of an older agent has no key ``state`` and no key ``remedies``: the
functions then use the keys ``confirmed`` and ``remedy``.

Pure: no I/O.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from agent.model.finding import FindingState, RemedyKind
from agent.render.documents import Document
from agent.render.layout import MARGIN, Block, Line, Span, copyable, labelled, line, toned
from agent.render.reading_order import in_reading_order
from agent.text.amounts import age_text
from agent.text.wording import alike

#: Texts shorten a finding's id to this number of digits. Every command accepts the short id in place of the whole id.
ID_DIGITS = 8
# Codes of findings whose actual value an operator can judge only beside the expected value.
_OF_TWO_VALUES = frozenset(
    {
        "allocation-differs",
        "allocation-missing",
        "consumer-project-differs",
        "guest-power-state-differs",
        "guest-size-differs",
    }
)
_LABELS = {
    RemedyKind.HEAL.value: "fix",
    RemedyKind.HAND.value: "hand",
    RemedyKind.INSPECT.value: "inspect",
    RemedyKind.WAIT.value: "wait",
}


def short_id(finding: Document) -> str:
    """Return the digits of the finding's id that a command accepts."""
    return str(finding["id"])[:ID_DIGITS]


def state_of(finding: Document) -> str:
    """Return the finding's state: ``seen``, ``confirmed`` or ``unknown``."""
    known = FindingState.CONFIRMED if finding["confirmed"] else FindingState.SEEN
    return str(finding.get("state") or known.value)


def who(finding: Document, names: Mapping[str, str]) -> str:
    """Return what the finding is about: a consumer's name and uuid, or a subject, a resource class or a provider."""
    uuid = finding["consumer_uuid"]
    if uuid:
        name = names.get(uuid, "")
        return f"{name} {uuid}" if name and name != uuid else str(uuid)
    return str(finding["subject"] or finding["resource_class"] or finding["provider_uuid"] or "this host")


def age_s(finding: Document, now: str) -> float | None:
    """Return for how many seconds the finding has existed at the time ``now`` (ISO 8601), None if that is unknown."""
    return seconds_between(finding["first_seen_at"], now)


def seconds_between(earlier: str | None, later: str) -> float | None:
    """Return the seconds between two times in ISO 8601, at least 0; None if the earlier time is not known."""
    try:
        passed = datetime.datetime.fromisoformat(later) - datetime.datetime.fromisoformat(earlier or "")
    except (ValueError, TypeError):
        return None
    return max(0.0, passed.total_seconds())


def age_words(seconds: float | None) -> str:
    """Return the age to append to a state, such as ``, 4 min``.

    Return ``, new`` for less than a second, and "" if the age is unknown.
    """
    if seconds is None:
        return ""
    return f", {age_text(seconds)}" if seconds >= 1 else ", new"


def finding_blocks(findings: Iterable[Document], names: Mapping[str, str], now: str) -> Iterator[Block]:
    """Yield a block for each cause with its symptoms, the most urgent cause first. An empty line precedes each block.

    A cause is a finding that no other finding causes. A symptom is any other finding. A symptom of several causes is
    shown only once, below the first cause. More than ``FEW`` causes share one block if they have the same code,
    severity, state and kinds of remedies (agent/text/wording.py).
    """
    listed = in_reading_order(findings, names)
    left = {finding["id"]: finding for finding in listed}
    causes = [finding for finding in listed if not any(root in left for root in finding.get("caused_by", ()))]
    for group in alike(causes, _likeness):
        symptoms = [left.pop(each) for finding in group for each in finding.get("symptoms", ()) if each in left]
        yield ""
        if len(group) == 1:
            yield from finding_block(group[0], names, now, symptoms)
        else:
            yield from _group_block(group, names, now, symptoms)


def finding_block(
    finding: Document, names: Mapping[str, str], now: str, symptoms: Sequence[Document] = ()
) -> Iterator[Line]:
    """Yield the lines of one finding: the headline, what is wrong, the commands, and the finding's symptoms."""
    yield _headline(finding, names, now)
    yield _below(_sentence(finding["actual"]))
    if finding["code"] in _OF_TWO_VALUES:
        yield labelled("want", _sentence(finding["expected"]))
    yield from _known(finding)
    yield from _no_repair(finding)
    for remedy in _remedies(finding):
        # A remedy has a line that explains it and a line to copy. The explanation is shown only for a change by hand,
        # because it says on which condition the operator may run the command. Of any other remedy, only the last line
        # is shown.
        yield from _what_to_do(remedy)[0 if _is_by_hand(remedy) else -1 :]
    yield from _after_a_hand_repair(finding)
    yield copyable("docs", f"stocktake explain {finding['code']}")
    if symptoms:
        yield _below(f"also: {', '.join(map(_cited, symptoms))}")


def _likeness(finding: Document) -> tuple[str, ...]:
    kinds = (f"{each['kind']} {each['command'] is not None}" for each in _remedies(finding))
    return finding["severity"], finding["code"], state_of(finding), *kinds


def _group_block(
    findings: Sequence[Document], names: Mapping[str, str], now: str, symptoms: Sequence[Document]
) -> Iterator[Line]:
    """Yield one block for many findings of one kind: a line for each, and one command that repairs them all.

    If no command repairs all of them, the first command of each finding follows the line of the finding.
    """
    first = findings[0]
    ages = sorted(age for age in (age_s(finding, now) for finding in findings) if age is not None)
    yield line(
        toned(first["severity"], str(first["severity"]).upper()),
        f"  {first['code']}  {len(findings)} findings  ",
        toned(state_of(first)),
        f"{age_words(ages[-1])} at most" if ages else "",
        hang=MARGIN,
    )
    in_one = all(heal_command(finding) for finding in findings)
    for finding in findings:
        yield line(
            f"{' ' * MARGIN}[{short_id(finding)}] {_short_headline(finding, names)}", hang=MARGIN + ID_DIGITS + 3
        )
        if not in_one:
            yield from (_what_to_do(remedy)[-1] for remedy in _remedies(finding)[:1] if remedy["command"])
    if in_one:
        limit = "each run of heal changes a limited number of consumers ([heal] max_percent, max_consumers)"
        yield _below(f"{limit}, so repeat this command:")
        yield copyable("fix", f"stocktake heal --code {first['code']}")
    yield _below("one of these findings, with all its commands:")
    yield copyable("docs", f"stocktake explain {short_id(first)}")
    if symptoms:
        counts = Counter(symptom["code"] for symptom in symptoms)
        yield _below(f"also: {', '.join(f'{count} x {code}' for code, count in counts.items())}")


def heal_command(finding: Document) -> str | None:
    """Return the command of heal that repairs the finding, None if heal does not repair the finding on this host."""
    return next((r["command"] for r in _remedies(finding) if r["kind"] == RemedyKind.HEAL.value), None)


def _short_headline(finding: Document, names: Mapping[str, str]) -> str:
    """Return the finding's headline. The report of an older agent has none: return what the finding is about."""
    return str(finding.get("headline") or who(finding, names))


def finding_details(
    finding: Document, names: Mapping[str, str], now: str, others: Mapping[str, Document]
) -> Iterator[Line]:
    """Yield the block of one finding with all its details.

    ``others`` are the findings of the same audit by id, among them the causes and the symptoms of this finding.
    """
    yield _headline(finding, names, now)
    yield _below(_sentence(finding["actual"]))
    yield labelled("want", _sentence(finding["expected"]))
    yield from _known(finding)
    yield labelled("since", _since(finding))
    yield labelled("id", finding["id"])
    yield from _no_repair(finding)
    yield from (text for remedy in _remedies(finding) for text in _what_to_do(remedy))
    yield from _after_a_hand_repair(finding)
    yield copyable("docs", f"stocktake explain {finding['code']}")
    for word, key in (("also", "symptoms"), ("cause", "caused_by")):
        if cited := [_cited(others[each]) for each in finding.get(key, ()) if each in others]:
            yield _below(f"{word}: {', '.join(cited)}")


def _known(finding: Document) -> Iterator[Line]:
    """Yield what else the audit read about the subject; the report of an older agent has no such sentences."""
    yield from (labelled("known", _sentence(text)) for text in finding.get("known", ()))


def _since(finding: Document) -> str:
    """Return when audits saw the finding, and when the fault began if a row of nova's database says so."""
    seen = f"first seen {finding['first_seen_at']}, last checked {finding.get('last_seen_at') or 'never'}"
    began = finding.get("began_at")
    return f"{seen}; {finding.get('began_because') or 'the fault began'} at {began}" if began else seen


def unknown_lines(findings: Iterable[Document], now: str) -> Iterator[Line]:
    """Yield a line for each group of findings that are unknown because of the same unread sources.

    The line has the number of these findings, the time since their last check, and their codes.
    """
    by_source: dict[tuple[str, ...], list[Document]] = {}
    for finding in findings:
        if state_of(finding) == FindingState.UNKNOWN.value:
            by_source.setdefault(tuple(finding.get("unknown_because") or ("an unread source",)), []).append(finding)
    for sources, found in by_source.items():
        needs = "finding needs" if len(found) == 1 else "findings need"
        checked = max((finding.get("last_seen_at") or "" for finding in found), default="")
        ago = seconds_between(checked, now)
        last = "" if ago is None else f" (last checked {age_text(ago)} ago)"
        codes = ", ".join(sorted({finding["code"] for finding in found}))
        yield line(f"{len(found)} {needs} {', '.join(sources)} and cannot be checked now{last}: {codes}", hang=2)


def counted(findings: Sequence[Document]) -> str:
    """Return ``5 findings, 3 causes``, or only ``5 findings`` if all of them are causes.

    A cause is a finding that no other finding causes.
    """
    causes = sum(not finding.get("caused_by") for finding in findings)
    found = f"{len(findings)} {'finding' if len(findings) == 1 else 'findings'}"
    return found if causes == len(findings) else f"{found}, {causes} {'cause' if causes == 1 else 'causes'}"


def _headline(finding: Document, names: Mapping[str, str], now: str) -> Line:
    age = age_s(finding, now)
    return line(
        toned(finding["severity"], str(finding["severity"]).upper()),
        f"  {finding['code']}  {who(finding, names)}  ",
        toned(state_of(finding)),
        age_words(age),
        f"  [{short_id(finding)}]",
        hang=MARGIN,
    )


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _below(text: str) -> Line:
    return Line((Span(f"{' ' * MARGIN}{text}"),), MARGIN)


def _cited(finding: Document) -> str:
    causes = len(finding.get("caused_by", ()))
    return f"{finding['code']} [{short_id(finding)}]{f' ({causes} causes)' if causes > 1 else ''}"


def _remedies(finding: Document) -> Sequence[Document]:
    """Return the remedies; the document of an older agent has only the text ``remedy``."""
    found: Sequence[Document] = finding.get("remedies") or [{"kind": "", "words": finding["remedy"], "command": None}]
    return found


def hand_lines(finding: Document) -> Iterator[Line]:
    """Yield what the operator can do by hand, with the commands; nothing if the finding has no remedy by hand."""
    yield from (text for remedy in _remedies(finding) if _is_by_hand(remedy) for text in _what_to_do(remedy))
    yield from _after_a_hand_repair(finding)


def _is_by_hand(remedy: Document) -> bool:
    return bool(remedy["kind"] == RemedyKind.HAND.value)


def _no_repair(finding: Document) -> Iterator[Line]:
    """Yield a line that says that the finding can be repaired only by hand; nothing if ``stocktake heal`` can do it."""
    if heal_command(finding) is None and any(map(_is_by_hand, _remedies(finding))):
        yield labelled("fix", "heal on this host cannot repair this; see below")


def _after_a_hand_repair(finding: Document) -> Iterator[Line]:
    """Yield the command to run after a repair by hand; it checks the result.

    Yield nothing if ``stocktake heal`` can repair the finding, or if no command repairs it by hand.
    """
    if heal_command(finding) is None and any(
        _is_by_hand(remedy) and remedy["command"] for remedy in _remedies(finding)
    ):
        yield copyable("then", "stocktake audit")


def _what_to_do(remedy: Document) -> tuple[Line, ...]:
    """Return a line about what the command does and when to use it, then the line to copy, if there is a command.

    The explanation comes first, because an operator may run a command before reading further.
    """
    label = _LABELS.get(remedy["kind"], "how")
    if remedy["command"]:
        return _below(_sentence(remedy["words"])), copyable(label, remedy["command"])
    return (labelled("wait" if label == "wait" else "how", remedy["words"]),)
