"""Refuse an unknown resource class or consumer, and name the nearest known class or the sources that were searched.

If a source could not be read, the command does not refuse a consumer as unknown: that source may have the consumer.
"""

from __future__ import annotations

import difflib

from agent.cmd.exit_handling import to_stderr
from agent.model.report import AuditReport
from agent.render.explain import explain_consumer, known_classes, unread
from agent.resources import owned
from agent.usage_error import UsageError


def require_class(report: AuditReport, name: str) -> str:
    """Return the class name. Raises UsageError, with the nearest name, if the class is unknown."""
    known = known_classes(report)
    if name in known:
        return name
    near = difflib.get_close_matches(name.upper(), sorted(known), n=1)
    hint = f": did you mean {near[0]}?" if near else "; `stocktake inventory` lists this host's classes"
    raise UsageError(f"unknown resource class {name}{hint}")


def require_consumer(report: AuditReport, consumer: str) -> bool:
    """Return True if the audit found the consumer. Raises UsageError if all sources were read and none lists it.

    If a source could not be read, write a line to stderr and return False, because that source may have the consumer.
    """
    try:
        explain_consumer(report, consumer, owned)
    except LookupError:
        found_none = (
            f"found no consumer {consumer} on {report.node or report.host}: none in Placement's allocations, in"
            " nova's instances and migrations, among libvirt's guests or among the volumes"
        )
        if unread(report):
            to_stderr(f"{found_none}, as far as the sources could be read")
            return False
        raise UsageError(found_none) from None
    return True
