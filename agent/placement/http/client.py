"""Talk to Placement: one request at a time, each with its microversion, each ending as a value or one of our errors.

Only GET is ever sent twice. keystoneauth repeats a PUT after a time-out as
readily as after a refusal, although the first may have been carried out, so
writes go out with its retries off and a lost answer is PlacementUnavailable.
A 401 alone is no such case: nobody carried out what it answers, so keystoneauth
sends the same once more with a new token.

A server that says Retry-After is left alone until then, by whoever asks and for
whatever reason: what is asked meanwhile fails here, unsent, and says until when.
docs/placement.md is the table of all that can go wrong.

The first request of a client is preceded by one for the root document: a server
older than MINIMUM is refused there, in words, and not later by a 406.
"""

from __future__ import annotations

import datetime
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import requests
from keystoneauth1 import exceptions as kx

from agent.errors import PlacementError, PlacementRejected, PlacementUnavailable
from agent.placement import wire
from agent.placement.http import answers, error_hints, retry_after, transport
from agent.placement.http.answers import Reply
from agent.placement.http.bounds import OWN, TOKEN, Bound
from agent.placement.http.question_time import QuestionTime
from agent.placement.http.session import REDIRECTS
from agent.placement.wire import Microversion

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter
    from requests import Response  # by its own name: in PlacementClient ``requests`` is a number

T = TypeVar("T")

MINIMUM = Microversion(1, 30)
# From here on a provider gets another parent, or none; before, only one that has none gets one.
REPARENTING = Microversion(1, 37)
# From here on a consumer has a type.
TYPED = Microversion(1, 38)
# One question, asked for a token, sent, answered, read and tried again, takes so many time-outs at most: that of
# requests is for each byte.
TIMEOUTS_A_QUESTION = 3
# What keystoneauth repeats where nothing else is configured.
REPEATED = (503,)
MICROVERSION_HEADER = "OpenStack-API-Version"


class CountingSession(requests.Session):
    """Counts the requests that go to Placement, the repeated ones too, and not those for a token.

    ``sent_at`` is when the last one went out or came to its end, those for a token too, in monotonic seconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sent = 0
        self.sent_at = 0.0
        self.time = QuestionTime()

    def begin(self) -> None:
        """An audit or a command begins (PacedSession minds it)."""

    def close(self) -> None:
        """As requests does, and end the thread that sends."""
        self.time.close()
        super().close()

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # noqa: ANN401 (its own)
        """As requests does; what is not over in time, and so may never be, is no time-out that is worth repeating."""
        self.sent_at = time.monotonic()
        timeout_s = options.get("timeout")
        bound_s = TIMEOUTS_A_QUESTION * timeout_s if isinstance(timeout_s, int | float) else None
        try:
            return self.time.sent(lambda: self._sent(request, options), bound_s)
        finally:
            # A pause of the pace follows (paced.py): what a late answer took must not count to its length.
            self.sent_at = time.monotonic()

    def _sent(self, request: requests.PreparedRequest, options: Mapping[str, Any]) -> requests.Response:
        is_ours = MICROVERSION_HEADER in request.headers
        if is_ours:
            self.sent += 1
        try:
            # A request for a token goes out within one of Placement's, and is no part of what that one asks.
            with nullcontext() if is_ours else transport.bounded(TOKEN):
                return super().send(request, **options)
        except requests.RequestException:
            raise
        except ValueError as error:
            # requests reads the Location of every redirect, and of one that is no URL it says so by this.
            raise requests.RequestException(f"a redirect that leads nowhere: {error}") from error

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """As requests', which forgets the answer where its Location is no UTF-8: here its connection is closed."""
        try:
            return super().get_redirect_target(resp)
        except ValueError:
            resp.close()
            raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hold:
    """No request before ``until`` (monotonic seconds); ``why`` ends a message."""

    until: float
    why: str


class PlacementClient:
    """The verbs. For one thread.

    ``adapter`` must have raise_exc off and use ``session`` underneath; agent.placement.http.access builds both.
    """

    def __init__(self, adapter: Adapter, session: CountingSession) -> None:
        self._adapter = adapter
        self._session = session
        self._maximum: Microversion | None = None
        self._request_id: str | None = None
        self._hold: _Hold | None = None
        self._patience_s = retry_after.WAIT_BUDGET_S

    @property
    def requests(self) -> int:
        """Requests sent to Placement since this client was made."""
        return self._session.sent

    @property
    def sent_at(self) -> float:
        """When the last request was sent or ended, monotonic seconds: the sign of life of a long look. Any thread's."""
        return self._session.sent_at

    def close(self) -> None:
        """Close the connections that are kept; a later request opens one anew."""
        self._session.close()

    def maximum(self) -> Microversion:
        """The server's newest microversion; asks once. Raises PlacementError, PlacementRejected below MINIMUM."""
        if self._maximum is None:
            self._maximum = self._ask_maximum()
        return self._maximum

    def forget(self) -> None:
        """Ask anew, with the next request, what the server speaks: it may be another since."""
        self._maximum = None

    @contextmanager
    def global_request_id(self, request_id: str | None = None) -> Iterator[str]:
        """Send this id (req-<uuid>; a new one where none is given) with each request of the block.

        An outer block wins over an inner one without an id of its own, so that all of an audit has one.
        """
        before = self._request_id
        if before is None:
            self._patience_s = retry_after.WAIT_BUDGET_S
            self._session.begin()
        self._request_id = request_id or before or f"req-{uuid.uuid4()}"
        try:
            yield self._request_id
        finally:
            self._request_id = before

    def get(self, path: str, microversion: Microversion, parse: Callable[[object], T], bound: Bound = OWN) -> T:
        """What ``parse`` makes of the answer, which may be as large as ``bound`` says. Raises PlacementError."""
        self.maximum()
        return _parsed(self._got(path, microversion, bound), parse)

    def put(
        self, path: str, microversion: Microversion, body: Mapping[str, object] | None, parse: Callable[[object], T]
    ) -> T:
        """What ``parse`` makes of the answer (of None, where that has no body). Raises PlacementError."""
        self.maximum()
        return _parsed(self._send("PUT", path, microversion, body), parse)

    def post(
        self, path: str, microversion: Microversion, body: Mapping[str, object], parse: Callable[[object], T]
    ) -> T:
        """What ``parse`` makes of the answer. Raises PlacementError."""
        self.maximum()
        return _parsed(self._send("POST", path, microversion, body), parse)

    def delete(self, path: str, microversion: Microversion) -> None:
        """Raises PlacementError; 404 is PlacementRejected with that status."""
        self.maximum()
        _parsed(self._send("DELETE", path, microversion), wire.nothing)

    def _got(self, path: str, microversion: Microversion, bound: Bound) -> Reply:
        with transport.bounded(bound):
            return self._send("GET", path, microversion)

    def _ask_maximum(self) -> Microversion:
        # Any microversion will do here: 1.0 is known to every server, and the header is what is counted.
        try:
            reply = self._send("GET", "/", Microversion(1, 0))
        except PlacementRejected as error:
            message = error_hints.with_hint(f"this is not Placement's root document: {error.message}", error_hints.PATH)
            raise PlacementUnavailable(message, status=error.status, request_id=error.request_id) from error
        found = _parsed(reply, wire.parse_maximum)
        if found < MINIMUM:
            raise PlacementRejected(
                f"the server speaks microversions up to {found}, {MINIMUM} is needed: Placement must be upgraded first",
                request_id=reply.request_id,
            )
        return found

    def _send(
        self, method: str, path: str, microversion: Microversion, json: Mapping[str, object] | None = None
    ) -> Reply:
        """One request, a GET repeated as far as configuration and patience go. Raises PlacementError."""
        self._stop_if_held(f"{method} {path}")
        with self._session.time.question():
            response = self._asked(method, path, microversion, json)
        reply = answers.reply_of(method, response)
        if reply.status == 406:
            # The server was replaced by an older one: what it speaks is asked again.
            self._maximum = None
        if reply.status >= 300:
            raise self._held_by(answers.refusal(reply), response.headers)
        return reply

    def _asked(self, method: str, path: str, microversion: Microversion, json: Mapping[str, object] | None) -> Response:
        repeats = (self._adapter.status_code_retries or 0) if method == "GET" else 0
        response = self._once(method, path, microversion, json)
        for repeat in range(1, repeats + 1):
            if not self._waits(response, repeat):
                break
            response = self._once(method, path, microversion, json)
        return response

    def _once(self, method: str, path: str, microversion: Microversion, json: Mapping[str, object] | None) -> Response:
        """What answers in the end, redirects followed. Raises PlacementError where nobody does."""
        try:
            return self._followed(method, path, microversion, json)
        except kx.ClientException as error:
            if isinstance(error, kx.EndpointNotFound):
                # The catalog came with the token and is cached as long; the operator may mend it before that ends.
                self._adapter.invalidate()
            headers = getattr(getattr(error, "response", None), "headers", None) or {}
            raise self._held_by(answers.failure(f"{method} {path}", error), headers) from error

    def _followed(
        self, method: str, path: str, microversion: Microversion, json: Mapping[str, object] | None
    ) -> Response:
        headers = {"Accept": "application/json"}
        if self._request_id is not None:
            headers["X-OpenStack-Request-ID"] = self._request_id
        # keystoneauth's own would follow to any host, and sleep for as long as a Retry-After says.
        options: dict[str, Any] = {"redirect": False, "status_code_retries": 0}
        if method != "GET":
            options["connect_retries"] = 0
        url = path
        for _ in range(REDIRECTS + 1):
            response: Response = self._adapter.request(
                url, method, microversion=str(microversion), headers=headers, json=json, **options
            )
            onward = answers.onward(response.status_code, response.url, response.headers.get("Location"))
            if onward is None:
                break
            url = onward
        return response

    def _waits(self, response: Response, repeat: int) -> bool:
        """Waits before the ``repeat``-th repetition of a GET, where another answer is to be expected; False if not."""
        asked = _asked_s(response.headers)
        repeated = self._adapter.retriable_status_codes or REPEATED
        if response.status_code not in repeated and (response.status_code != 429 or asked is None):
            return False
        if self._request_id is None:
            self._patience_s = retry_after.WAIT_BUDGET_S
        wait_s = retry_after.wait_s(asked, repeat, self._adapter.status_code_retry_delay)
        if wait_s > self._patience_s:
            return False
        self._patience_s -= wait_s
        time.sleep(wait_s)
        self._session.time.paused(wait_s)
        return True

    def _stop_if_held(self, request: str) -> None:
        if self._hold is None or time.monotonic() >= self._hold.until:
            self._hold = None
            return
        held = PlacementUnavailable(f"{request}: not sent, {self._hold.why}")
        held.not_before = self._hold.until
        raise held

    def _held_by(self, error: PlacementError, headers: Mapping[str, str]) -> PlacementError:
        """``error``, which says until when nothing more is sent where its answer's headers say it."""
        asked = _asked_s(headers)
        if not asked or error.status is None or (error.status != 429 and error.status < 500):
            return error
        hold_s = retry_after.hold_s(asked, random.random())
        ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=hold_s)
        until = f"nothing is sent before {ends:%Y-%m-%dT%H:%M:%SZ}"
        why = f"{until}: HTTP {error.status} with Retry-After {asked:g} was the last answer"
        self._hold = _Hold(until=time.monotonic() + hold_s, why=why)
        message = f"{error.message}: {until}, Retry-After is {asked:g}"
        told = PlacementUnavailable(message, status=error.status, request_id=error.request_id)
        told.not_before = self._hold.until
        return told


def _asked_s(headers: Mapping[str, str]) -> float | None:
    return retry_after.asked_s(headers.get("Retry-After"), headers.get("Date"), datetime.datetime.now(datetime.UTC))


def _parsed(reply: Reply, parse: Callable[[object], T]) -> T:
    request, status, request_id = reply.request, reply.status, reply.request_id
    try:
        return parse(reply.body())
    except PlacementUnavailable as error:
        message = error.message if error.status is not None else f"{request}: {error.message}"
        kind = type(error)
    # An error keeps all that the functions held which it passed: a new one, without the text and what it was parsed to.
    del reply
    raise kind(message, status=status, request_id=request_id)
