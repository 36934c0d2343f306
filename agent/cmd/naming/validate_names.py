"""Find the resource class or consumer that the operator typed, or refuse an unknown name and suggest similar names.

Classes are found in upper and lower case. If a source could not be read, the command does not refuse a consumer as
unknown: that source may have the consumer, so the command ends with 2 (partial) instead of 127.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from agent.cmd.command_line.failures import FailureKind, NoDocument
from agent.cmd.naming.consumer_names import consumer_of, known_names
from agent.exit_codes import PARTIAL
from agent.model.report import AuditReport
from agent.render.explain import explain_consumer, known_classes, unread
from agent.resources import owned
from agent.usage_error import UsageError

NEAREST = 3


def class_of(report: AuditReport, typed: str) -> str | None:
    """Return the class in Placement's spelling, None if the class is unknown."""
    known = known_classes(report)
    return next((name for name in (typed, typed.upper()) if name in known), None)


def require_class(report: AuditReport, typed: str) -> str:
    """Return the class in Placement's spelling. Raises UsageError, with the nearest names, if the class is unknown."""
    found = class_of(report, typed)
    if found is not None:
        return found
    near = nearest(typed.upper(), known_classes(report))
    hint = f": did you mean {near}?" if near else "; `stocktake inventory` lists this host's classes"
    raise UsageError(f"unknown resource class {typed}{hint}")


def require_consumer(report: AuditReport, typed: str) -> str:
    """Return the consumer's uuid or key. Raises UsageError if all sources were read and none has the consumer.

    Raises NoDocument (exit code 2) if a source that could not be read may have the consumer.
    """
    found = consumer_of(report, typed)
    try:
        explain_consumer(report, found, owned)
    except LookupError:
        message = (
            f"found no consumer {typed} on {report.node or report.host}: none in Placement's allocations, in"
            " nova's instances and migrations, among libvirt's guests or among the volumes"
        )
        if unread(report):
            partial = f"{message}, as far as the sources could be read"
            raise NoDocument(FailureKind.UNAVAILABLE, partial, PARTIAL) from None
        near = nearest(typed, known_names(report))
        raise UsageError(f"{message}{f'; did you mean {near}?' if near else ''}") from None
    return found


def nearest(typed: str, known: Iterable[str]) -> str:
    """Return the most similar known names, at most three, joined by commas; "" if none is similar."""
    return ", ".join(difflib.get_close_matches(typed, sorted(known), n=NEAREST))
