"""Convert live findings and their histories to rows of findings.json, and convert these rows back to findings.

The key ``finding`` has the finding's document, with the same keys as in every other document of the agent. So the agent
knows the whole finding after a restart. Older versions of the agent ignore the keys ``finding`` and ``booked``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from agent.books.confirm import seen_of
from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.finding import Booked, Finding, Remedy, RemedyKind, Severity, Sighting
from agent.model.placement import ROOT, ProviderKey
from agent.render.documents import finding_document
from agent.text.numbers import unbounded, whole
from agent.text.own_rows import (
    BadRow,
    Json,
    count_of,
    list_of,
    member_of,
    object_of,
    plain_text,
    text_of,
    text_or_none,
    utc_time_of,
)

#: The maximum number of claims (evidence) that the file keeps of one finding. Without this limit, a finding about
#: thousands of consumers would fill the file with thousands of claims.
EVIDENCE = 20
#: The file has the texts of at most this number of findings. Of the others it has only id, code, severity and times.
MOST_TEXTS = 5_000
_LOUDEST_FIRST = tuple(Severity)


def rows_of(sightings: tuple[Sighting, ...]) -> Iterator[Json]:
    """Yield the rows. Only the first MOST_TEXTS findings, by severity and then by age, have a text."""
    ranked = sorted(sightings, key=lambda s: (_LOUDEST_FIRST.index(_severity(s)), s.first_seen_at, s.id))
    with_text = {sighting.id for sighting in ranked[:MOST_TEXTS]}
    for one in sightings:
        yield _row(one) | (_text_row(one) if one.id in with_text else {})


def _row(sighting: Sighting) -> dict[str, Json]:
    return {
        "id": sighting.id,
        "code": sighting.code,
        "first_seen_at": sighting.first_seen_at,
        "last_seen_at": sighting.last_seen_at,
        "times": sighting.times,
        "evidence_digest": sighting.evidence_digest,
        "stands_since": sighting.stands_since,
        "counted_at": sighting.counted_at,
        "confirmed": sighting.confirmed,
        "severity": sighting.finding.severity.value if sighting.finding else None,
    }


def _text_row(sighting: Sighting) -> dict[str, Json]:
    finding = sighting.finding
    if finding is None or finding.saved_id:
        return {}
    short = dataclasses.replace(finding, evidence=finding.evidence[:EVIDENCE])
    document = finding_document(seen_of(dataclasses.replace(sighting, finding=short)))
    return {
        "finding": document | {"rests_on_recorded": finding.rests_on_recorded},
        "booked": [list(one) for one in sighting.booked],
    }


def _severity(sighting: Sighting) -> Severity:
    return sighting.finding.severity if sighting.finding else Severity.WARNING


def sighting_of(row: Json) -> Sighting:
    """Return the finding's history without the finding's text (``with_text`` adds the text). Raises BadRow."""
    is_old = isinstance(row, dict) and row.get("stands_since", "") == ""
    return Sighting(
        id=text_of(row, "id"),
        code=text_of(row, "code"),
        first_seen_at=utc_time_of(row, "first_seen_at"),
        last_seen_at=utc_time_of(row, "last_seen_at"),
        times=count_of(row, "times"),
        evidence_digest=text_of(row, "evidence_digest"),
        stands_since="" if is_old else utc_time_of(row, "stands_since"),
        counted_at=count_of(row, "counted_at") if "counted_at" in row else 0,
        confirmed=row.get("confirmed") is True,
    )


def with_text(sighting: Sighting, row: Json) -> Sighting:
    """Return the sighting (the finding's history), and add the finding's text if the row has one.

    Raises BadRow if the text cannot be read. The caller then keeps ``sighting``, because the finding still exists.
    """
    if row.get("finding") is None:
        return _without_text(sighting, row)
    document = object_of(row["finding"])
    finding = finding_of(document, sighting.code)
    if finding.id != sighting.id:
        raise BadRow("finding: the saved finding has another id than its row")
    return dataclasses.replace(
        sighting,
        finding=finding,
        booked=list_of(row.get("booked", []), _booked),
        caused_by=list_of(document.get("caused_by", []), plain_text),
    )


def _without_text(sighting: Sighting, row: Json) -> Sighting:
    if row.get("severity") is None:
        return sighting
    finding = dataclasses.replace(seen_of(sighting).finding, severity=member_of(Severity, row["severity"]))
    return dataclasses.replace(sighting, finding=finding)


def finding_of(document: dict[str, Json], code: str) -> Finding:
    """Return the finding with the code ``code`` that ``document`` describes. Raises BadRow."""
    return Finding(
        code=code,
        severity=member_of(Severity, document.get("severity")),
        remedy=text_of(document, "remedy"),
        expected=text_of(document, "expected"),
        actual=text_of(document, "actual"),
        provider_uuid=text_or_none(document, "provider_uuid"),
        consumer_uuid=text_or_none(document, "consumer_uuid"),
        resource_class=text_or_none(document, "resource_class"),
        subject=text_of(document, "subject"),
        evidence=list_of(document.get("evidence", []), _claim),
        facts=_facts(document.get("facts", {})),
        rests_on_recorded=document.get("rests_on_recorded") is True,
        rests_on=frozenset(list_of(document.get("rests_on", []), plain_text)),
        remedies=list_of(document.get("remedies", []), _remedy),
        headline=text_of(document, "headline"),
        known=list_of(document.get("known", []), plain_text),
        began_at=utc_time_of(document, "began_at") if document.get("began_at") is not None else None,
        began_because=text_of({"began_because": "", **document}, "began_because"),
    )


def _facts(value: Json) -> tuple[tuple[str, str | int | float | bool | None], ...]:
    facts = object_of(value)
    if unbounded(facts) or not all(v is None or isinstance(v, str | int | float | bool) for v in facts.values()):
        raise BadRow("facts: a value is not a text, a finite number, a Boolean or null")
    return tuple(facts.items())


def _claim(row: Json) -> Claim:
    provider = text_of(row, "provider")
    kind, _, name = provider.partition(":")
    size_bytes = row.get("size_bytes")
    return Claim(
        consumer=Consumer(
            key=text_of(row, "consumer_key"),
            kind=text_of(row, "consumer_kind"),
            name=text_of(row, "consumer_name"),
            uuid=text_or_none(row, "consumer_uuid"),
        ),
        cause=member_of(Cause, row.get("cause")),
        resource_class=text_of(row, "resource_class"),
        amount=count_of(row, "amount"),
        provider_key=ROOT if provider == "root" else ProviderKey(kind, name),
        source=Origin(*(*text_of(row, "source").split(" ", 2), "", "")[:3]),
        size_bytes=None if size_bytes is None else count_of(row, "size_bytes"),
        instance_uuid=text_or_none(row, "instance_uuid"),
    )


def _remedy(row: Json) -> Remedy:
    kind = member_of(RemedyKind, object_of(row).get("kind"))
    return Remedy(kind=kind, words=text_of(row, "words"), command=text_or_none(row, "command"))


def _booked(row: Json) -> Booked:
    if not isinstance(row, list) or len(row) != len(Booked._fields):
        raise BadRow(f'key "booked": the row is not a list of {len(Booked._fields)} items')
    if any(amount is not None and whole(amount) is None for amount in row[2:5]):
        raise BadRow('key "booked": an amount is not a whole number')
    return Booked(text_of(row, 0), text_of(row, 1), row[2], row[3], row[4], row[5] is True)
