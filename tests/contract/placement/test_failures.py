"""Every failure between an audit and Placement: each row of docs/placement.md, provoked in front of a real server.

In each case the host's other sources work and the host has a change to publish. Each test checks what the audit does
in spite of the failure, and that the next audit after the failure publishes the change.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import email.utils
import functools
import gc
import json
import random
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import urllib3

from agent.audit.run import run_audit
from agent.daemon.audit_queue import AuditQueue, Pacing
from agent.daemon.triggers import IntervalTrigger
from agent.daemon.worker import Configured, Current, Worker
from agent.errors import AnswerTooLarge, PlacementDenied, PlacementError, PlacementRejected, PlacementUnavailable
from agent.exit_codes import exit_code
from agent.model.audit import AuditResult, Publish
from agent.model.report import AuditReport, Outcome
from agent.model.snapshot import PLACEMENT
from agent.placement import reader
from agent.placement.http import retry_after
from agent.placement.http.bounds import MIB, OWN
from agent.placement.http.client import PlacementClient
from tests.rigs.facts import settings
from tests.rigs.faults import Weather, impatient, proxied
from tests.rigs.gateway import Answer, Asked, Dropped, Framing, Gateway, Reset, gateway
from tests.rigs.one_host import OneHost
from tests.rigs.placement import client_of, new_uuid
from tests.rigs.wait import until

QUICK = {"connect_retry_delay": 0.01, "status_code_retry_delay": 0.01}
HTML = b"<html><body><h1>Bad Gateway</h1>\nnginx</body></html>"
PAGE = (("Content-Type", "text/html"),)
GET_TRIES = 3
# A body of TOO_MANY pieces is too large for one answer.
PIECE = b" " * MIB
TOO_MANY = OWN.most_bytes // MIB + 8
# An audit that waits where it must not takes longer than this; an audit that does not wait takes a few seconds at most.
NO_WAIT_S = 60.0


WIDE_GENERATION = b'{"resource_providers": [{"uuid": "u", "name": "n", "generation": %s}]}' % (b"9" * 400)


def in_a_minute() -> str:
    return email.utils.format_datetime(
        datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=60), usegmt=True
    )


def page(status: int, **headers: str) -> Answer:
    """Return an HTML page as a proxy sends it, and Placement never does."""
    return Answer(status=status, body=HTML, headers=(*PAGE, *((k.replace("_", "-"), v) for k, v in headers.items())))


@functools.cache
def packed(noise_bytes: int) -> bytes:
    """Return TOO_MANY pieces in gzip's form, each with ``noise_bytes`` of noise: less noise compresses better."""
    packer = zlib.compressobj(wbits=16 + zlib.MAX_WBITS)
    noise = (random.Random(number).randbytes(noise_bytes // 2).hex().encode() for number in range(TOO_MANY))
    return b"".join(packer.compress(PIECE[len(some) :] + some) for some in noise) + packer.flush()


def reads(answer: Callable[[], Answer]) -> Callable[[Gateway], None]:
    """Let the gateway answer each GET itself; the GET does not reach Placement."""

    def install(gate: Gateway) -> None:
        gate.before = lambda asked: None if asked.is_write else answer()

    return install


def writes(answer: Callable[[], Answer]) -> Callable[[Gateway], None]:
    """Let the gateway answer each write itself; the write does not reach Placement."""

    def install(gate: Gateway) -> None:
        gate.before = lambda asked: answer() if asked.is_write else None

    return install


def changed(**how: object) -> Callable[[Gateway], None]:
    """Let the gateway change Placement's own answers to GETs on the way."""

    def install(gate: Gateway) -> None:
        gate.change = lambda asked, answer: answer if asked.is_write else dataclasses.replace(answer, **how)

    return install


def cut(framing: Framing) -> Callable[[Gateway], None]:
    """Let the gateway cut Placement's own answers to GETs in the middle."""

    def install(gate: Gateway) -> None:
        gate.change = lambda asked, answer: dataclasses.replace(
            answer, body=answer.body[: len(answer.body) // 2], framing=framing
        )

    return install


def lost(how: type[Exception], *, of_writes: bool) -> Callable[[Gateway], None]:
    """Let Placement carry out the request, and lose its answer."""

    def after(asked: Asked) -> None:
        if asked.is_write is of_writes:
            raise how

    def install(gate: Gateway) -> None:
        gate.after = after

    return install


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One row: what the gateway does to the connection (``install``), and what the audit must report.

    ``tries``: how often the client sends the failing request. ``hold_s``: (least, most) seconds for which the client
    sends nothing more.
    """

    install: Callable[[Gateway], None]
    kind: type[PlacementError]
    says: str
    status: int | None = None
    tries: int = 1
    hold_s: tuple[float, float] | None = None
    timeout_s: float = 60.0


UNREAD = {
    "html-200": Case(install=reads(lambda: page(200)), kind=PlacementUnavailable, status=200, says="not JSON"),
    "html-302": Case(
        install=reads(lambda: page(302)), kind=PlacementUnavailable, status=302, says="redirects to nowhere"
    ),
    "html-500": Case(install=reads(lambda: page(500)), kind=PlacementUnavailable, status=500, says="Bad Gateway"),
    "404-of-a-proxy": Case(
        install=reads(lambda: page(404)), kind=PlacementUnavailable, status=404, says="not Placement's own answer"
    ),
    "403": Case(install=reads(lambda: page(403)), kind=PlacementDenied, status=403, says="HTTP 403"),
    "401": Case(install=reads(lambda: page(401)), kind=PlacementDenied, status=401, says="HTTP 401"),
    "406": Case(
        install=reads(lambda: Answer(status=406, body=b'{"errors":[{"status":406,"detail":"Unacceptable version"}]}')),
        kind=PlacementRejected,
        status=406,
        says="Unacceptable version",
    ),
    "429": Case(install=reads(lambda: page(429)), kind=PlacementUnavailable, status=429, says="HTTP 429"),
    "429-retry-after-seconds": Case(
        install=reads(lambda: page(429, Retry_After="30")),
        kind=PlacementUnavailable,
        status=429,
        says="the agent sends nothing before .*Z, because Retry-After is 30",
        hold_s=(30, 37.5),
    ),
    "429-retry-after-date": Case(
        install=reads(lambda: page(429, Retry_After=in_a_minute())),
        kind=PlacementUnavailable,
        status=429,
        says="the agent sends nothing before .*Z, because Retry-After is",
        hold_s=(50, 75),
    ),
    "500": Case(
        install=reads(lambda: Answer(status=500, body=b'{"errors":[{"detail":"database is locked"}]}')),
        kind=PlacementUnavailable,
        status=500,
        says="database is locked",
    ),
    "502": Case(install=reads(lambda: page(502)), kind=PlacementUnavailable, status=502, says="HTTP 502"),
    "502-retry-after": Case(
        install=reads(lambda: page(502, Retry_After="20")),
        kind=PlacementUnavailable,
        status=502,
        says="Retry-After is 20",
        hold_s=(20, 25),
    ),
    "503": Case(install=reads(lambda: page(503)), kind=PlacementUnavailable, status=503, says="503", tries=GET_TRIES),
    "503-retry-after-short": Case(
        install=reads(lambda: page(503, Retry_After="1")),
        kind=PlacementUnavailable,
        status=503,
        says="Retry-After is 1",
        tries=GET_TRIES,
        hold_s=(1, 1.25),
    ),
    "503-retry-after-endless": Case(
        install=reads(lambda: page(503, Retry_After="86400")),
        kind=PlacementUnavailable,
        status=503,
        says="Retry-After is 86400",
        hold_s=(600, 600),
    ),
    "503-retry-after-garbage": Case(
        install=reads(lambda: page(503, Retry_After="-5")),
        kind=PlacementUnavailable,
        status=503,
        says="Bad Gateway.*503",
        tries=GET_TRIES,
    ),
    "504": Case(install=reads(lambda: page(504)), kind=PlacementUnavailable, status=504, says="HTTP 504"),
    # urllib3 1.26 does not compare the length: the answer is then not JSON.
    "truncated-with-length": Case(
        install=cut(Framing.TOO_LONG),
        kind=PlacementUnavailable,
        status=200 if urllib3.__version__.startswith("1.") else None,
        says="IncompleteRead|Connection broken|not JSON",
    ),
    "truncated-without-length": Case(
        install=cut(Framing.UNTIL_CLOSE), kind=PlacementUnavailable, status=200, says="not JSON"
    ),
    "gzip-garbage": Case(
        install=changed(headers=(("Content-Type", "application/json"), ("Content-Encoding", "gzip"))),
        kind=PlacementUnavailable,
        says="gzip",
    ),
    "odd-number": Case(
        install=reads(lambda: Answer(status=200, body=WIDE_GENERATION)),
        kind=PlacementUnavailable,
        status=200,
        says="generation is not a 64-bit integer: int with 1329 bits",
    ),
    "too-large": Case(
        install=reads(lambda: Answer(status=200, body=PIECE, times=TOO_MANY)),
        kind=AnswerTooLarge,
        says="larger than 16 MiB, the limit for one host's tree",
    ),
    "too-large-without-length": Case(
        install=reads(lambda: Answer(status=200, body=PIECE, times=TOO_MANY, framing=Framing.UNTIL_CLOSE)),
        kind=AnswerTooLarge,
        says="larger than 16 MiB, the limit for one host's tree",
    ),
    "too-large-unpacked": Case(
        install=reads(lambda: Answer(status=200, body=packed(40_000), headers=(("Content-Encoding", "gzip"),))),
        kind=AnswerTooLarge,
        says="larger than 16 MiB",
    ),
    "unpacks-too-far": Case(
        install=reads(lambda: Answer(status=200, body=packed(0), headers=(("Content-Encoding", "gzip"),))),
        kind=AnswerTooLarge,
        says="unpacks to more than 100 times its size",
    ),
    "too-much-json": Case(
        install=reads(lambda: Answer(status=200, body=b"[" + b"[]," * MIB + b"[]]")),
        kind=AnswerTooLarge,
        says="needs more than 40 MiB of memory, .* another service answers instead of Placement at this URL",
    ),
    "slow-body": Case(
        # The gateway answers by itself: on a busy machine Placement alone may need as long as the time-out.
        install=reads(lambda: Answer(status=200, body=b" " * 600, byte_every_s=0.1)),
        kind=PlacementUnavailable,
        says="no complete answer within 3 s",
        timeout_s=1.0,
    ),
    "reset-of-a-read": Case(
        install=lost(Reset, of_writes=False), kind=PlacementUnavailable, says="reset", tries=GET_TRIES
    ),
    "closed-without-an-answer": Case(
        install=lost(Dropped, of_writes=False), kind=PlacementUnavailable, says="closed|aborted", tries=GET_TRIES
    ),
}


@pytest.fixture
def gate(rest) -> Iterator[Gateway]:
    with gateway(rest.server.url) as gate:
        yield gate


@pytest.fixture
def one(rest, gate, tmp_path) -> OneHost:
    """A host that has published 4 CPUs and now has 8."""
    host = OneHost(client_of(tmp_path, gate.url, **QUICK), new_uuid())
    assert (host.audit().report.outcome, host.audit().report.outcome) == (Outcome.CLEAN, Outcome.CLEAN)
    host.cpus = 8
    gate.seen.clear()
    return host


def vcpus(rest, one: OneHost) -> int:
    return int(rest.inventories(one.root)["VCPU"]["total"])


def puts(gate: Gateway) -> list[str]:
    return [line for line in gate.writes if line.endswith("/inventories")]


def source(result: AuditResult):
    return next(status for status in result.report.sources if status.name == PLACEMENT)


def end(gate: Gateway) -> None:
    """Close the gateway's port, and drop each kept-alive connection at its next request."""

    def drop(_asked: Asked) -> Answer:
        raise Dropped

    gate.before = drop
    gate.close()


def put_right(rest, one: OneHost, gate: Gateway) -> None:
    """End the failure, and check that the next audit that may send requests publishes the true inventory."""
    gate.clear()
    gate.seen.clear()
    assert one.audit().report.error is None
    assert vcpus(rest, one) == 8
    assert one.audit().report.outcome is Outcome.CLEAN


@pytest.mark.parametrize("key", UNREAD)
def test_an_audit_writes_nothing_after_a_failed_read(rest, gate, one, key):
    """The agent cannot read Placement. Its audit is partial, reports the error, and writes nothing to Placement."""
    case = UNREAD[key]
    case.install(gate)
    began = time.monotonic()
    with impatient(one.client, case.timeout_s):
        result = one.audit()
    ended = time.monotonic()
    assert ended - began < NO_WAIT_S
    error = result.snapshot.placement.error
    assert (type(error), error.status) == (case.kind, case.status)
    assert error.message == error.message.strip()
    assert one.client.requests == 0 or gate.seen[0].path in str(error)
    with pytest.raises(PlacementError, match=f"(?s){case.says}"):
        raise error
    assert (result.report.outcome, exit_code(result.report), gate.writes) == (Outcome.PARTIAL, 2, [])
    assert [status.name for status in result.report.sources if not status.ok] == [PLACEMENT]
    assert "source-unavailable" in {seen.finding.code for seen in result.report.findings}
    assert len(gate.seen) == case.tries
    if case.hold_s is None:
        assert result.not_before is None
        return put_right(rest, one, gate)
    assert began + case.hold_s[0] <= result.not_before <= ended + case.hold_s[1]
    if case.hold_s[0] < 5:
        return None
    gate.clear()
    again = one.audit()
    assert len(gate.seen) == case.tries, "the server wants no request"
    assert "not sent; the agent sends nothing before" in source(again).error
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unwritten:
    """One row about a write: the error that the audit reports, and whether Placement made the change nevertheless."""

    install: Callable[[Gateway], None]
    says: str
    is_done: bool = False
    hold_s: tuple[float, float] | None = None


UNWRITTEN = {
    "write-html-200": Unwritten(install=writes(lambda: page(200)), says="not JSON"),
    "write-403": Unwritten(install=writes(lambda: page(403)), says="HTTP 403"),
    "write-404-of-a-proxy": Unwritten(install=writes(lambda: page(404)), says="not Placement's own answer"),
    "write-429": Unwritten(
        install=writes(lambda: page(429, Retry_After="20")), says="Retry-After is 20", hold_s=(20, 25)
    ),
    "write-500": Unwritten(install=writes(lambda: page(500)), says="HTTP 500"),
    "write-503": Unwritten(install=writes(lambda: page(503)), says="HTTP 503"),
    "write-503-retry-after": Unwritten(
        install=writes(lambda: page(503, Retry_After="1")), says="Retry-After is 1", hold_s=(1, 1.25)
    ),
    "write-reset": Unwritten(install=lost(Reset, of_writes=True), says="reset", is_done=True),
    "write-lost-answer": Unwritten(install=lost(Dropped, of_writes=True), says="closed|aborted", is_done=True),
}


@pytest.mark.parametrize("key", UNWRITTEN)
def test_an_audit_does_not_repeat_a_failed_write(rest, gate, one, key):
    """A write to Placement fails. The audit reports the error and does not send the write a second time."""
    case = UNWRITTEN[key]
    case.install(gate)
    began = time.monotonic()
    result = one.audit()
    ended = time.monotonic()
    with pytest.raises(AssertionError, match=f"(?s)PUT .*/inventories.*{case.says}"):
        raise AssertionError(result.report.error)
    assert (result.report.outcome, exit_code(result.report)) == (Outcome.PARTIAL, 2)
    assert (result.report.published, result.report.writes_done) == (False, 0)
    assert len(puts(gate)) == 1
    assert vcpus(rest, one) == (8 if case.is_done else 4)
    assert (result.not_before is not None) is (case.hold_s is not None)
    if case.hold_s is not None:
        assert began + case.hold_s[0] <= result.not_before <= ended + case.hold_s[1]
        if case.hold_s[0] > 2:
            return
        until(lambda: time.monotonic() >= result.not_before, 30, "the server may be asked again")
    put_right(rest, one, gate)
    assert len(puts(gate)) == (0 if case.is_done else 1)


def test_an_audit_writes_nothing_if_a_tree_is_too_large(rest, gate, one, monkeypatch):
    """A host's provider tree has too many inventories and traits. The audit reports that, and writes nothing."""
    traits = [f"CUSTOM_{number}" for number in range(6)]
    for trait in traits:
        rest.done("PUT", f"/traits/{trait}")
    child = rest.make_provider(parent=one.root)
    rest.set_traits(child, *traits)
    entries = 2 + len(rest.inventories(one.root)) + len(rest.traits(one.root)) + len(traits)
    monkeypatch.setattr(reader, "MOST_ENTRIES", entries - 1)
    error = source(one.audit()).error
    assert f"the read stopped at provider {child}: the tree has more than {entries - 1} classes, traits" in error
    assert gate.writes == []
    monkeypatch.setattr(reader, "MOST_ENTRIES", entries)
    put_right(rest, one, gate)


def test_http_413_for_a_write_becomes_a_finding(rest, gate, one):
    """A proxy answers 413 to the agent's large write. The audit reports this as the finding `write-refused`."""
    gate.before = lambda asked: page(413) if asked.is_write else None
    result = one.audit()
    assert (result.report.outcome, exit_code(result.report)) == (Outcome.PARTIAL, 2)
    refused = next(seen.finding for seen in result.report.findings if seen.finding.code == "write-refused")
    assert "must accept requests of" in str(refused)
    assert "413" in str(refused)
    assert len(puts(gate)) == 1
    put_right(rest, one, gate)


def test_a_placement_downgrade_is_reported(rest, gate, one):
    """Placement was replaced by an older version; the audit reports that the agent needs microversion 1.30."""
    old = b'{"versions":[{"id":"v1.0","min_version":"1.0","max_version":"1.29","status":"CURRENT"}]}'
    refused = b'{"errors":[{"status":406,"detail":"Unacceptable version header: 1.30"}]}'
    gate.before = lambda asked: Answer(status=200, body=old) if asked.path == "/" else Answer(status=406, body=refused)
    assert "Unacceptable version" in source(one.audit()).error
    assert "up to 1.29, the agent needs 1.30" in source(one.audit()).error
    put_right(rest, one, gate)


def test_a_redirect_loop_ends_after_four_requests(gate, one):
    """Placement redirects each request to the same URL. The agent gives up after four requests."""
    gate.before = lambda asked: page(302, Location=f"{gate.url}{asked.path}")
    result = one.audit()
    assert "put Placement's own URL into [placement] endpoint_override" in source(result).error
    assert len(gate.seen) == 4


def test_a_redirect_on_the_same_host_is_followed(rest, gate, tmp_path):
    """Placement's host answers 308 with another path. The agent repeats its reads and its writes there."""

    def moved(asked: Asked) -> Answer | None:
        return page(308, Location=asked.path.removeprefix("/old")) if asked.path.startswith("/old") else None

    gate.before = moved
    host = OneHost(client_of(tmp_path, f"{gate.url}/old", **QUICK), new_uuid())
    assert host.audit().report.error is None
    assert vcpus(rest, host) == 4


def test_a_redirect_to_another_host_is_not_followed(rest, gate, one):
    """The agent sends nothing to the other host; the audit reports where Placement's URL redirects to."""
    with gateway(rest.server.url) as other:
        elsewhere = other.url.replace("127.0.0.1", "localhost")
        gate.before = lambda asked: page(302, Location=f"{elsewhere}{asked.path}")
        result = one.audit()
        assert f"the URL redirects to {elsewhere}/resource_providers: put" in source(result).error
        assert other.seen == []
    put_right(rest, one, gate)


@pytest.mark.parametrize("location", ["http://[placement/", "https://placement.example/\xe9"])
def test_a_redirect_to_an_invalid_url_is_an_error(rest, gate, one, location):
    gate.before = lambda _asked: page(302, Location=location)
    assert "the target of a redirect is not a URL" in source(one.audit()).error
    put_right(rest, one, gate)
    # An unclosed connection must fail this test, and not the test that happens to run next.
    gc.collect()


def test_slow_headers_cause_a_timeout(rest, tmp_path):
    """If Placement sends the headers of its answer one byte at a time, the audit reports a timeout."""
    port = int(rest.server.url.rpartition(":")[2])
    with proxied(("127.0.0.1", port)) as proxy:
        host = OneHost(client_of(tmp_path, proxy.url, **QUICK), new_uuid())
        assert host.audit().report.outcome is Outcome.CLEAN
        proxy.weather, proxy.delay_s = Weather.TRICKLE, 0.2
        began = time.monotonic()
        # Shorter than a whole answer takes, and longer than Placement needs for its first byte on a busy machine.
        with impatient(host.client, 2.0):
            result = host.audit()
        assert "no complete answer within 6 s" in source(result).error
        assert time.monotonic() - began < NO_WAIT_S
        proxy.drop_all()
        proxy.weather, proxy.delay_s = Weather.FAIR, 0.0
        assert host.audit().report.outcome is Outcome.CLEAN


def test_the_first_audit_after_an_outage_writes_new_amounts(rest, gate, one):
    """The host's CPUs change while Placement is down. The next audit writes their number and reports no finding."""
    for cpus in (8, 12, 16, 20):
        one.cpus = cpus + 1
        gate.before = lambda _asked: page(503)
        assert not source(one.audit()).ok
        gate.clear()
        one.cpus = cpus
        assert one.audit().report.findings == ()
        assert vcpus(rest, one) == cpus


def test_a_refused_connection_makes_the_audit_partial(gate, one):
    """Placement refuses the connection. The audit's outcome is partial, and its error contains Placement's URL."""
    end(gate)
    result = one.audit()
    assert "Connection refused" in source(result).error
    assert gate.url in source(result).error
    assert (result.report.outcome, result.not_before) == (Outcome.PARTIAL, None)


def test_an_unknown_host_name_makes_the_audit_partial(tmp_path):
    """If DNS does not know the host name in Placement's URL, the audit's outcome is partial."""
    host = OneHost(client_of(tmp_path, "http://placement.invalid:8778", **QUICK), new_uuid())
    result = host.audit()
    assert "placement.invalid" in source(result).error
    assert "resolve" in source(result).error
    assert result.report.outcome is Outcome.PARTIAL


def test_https_to_an_http_server_makes_the_audit_partial(gate, tmp_path):
    """Placement's URL begins with https, and the server has no TLS; the audit reports an SSL error."""
    host = OneHost(client_of(tmp_path, gate.url.replace("http:", "https:"), **QUICK), new_uuid())
    result = host.audit()
    assert "SSL" in source(result).error
    assert isinstance(result.snapshot.placement.error, PlacementUnavailable)
    assert result.report.outcome is Outcome.PARTIAL


# Retry-After.


def test_a_read_is_repeated_after_retry_after(gate, one):
    """Placement answers 503 with "Retry-After: 1".

    The agent repeats its read a second later, and the audit succeeds.
    """
    refusals = [page(503, Retry_After="1")]
    gate.before = lambda asked: refusals.pop() if refusals and not asked.is_write else None
    began = time.monotonic()
    result = one.audit()
    assert result.report.error is None
    assert time.monotonic() - began >= 1
    assert result.not_before is None


def test_an_audit_limits_how_long_it_waits_for_placement(gate, one, monkeypatch):
    """Placement keeps answering "Retry-After: 1". The audit gives up when its waits take too long in total."""
    monkeypatch.setattr(retry_after, "WAIT_BUDGET_S", 1.5)
    refused: set[str] = set()

    def before(asked: Asked) -> Answer | None:
        is_first = not asked.is_write and asked.path not in refused
        refused.add(asked.path)
        return page(503, Retry_After="1") if is_first else None

    gate.before = before
    one.parts.reader.forget()
    result = one.audit()
    assert "Retry-After is 1" in source(result).error
    assert len(gate.seen) == 3, "the first was repeated, the second was not"


def test_audits_obey_a_long_retry_after(rest, gate, one):
    """Placement answers 503 with "Retry-After: 500".

    Later audits send no request to Placement until that time is over.
    """
    gate.before = lambda asked: page(503, Retry_After="500") if not asked.is_write else None
    one.client._adapter.status_code_retries = 0
    first = one.audit()
    gate.clear()
    for _ in range(20):
        held = one.audit()
        assert held.not_before == first.not_before
        assert held.report.outcome is Outcome.PARTIAL
    assert len(gate.seen) == 1
    one.client._hold = dataclasses.replace(one.client._hold, until=time.monotonic())  # end the hold
    put_right(rest, one, gate)


# Back-off across the audits of a worker.


@contextlib.contextmanager
def working(one: OneHost) -> Iterator[tuple[AuditQueue, list[AuditReport]]]:
    """Yield the queue and the reports of a worker that audits the host as the daemon's worker does."""
    waiting = AuditQueue(Pacing())
    configured = Configured(
        settings=settings(),
        parts=one.parts,
        publish=Publish.BY_ROLE,
        pacing=Pacing(),
        interval_s=None,
        summary_interval_s=600.0,
    )
    bugs: list[object] = []
    reports: list[AuditReport] = []
    desk = SimpleNamespace(
        publish=lambda report, _configured: reports.append(report), bug=lambda *told: bugs.append(told)
    )
    worker = Worker(waiting, Current(configured), run_audit, desk, on_end=lambda _code: None)
    worker.start()
    try:
        yield waiting, reports
    finally:
        waiting.close()
        worker.stop()
        assert worker.join(60)
        assert bugs == []


def storm(waiting: AuditQueue, seconds: float) -> None:
    """Request audits for ``seconds`` as fast as libvirt may send events."""
    end, pause, count = time.monotonic() + seconds, threading.Event(), 0
    while time.monotonic() < end:
        waiting.request(f"libvirt: {count}")
        count += 1
        pause.wait(0.005)


def test_libvirt_events_cause_few_requests_in_an_outage(rest, gate, one):
    """Libvirt sends many events while Placement answers 503. The agent waits longer and longer between its audits."""
    gate.before = lambda asked: page(503) if not asked.is_write else None
    with working(one) as (waiting, reports):
        waiting.request_now("start-up")
        storm(waiting, 8)
        # Audits: start-up, retries after 1-2, 2-4 and 4-8 s, and events gathered for 0.2-1 s at first, then 2, 4, 8 s.
        assert len(gate.seen) <= 12 * GET_TRIES
        gate.clear()
        interval = IntervalTrigger(waiting.request_now, one.name)
        interval.start(2.0)
        try:
            until(lambda: vcpus(rest, one) == 8, 60, "the change is published")
        finally:
            interval.stop()
    assert len(reports) < 20


def test_events_and_signals_do_not_shorten_retry_after(rest, gate, one):
    """Placement answers 429 with "Retry-After: 3". Neither libvirt's events nor the signal USR1 end this wait early."""
    asked_at: list[float] = []

    def before(asked: Asked) -> Answer | None:
        asked_at.append(time.monotonic())
        return page(429, Retry_After="3") if len(asked_at) == 1 else None

    gate.before = before
    with working(one) as (waiting, _reports):
        waiting.request_now("start-up")
        until(lambda: asked_at, 60, "the first request")
        storm(waiting, 2)
        waiting.request_now("signal: USR1")
        until(lambda: vcpus(rest, one) == 8, 60, "the change is published")
    assert asked_at[1] - asked_at[0] >= 3


# Credentials.


@pytest.mark.parametrize("status", [200, 400, 404, 500, 503])
def test_an_error_page_does_not_leak_credentials(rest, gate, tmp_path, status):
    """A proxy's error page repeats the agent's token and a password. The agent's error contains no part of them."""
    token = "admin:s3cr3t-t0ken/+=&x"

    def echo(asked: Asked) -> Answer:
        lines = [f"{name}: {value}" for name, value in asked.headers.items()]
        told = [*lines, f"token was '{token}'", '{"auth": {"password": "hunter2 \\"x\\" secret"}}', "//u:hunter2@db/x"]
        return Answer(status=status, body="\n".join(told).encode(), headers=PAGE)

    client = client_of(tmp_path, gate.url, token=token, status_code_retries=0)
    host = OneHost(client, new_uuid())
    assert host.audit().report.error is None
    gate.before = echo
    error = source(host.audit()).error
    assert str(status) in error
    for part in ("s3cr3t", "hunter2"):
        assert part not in error


# Keystone failures that a real Keystone cannot be made to show; tests with a real Keystone: tests/contract/keystone.


def token_document(placement_url: str) -> bytes:
    endpoint = {"id": "e", "interface": "internal", "region": "R", "region_id": "R", "url": placement_url}
    catalog = [{"id": "c", "type": "placement", "name": "placement", "endpoints": [endpoint]}]
    return json.dumps(
        {
            "token": {
                "methods": ["password"],
                "user": {"id": "u", "name": "stocktake", "domain": {"id": "default", "name": "Default"}},
                "project": {"id": "p", "name": "service", "domain": {"id": "default", "name": "Default"}},
                "roles": [{"id": "r", "name": "service"}],
                "issued_at": "2026-01-01T00:00:00.000000Z",
                "expires_at": "2099-01-01T00:00:00.000000Z",
                "catalog": catalog if placement_url else [],
            }
        }
    ).encode()


class Keystone:
    """A stand-in for Keystone: it issues numbered tokens that Placement's noauth2 accepts as an admin's."""

    def __init__(self, placement_url: str) -> None:
        self.placement_url = placement_url
        self.tokens = 0
        self.trouble: Answer | None = None

    def __call__(self, _asked: Asked) -> Answer:
        if self.trouble is not None:
            return self.trouble
        self.tokens += 1
        headers = (("Content-Type", "application/json"), ("X-Subject-Token", self.current))
        return Answer(status=201, body=token_document(self.placement_url), headers=headers)

    @property
    def current(self) -> str:
        return f"admin:token-{self.tokens}"


@pytest.fixture
def identity(gate) -> Iterator[tuple[Gateway, Keystone]]:
    with gateway() as door:
        door.before = keystone = Keystone(gate.url)
        yield door, keystone


@pytest.fixture
def known(rest, gate, identity, tmp_path) -> OneHost:
    """A host like ``one``, with a password for Keystone; its client takes Placement's URL from the catalog."""
    door, _keystone = identity
    client = client_of(
        tmp_path,
        "unused",
        auth_type="v3password",
        auth_url=f"{door.url}/v3",
        username="stocktake",
        password="hunter2-secret",
        user_domain_name="Default",
        project_name="service",
        project_domain_name="Default",
        **QUICK,
    )
    host = OneHost(client, new_uuid())
    assert (host.audit().report.outcome, host.audit().report.outcome) == (Outcome.CLEAN, Outcome.CLEAN)
    host.cpus = 8
    gate.seen.clear()
    door.seen.clear()
    return host


def expired(gate: Gateway, keystone: Keystone, *, of_writes: bool) -> None:
    """Let the current token expire: from the next read (or write) on, only a newer token is accepted."""
    ended = keystone.current
    gate.before = lambda asked: (
        page(401) if asked.headers["x-auth-token"] == ended and asked.is_write is of_writes else None
    )


@pytest.mark.parametrize("of_writes", [False, True], ids=["before a read", "before a write"])
def test_an_expired_token_is_renewed_once(rest, gate, identity, known, of_writes):
    """Placement answers 401 to a read or a write.

    The agent gets a new token and repeats the request; a write takes effect once.
    """
    _door, keystone = identity
    generation = rest.generation(known.root)
    expired(gate, keystone, of_writes=of_writes)
    assert known.audit().report.error is None
    assert keystone.tokens == 2
    assert len(puts(gate)) == (2 if of_writes else 1), "sent with the old token, refused unread, sent with the new one"
    assert rest.generation(known.root) == generation + 1
    assert known.audit().report.outcome is Outcome.CLEAN


def test_http_401_for_a_new_token_means_denied(gate, identity, known):
    """Placement answers 401 even after the agent got a new token. The agent then reports that its access is denied."""
    _door, keystone = identity
    gate.before = lambda _asked: page(401)
    result = known.audit()
    assert source(result).denied
    assert (len(gate.seen), keystone.tokens) == (2, 2)


def test_an_audit_without_a_new_token_changes_no_inventory(rest, gate, identity, known):
    """Keystone is down and the agent needs a new token, so the audit is partial and changes no inventory."""
    door, keystone = identity
    expired(gate, keystone, of_writes=True)
    end(door)
    result = known.audit()
    assert "Unable to establish connection" in result.report.error
    assert "/v3/auth/tokens" in result.report.error
    assert "hunter2" not in result.report.error
    assert (result.report.outcome, len(puts(gate)), vcpus(rest, known)) == (Outcome.PARTIAL, 1, 4)


@pytest.mark.parametrize(
    ("trouble", "kind", "says"),
    [
        (page(500), PlacementUnavailable, "no token from Keystone.*HTTP 500"),
        (page(503, Retry_After="30"), PlacementUnavailable, "Retry-After is 30.*HTTP 503"),
        (page(401), PlacementDenied, "no token from Keystone.*HTTP 401"),
        (page(404), PlacementDenied, "auth_url.*HTTP 404"),
        (page(200), PlacementUnavailable, "."),
        (page(302), PlacementUnavailable, "redirects to nowhere"),
        (Answer(status=201, body=PIECE, times=TOO_MANY), PlacementUnavailable, "larger than 16 MiB, .*auth_url"),
    ],
    ids=[
        "keystone-500",
        "keystone-503",
        "keystone-401",
        "keystone-404",
        "keystone-html-200",
        "keystone-html-302",
        "keystone-too-large",
    ],
)
def test_a_failed_token_request_makes_the_audit_partial(gate, identity, known, trouble, kind, says):
    """Keystone answers with an error or no valid token.

    The audit reports the reason and writes nothing to Placement.
    """
    door, keystone = identity
    keystone.trouble = trouble
    expired(gate, keystone, of_writes=False)
    result = known.audit()
    error = result.snapshot.placement.error
    assert type(error) is kind
    with pytest.raises(PlacementError, match=f"(?s){says}"):
        raise error
    assert "hunter2" not in str(error)
    assert (result.report.outcome, gate.writes) == (Outcome.PARTIAL, [])
    is_held = trouble.status == 503
    assert (result.not_before is not None) is is_held
    asked = len(door.seen)
    known.audit()
    assert (len(door.seen) == asked) is is_held


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"], ids=["host", "port"])
def test_a_keystone_redirect_to_another_host_is_not_followed(gate, identity, known, name):
    """A token request carries the password, so the agent sends it only to the host and port in auth_url."""
    door, keystone = identity
    with gateway() as other:
        elsewhere = other.url.replace("127.0.0.1", name)
        keystone.trouble = page(307, Location=f"{elsewhere}/v3/auth/tokens?key=s3cr3t")
        expired(gate, keystone, of_writes=False)
        result = known.audit()
        assert other.seen == []
    assert isinstance(result.snapshot.placement.error, PlacementUnavailable)
    error = source(result).error
    assert f"{door.url}/v3/auth/tokens redirects to {elsewhere}/v3/auth/tokens: put Keystone's own URL into" in error
    assert "s3cr3t" not in error
    assert (result.report.outcome, gate.writes) == (Outcome.PARTIAL, [])


def test_a_keystone_redirect_on_the_same_host_is_followed(rest, gate, identity, known):
    """Keystone redirects a token request to another path on its host. The agent gets its token from there."""
    door, keystone = identity
    expired(gate, keystone, of_writes=False)
    door.before = lambda asked: (
        keystone(asked) if asked.path.startswith("/new") else page(302, Location=f"/new{asked.path}")
    )
    assert known.audit().report.error is None
    assert [(asked.method, asked.path) for asked in door.seen] == [
        ("POST", "/v3/auth/tokens"),
        ("POST", "/new/v3/auth/tokens"),
    ]
    assert vcpus(rest, known) == 8


def test_a_keystone_redirect_loop_ends_after_four_requests(gate, identity, known):
    """Keystone redirects each token request to the same URL. The agent gives up after four requests."""
    door, keystone = identity
    keystone.trouble = page(302, Location=f"{door.url}/v3/auth/tokens")
    expired(gate, keystone, of_writes=False)
    error = source(known.audit()).error
    assert "/v3/auth/tokens (4 redirects in a row): put Keystone's own URL into [placement] auth_url" in error
    assert len(door.seen) == 4


def versions_of(keystone_url: str) -> Answer:
    """Return the answer of Keystone's root: HTTP 300 with a list of versions, which is not a redirect."""
    link = {"rel": "self", "href": f"{keystone_url}/v3/"}
    versions = {"versions": {"values": [{"id": "v3.14", "status": "stable", "links": [link]}]}}
    return Answer(status=300, body=json.dumps(versions).encode())


def asks_for_versions(url: str, folder: Path) -> PlacementClient:
    """Return a client whose auth_url names no version."""
    options = {"auth_type": "password", "auth_url": url, "username": "u", "user_domain_name": "Default"}
    return client_of(folder, "unused", **options, password="hunter2-secret", project_id="p", **QUICK)


def test_the_password_goes_only_to_auth_url_after_a_redirect(identity, tmp_path):
    """Keystone redirects the request for its API versions to another host. The password still goes only to auth_url."""
    door, keystone = identity
    with gateway() as public:
        elsewhere = public.url.replace("127.0.0.1", "localhost")
        public.before = lambda _asked: versions_of(elsewhere)
        moved = page(301, Location=f"{elsewhere}/")
        door.before = lambda asked: moved if asked.method == "GET" else keystone(asked)
        assert asks_for_versions(door.url, tmp_path).maximum() >= (1, 30)
        assert [asked.method for asked in door.seen] == ["GET", "POST"]
        assert [asked.method for asked in public.seen] == ["GET"]


def test_the_password_goes_only_to_the_host_in_auth_url(identity, tmp_path):
    """Keystone's list of versions contains the URL of another host. The agent still sends the password to auth_url."""
    door, keystone = identity
    with gateway() as public:
        document = versions_of(public.url.replace("127.0.0.1", "localhost"))
        door.before = lambda asked: document if asked.method == "GET" else keystone(asked)
        assert asks_for_versions(door.url, tmp_path).maximum() >= (1, 30)
        assert [asked.method for asked in door.seen] == ["GET", "POST"]
        assert public.seen == []


def test_a_catalog_without_placement_is_requested_again(identity, gate, tmp_path):
    """Keystone's catalog lacks Placement, so an audit fails.

    After Placement is in the catalog, the agent finds its URL.
    """
    door, keystone = identity
    keystone.placement_url = ""
    options = {"auth_type": "v3password", "auth_url": f"{door.url}/v3", "username": "u", "user_domain_name": "Default"}
    client = client_of(tmp_path, "unused", **options, password="hunter2-secret", project_id="p", **QUICK)
    result = OneHost(client, new_uuid()).audit()
    assert isinstance(result.snapshot.placement.error, PlacementUnavailable)
    assert "catalog" in source(result).error
    keystone.placement_url = gate.url
    assert client.maximum() >= (1, 30), "the catalog is asked for anew"


def test_an_audit_of_a_silent_placement_ends_at_the_timeout(rest, tmp_path):
    """Placement accepts the connection and never answers; the audit ends as partial at the agent's timeout."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        # Closing the socket resets a client that would wait for ever; a reset is not a time-out, so the test fails.
        end_of_patience = threading.Timer(60, silent.close)
        end_of_patience.daemon = True
        end_of_patience.start()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        try:
            result = OneHost(client_of(tmp_path, url, timeout=1, **QUICK), new_uuid()).audit()
        finally:
            end_of_patience.cancel()
    assert "no complete answer within 3 s" in source(result).error
    assert result.report.outcome is Outcome.PARTIAL
