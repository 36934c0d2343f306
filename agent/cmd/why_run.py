"""Run ``stocktake why``: parse the request, audit the host, read Placement's providers, and compute the answer.

The audit is the same as in every other command and publishes nothing. If Placement cannot be read, the command ends
without a document. If any other source cannot be read, the answer reports that source's facts as unknown, and an
unknown fact never refuses a request.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from agent.audit.run import run_audit
from agent.cmd.audited import loaded_for, wired_for
from agent.cmd.command_line.failures import FailureKind, NoDocument
from agent.cmd.exit_handling import to_stderr
from agent.cmd.naming.consumer_names import consumer_of
from agent.cmd.not_root import Closed, closed_to_us
from agent.cmd.why_validate import parsable, refuse_unknown_names, refuse_unknown_places, with_whole_uuid
from agent.config.build import settings_from
from agent.errors import PlacementRejected, PlacementUnavailable, SourceUnavailable
from agent.exit_codes import CLEAN, FINDINGS, PARTIAL
from agent.host_files.identity import FILE_NAME
from agent.model.audit import AuditMemory, AuditRequest, AuditResult, Depth, Publish
from agent.model.nova import Instance
from agent.model.placement import PlacementView
from agent.model.report import AuditReport
from agent.model.resource_request import ResourceRequest
from agent.model.snapshot import PLACEMENT, STATE
from agent.placement.http.client import PlacementClient
from agent.placement.offers import Offers, cloud_offers, own_offers
from agent.render.explain import unread
from agent.repairs import BY_CODE
from agent.usage_error import UsageError
from agent.why.answer import why
from agent.why.flavor import cells_and_page, flavor_notes
from agent.why.holding_findings import holding
from agent.why.host_room import GuestShape, guest_shape, host_notes, host_obstacles, rooms_of, service_notes
from agent.why.other_hosts import with_advice_for_others
from agent.why.parse_request import Words, request_of
from agent.why.report import CellRoom, WhyReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The parsed command line.

    ``words`` is the request, unless ``flavor_of`` names an instance: the request is then this instance's flavor.
    ``everywhere`` says whether to examine all hosts and not only this one. ``numa_nodes`` is the requested number of
    NUMA cells, ``page`` the requested page size. ``notes`` are sentences about the flavor's extra specs that
    the request ignores.
    """

    words: Words
    flavor_of: str | None = None
    everywhere: bool = False
    numa_nodes: int | None = None
    page: int | str | None = None
    notes: tuple[str, ...] = ()


def answered(options: argparse.Namespace, question: Question) -> WhyReport:
    """Return the answer to ``question``. Raises ConfigError, UsageError, PlacementError or SourceUnavailable."""
    # Parse the request before any read, so that most errors in the request are reported immediately.
    request = None if question.flavor_of else request_of(parsable(question.words))
    loaded = loaded_for(options)
    asked = AuditRequest(reasons=("command: why",), publish=Publish.NEVER, depth=Depth.FULL)
    with wired_for(options, loaded, "why") as wired, wired.placement.global_request_id():
        words = with_whole_uuid(wired.placement, question.words)
        if request is not None:
            request = request_of(words)
            refuse_unknown_names(wired.placement, request)
        result = run_audit(asked, settings_from(loaded), wired.parts, AuditMemory(), lambda: False)
        if request is None:
            instance = _instance(result, question.flavor_of or "")
            request, question = request_of(words, instance), _with_flavor_of(question, instance)
            refuse_unknown_names(wired.placement, request)
        closed = closed_to_us(loaded)
        if closed is not None:
            result = _without_root(result, closed, question)
        with wired.parts.request_scope(result.report.audit_id), _no_document_without():
            report = _answer(wired.placement, question, request, result)
    return report if closed is None else dataclasses.replace(report, unknown=(closed.line(), *report.unknown))


def _without_root(result: AuditResult, closed: Closed, question: Question) -> AuditResult:
    """Hide the sources that only root can read, and name them in one line on stderr.

    Raises NoDocument (exit code 2) if the answer needs this host's provider, whose uuid only root can read.
    """
    line = closed.line(result.report)
    is_known = result.snapshot is not None and result.snapshot.placement.asked
    if not is_known and not question.everywhere:
        raise NoDocument(FailureKind.PERMISSION, line, PARTIAL)
    to_stderr(line)
    shown = tuple(source for source in result.report.sources if not closed.hides(source))
    return dataclasses.replace(result, report=dataclasses.replace(result.report, sources=shown))


def code_of(report: WhyReport) -> int:
    """Return the exit code: 2 if the answer is incomplete, else 0 if the request fits and 3 if it does not.

    The answer is incomplete if a source could not be read. It is also incomplete if no provider tree fits so far, but a
    tree was not read or not searched to the end.
    """
    if report.unknown or report.is_open:
        return PARTIAL
    return CLEAN if report.fits else FINDINGS


def _answer(client: PlacementClient, question: Question, request: ResourceRequest, result: AuditResult) -> WhyReport:
    view = result.snapshot.placement.value if result.snapshot else None
    if view is None and not question.everywhere:
        raise PlacementUnavailable(f"{_why_unread(result.report, PLACEMENT)}{_what_helps(result.report)}")
    refuse_unknown_places(client, request, view.providers if view else ())
    offers = _offers(client, question, request, view)
    shape = guest_shape(request, question.numa_nodes, question.page)
    rooms = rooms_of(result.report, view.root if view else None)
    report = WhyReport(
        node=result.report.node,
        provider_uuid=result.report.provider_uuid,
        answer=dataclasses.replace(
            with_advice_for_others(why(request, offers.offered), result.report.provider_uuid),
            host_obstacles=host_obstacles(shape, rooms) if rooms is not None else (),
        ),
        is_whole=question.everywhere,
        numa_nodes=question.numa_nodes,
        page_size=question.page,
        unread=offers.unread,
        notes=(
            *question.notes,
            *service_notes(view.root.traits if view and view.root else frozenset(), request),
            *(host_notes(shape, rooms) if rooms is not None else ()),
        ),
        unknown=_unknown(result.report, shape, rooms),
        cells=rooms,
        requests=client.requests,
    )
    return dataclasses.replace(report, holding=holding(result.report, report.own, BY_CODE.keys()))


@contextlib.contextmanager
def _no_document_without() -> Iterator[None]:
    """Turn PlacementRejected (the server is too old or not Placement) into PlacementUnavailable (exit code 75)."""
    try:
        yield
    except PlacementRejected as error:
        raise PlacementUnavailable(error.message, status=error.status, request_id=error.request_id) from error


def _with_flavor_of(question: Question, instance: Instance) -> Question:
    """Add notes about the instance's flavor. If the question has no NUMA cells or page size, take the flavor's."""
    if instance.flavor is None:
        return question
    question = dataclasses.replace(question, notes=flavor_notes(instance.flavor))
    if question.numa_nodes is not None or question.page is not None:
        return question
    cells, page = cells_and_page(instance.flavor)
    return dataclasses.replace(question, numa_nodes=cells, page=page)


def _offers(
    client: PlacementClient, question: Question, request: ResourceRequest, view: PlacementView | None
) -> Offers:
    if view is None or question.everywhere:
        return cloud_offers(client, request, lambda line: to_stderr(f"reading all providers of Placement: {line}"))
    return Offers(offered=own_offers(client, view))


def _instance(result: AuditResult, text: str) -> Instance:
    if not text:
        raise UsageError("--flavor-of: the value is empty; give the name or uuid of an instance")
    state = result.snapshot.nova.value if result.snapshot else None
    if state is None:
        raise SourceUnavailable(STATE, f"the flavor is not known: {_why_unread(result.report, STATE)}")
    if not state.kind.has_cloud:
        raise UsageError(
            "--flavor-of: with [state] source = none the agent reads no flavors; give the amounts with --resource"
        )
    uuid = consumer_of(result.report, text)
    found = next((instance for instance in state.instances if instance.uuid == uuid), None)
    if found is None:
        raise UsageError(f"--flavor-of: instance {text} is not on this host, and has no migration or allocation here")
    return found


def _why_unread(report: AuditReport, source: str) -> str:
    """Return why the source could not be read, without the source's name: the caller's error starts with the name."""
    lines = (line.removeprefix(f"{source}: ") for line in unread(report) if line.startswith(source))
    return "; ".join(lines) or "the source was not read"


def _what_helps(report: AuditReport) -> str:
    """Return "" if the provider's uuid is known, else why the uuid is unknown and what the operator can do."""
    if report.provider_uuid is not None:
        return ""
    others = "".join(f"; {line}" for line in unread(report) if not line.startswith(PLACEMENT))
    return f"{others}; write the uuid of this host's resource provider into a {FILE_NAME} file in [agent] state_dir"


def _unknown(report: AuditReport, shape: GuestShape, rooms: tuple[CellRoom, ...] | None) -> tuple[str, ...]:
    lines = unread(report)
    if shape.is_asked and rooms is None:
        why_not = "; ".join(report.resource_view.unknown) if report.resource_view else "the host was not read"
        # Each line begins with what is missing, because callers print "not read: " or "some data could not be read: "
        # before the line.
        lines = (*lines, f"the free CPUs and memory of NUMA cells: {why_not or 'the use of the cells was not read'}")
    return lines
