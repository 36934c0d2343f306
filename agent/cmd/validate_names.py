"""Refuse a resource class or a consumer that nobody knows, with the nearest name or with where was looked.

A consumer that was not found while a source could not be read is not unknown: that
source may hold it.
"""

from __future__ import annotations

import difflib

from agent.cmd.exit_handling import say
from agent.model.report import AuditReport
from agent.render.explain import explain_consumer, known_classes, unread
from agent.resources import owned
from agent.usage_error import UsageError


def require_class(report: AuditReport, name: str) -> str:
    """The class. Raises UsageError, naming the nearest."""
    known = known_classes(report)
    if name in known:
        return name
    near = difflib.get_close_matches(name.upper(), sorted(known), n=1)
    hint = f": did you mean {near[0]}?" if near else "; `stocktake inventory` lists those of this host"
    raise UsageError(f"unknown resource class {name}{hint}")


def require_consumer(report: AuditReport, consumer: str) -> bool:
    """Whether the audit saw it; False, said on stderr, where an unread source may know it. Raises UsageError."""
    try:
        explain_consumer(report, consumer, owned)
    except LookupError:
        looked = (
            f"consumer {consumer} was not found in the allocations on {report.node or report.host} in Placement,"
            f" among its instances and moves in the state source, its guests in libvirt and its volumes"
        )
        if unread(report):
            say(f"{looked}, as far as these could be read")
            return False
        raise UsageError(looked) from None
    return True
