"""Find what the argument WHAT of ``stocktake explain WHAT`` names: a class, else a finding, else a consumer.

explain_code.py explains a finding code, without an audit. The name of a class has no hyphen, and a code has at least
one hyphen, so no argument names both.
"""

from __future__ import annotations

import dataclasses
import difflib
from dataclasses import dataclass

from agent.cmd.naming.consumer_names import consumer_of, known_names
from agent.cmd.naming.explain_code import known_codes
from agent.cmd.naming.prefixes import could_be_beginning, only_match
from agent.cmd.naming.validate_names import NEAREST, class_of, require_consumer
from agent.exit_codes import answer_code
from agent.model.finding import FindingState, SeenFinding
from agent.model.report import AuditReport
from agent.render.documents import SCHEMA_VERSION, Document, audit_keys, finding_document
from agent.render.draw import drawn
from agent.render.explain import (
    Explanation,
    explain_class,
    explain_consumer,
    known_classes,
    unread,
    unread_books,
    unread_of_inventory,
)
from agent.render.explain_json import document
from agent.render.explain_text import Detail, explanation_blocks
from agent.render.finding_text import finding_details
from agent.render.layout import Block
from agent.render.reading_order import names_of
from agent.resources import owned
from agent.usage_error import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The explanation as text and as a JSON document, and the exit code."""

    blocks: tuple[Block, ...]
    document: Document
    code: int


def answer(report: AuditReport, what: str, detail: Detail = Detail.BRIEF) -> Answer:
    """Explain the class, the finding or the consumer that is named ``what``.

    Raises UsageError if nothing has this name, or if several things have it. Raises NoDocument (exit code 2) if nothing
    has the name but a source could not be read, because the name may be in that source.
    """
    name = class_of(report, what)
    if name is not None:
        missing = [*unread_of_inventory(report, name), *_sources(report, name)]
        return _of(explain_class(report, name, owned), detail, answer_code(report, missing))
    found = _finding(report, what)
    if found is not None:
        return _of_finding(report, found)
    explanation = explain_consumer(report, _consumer(report, what), owned)
    return _of(explanation, detail, answer_code(report, _sources(report, "DISK_GB")))


def _of(explanation: Explanation, detail: Detail, code: int) -> Answer:
    blocks = tuple(explanation_blocks(explanation, detail))
    return Answer(blocks=blocks, document=document(explanation, drawn(blocks).splitlines()), code=code)


def _of_finding(report: AuditReport, seen: SeenFinding) -> Answer:
    # The answer is incomplete if this audit could not read a source that the finding needs.
    missing = seen.unknown_because if seen.state is FindingState.UNKNOWN else ()
    others = {each.finding.id: finding_document(each) for each in report.findings}
    blocks = tuple(finding_details(others[seen.finding.id], names_of(report), report.started_at, others))
    alone = dataclasses.replace(report, findings=(seen,))
    keys = audit_keys(
        alone, "audit_id", "host", "node", "provider_uuid", "started_at", "outcome", "sources", "findings"
    )
    text = drawn(blocks).splitlines()
    found = {"schema_version": SCHEMA_VERSION, "subject": "finding", **keys, "text": text}
    return Answer(blocks=blocks, document=found, code=answer_code(report, missing))


def _finding(report: AuditReport, what: str) -> SeenFinding | None:
    by_id = {seen.finding.id: seen for seen in report.findings}
    found = only_match("finding", what, by_id) if could_be_beginning(what) else None
    return by_id[found] if found else None


def _consumer(report: AuditReport, what: str) -> str:
    consumer = consumer_of(report, what)
    # ``what`` means a consumer if it is a uuid, or if ``consumer_of`` translated it to a uuid. If a source could not be
    # read, any unknown name may mean a consumer. For an unknown consumer, ``require_consumer`` raises the right error.
    if unread(report) or consumer != what or could_be_beginning(what) or _is_known(report, consumer):
        return require_consumer(report, consumer)
    words = {name.lower(): name for name in (*known_classes(report), *known_codes(), *known_names(report))}
    near = difflib.get_close_matches(what.lower(), sorted(words), n=NEAREST)
    hint = f"; nearest: {', '.join(words[one] for one in near)}" if near else ""
    raise UsageError(
        f"{what} is no resource class, finding code, finding id or consumer on {report.node or report.host}{hint}"
    )


def _is_known(report: AuditReport, consumer: str) -> bool:
    try:
        explain_consumer(report, consumer, owned)
    except LookupError:
        return False
    return True


def _sources(report: AuditReport, name: str) -> tuple[str, ...]:
    return tuple(source for names in unread_books(report, name).values() for source in names)
