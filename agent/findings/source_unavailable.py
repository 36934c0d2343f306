"""source-unavailable: the agent could not read a source or a part of it.

The agent does not change the values in Placement that depend on the missing data.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.errors import SourceStale
from agent.findings.base import AuditFacts, Findings, Rule
from agent.findings.base_access import looks, path_look
from agent.findings.base_remedies import inspect, show_provider, virsh, wait
from agent.findings.base_sources import consequence, frozen, reserves
from agent.model.finding import Finding, Remedy, Severity
from agent.model.snapshot import IMAGE_CACHE, IMAGES, PLACEMENT

_PART = "the agent does not report the files in this path"
_GUEST = "the agent does not know what the guest uses, so the agent lowers no reserved amount in Placement"
_HOLDERS = (
    "the agent does not report the guests' allocations on this provider; "
    "the daemon reads the allocations again every 10 x [placement] full_read_every audits; `stocktake audit` reads the "
    "allocations at once"
)


def _find(audit: AuditFacts) -> Findings:
    for reading in audit.snapshot.readings:
        # A source that answered with old data is reported as source-stale. A source that the agent did not ask, because
        # it could not read another source first, gets no finding: the finding about the other source is enough.
        if reading.error is not None and reading.asked and not isinstance(reading.error, SourceStale):
            shown, stays = looks(reading.source, reading.error, audit), consequence(reading.source, audit)
            still = frozen(reading.source, audit)
            yield _finding(audit, reading.source, str(reading.error), stays, shown, frozen=still)
    for path, why in _unread_parts(audit):
        kept = [] if audit.snapshot.fresh(IMAGE_CACHE) else reserves(frozenset({IMAGE_CACHE}), audit)
        yield _finding(audit, path, f"{IMAGES}: {path}: {why}", "; ".join((*kept, _PART)), (path_look(path),))
    for provider, why in audit.view.unread if audit.view else ():
        shown = (inspect("see the guests' allocations on this provider", show_provider(provider)),)
        yield _finding(audit, provider, f"{PLACEMENT}: {provider}: {why}", _HOLDERS, shown)
    host = audit.snapshot.host.value
    for odd in host.odd_domains if host else ():
        problem = f"domain {odd.uuid} ({odd.name}): {odd.reason}"
        shown = (inspect("see how the guest is defined", virsh(audit, "dumpxml", odd.uuid)),)
        yield _finding(audit, f"domain {odd.uuid}", problem, _GUEST, shown)


def _unread_parts(audit: AuditFacts) -> Iterable[tuple[str, str]]:
    """Return (part, reason) for each unread part of the sources that answered.

    A missing instances folder counts as an unread part if the agent must reserve the size of the image cache.
    """
    snapshot, settings = audit.snapshot, audit.settings
    parts = [part for reading in snapshot.storage if reading.value for part in reading.value.unread]
    if settings.reserve_image_cache and snapshot.fresh(IMAGES) and not snapshot.fresh(IMAGE_CACHE) and not parts:
        return [(settings.instances_path, "there is no such folder")]
    return parts


def _finding(
    audit: AuditFacts, subject: str, error: str, consequence: str, shown: tuple[Remedy, ...], **facts: str
) -> Finding:
    return RULE.finding(
        audit,
        headline=f"{audit.host}: {error}",
        subject=subject,
        expected="an answer that can be read",
        actual=f"{error}; {consequence}",
        facts=tuple(facts.items()),
        remedies=(*shown, wait("the agent tries again at the next audit and logs when the source is back")),
    )


# ``rests_on`` names the sources that an audit must have read to decide whether a finding exists. Here it is empty:
# even if every read fails, the audit knows which reads failed.
RULE = Rule(code="source-unavailable", severity=Severity.WARNING, find=_find, rests_on=frozenset())
