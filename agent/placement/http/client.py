"""Send one request at a time to Placement, each with its microversion, and return a value or raise one error.

Only a GET is ever sent twice. keystoneauth repeats a PUT after a time-out just as after a refused connection, although
Placement may have carried out the first request. So the client sends writes with keystoneauth's retries off, and a lost
answer becomes PlacementUnavailable. A 401 is the exception: Placement has not carried out the request, so keystoneauth
sends it once more with a new token.

After an answer with Retry-After the client sends nothing to that server until the requested time. Until then every
request fails without being sent, and the error names that time. docs/placement.md lists all failures.

Before its first request the client reads the root document. If the server is older than MINIMUM, the client raises a
clear error at once. Otherwise a later request would fail with HTTP 406.
"""

from __future__ import annotations

import datetime
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from keystoneauth1 import exceptions as kx
from keystoneauth1.identity.base import BaseIdentityPlugin

from agent.errors import PlacementError, PlacementRejected, PlacementUnavailable
from agent.model.placement import Written
from agent.placement import wire
from agent.placement.http import answers, error_hints, retry_after, transport
from agent.placement.http.answers import Reply
from agent.placement.http.bounds import OWN, Bound
from agent.placement.http.request_counts import RequestCounts
from agent.placement.http.session import REDIRECTS
from agent.placement.http.throttled_session import PacedSession
from agent.placement.wire import Microversion
from agent.text.urls import without_login

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter
    from requests import Response  # not ``import requests``: PlacementClient has a property ``requests``

T = TypeVar("T")
Json = Mapping[str, object]

MINIMUM = Microversion(1, 30)
# The first microversion in which a provider can change or lose its parent. Before 1.37, only a root can get a parent.
REPARENTING = Microversion(1, 37)
# The first microversion in which a consumer has a type.
TYPED = Microversion(1, 38)
# The statuses after which keystoneauth repeats a request by default.
REPEATED = (503,)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Hold:
    """A wait after a Retry-After: no request is sent before ``until`` (monotonic seconds).

    The error text of each request that is not sent ends with ``why``.
    """

    until: float
    why: str


class PlacementClient:
    """The HTTP verbs, as methods. Not thread-safe.

    ``adapter`` must have raise_exc off and must send through ``session``; agent.placement.http.access builds both.
    """

    def __init__(self, adapter: Adapter, session: PacedSession) -> None:
        self._adapter = adapter
        self._session = session
        self._maximum: Microversion | None = None
        self._request_id: str | None = None
        self._hold: _Hold | None = None
        self._endpoint: str | None = None
        self._patience_s = retry_after.WAIT_BUDGET_S
        self._unsent = 0

    @property
    def requests(self) -> int:
        """The number of requests sent to Placement since this client was created."""
        return self._session.sent

    @property
    def tried(self) -> int:
        """The number of requests sent, plus the requests that failed before they were sent (for lack of a token)."""
        return self._session.sent + self._unsent

    @property
    def counts(self) -> RequestCounts:
        """The requests to Placement by status and duration; any thread may read this."""
        return self._session.counts

    @property
    def sent_at(self) -> float:
        """When the last request ended, or began if it still runs (monotonic). Any thread may read this time."""
        return self._session.sent_at

    def close(self) -> None:
        """Close the pooled connections; a later request opens a new one."""
        self._session.close()

    def maximum(self) -> Microversion:
        """Return the server's newest microversion.

        Raises PlacementRejected if this microversion is below MINIMUM, or another PlacementError.
        """
        if self._maximum is None:
            self._maximum = self._ask_maximum()
        return self._maximum

    def ask_for_token(self) -> str | None:
        """Get a token for requests, and return Keystone's URL; None if the auth plug-in needs no Keystone.

        Raises PlacementError.
        """
        auth = self._adapter.auth or self._adapter.session.auth
        if not isinstance(auth, BaseIdentityPlugin):
            return None
        place = without_login(str(auth.auth_url))
        with self._session.time.question():
            try:
                self._adapter.get_token()
            except kx.ClientException as error:
                raise answers.failure(f"request for a token from {place}", error) from error
        return place

    def forget(self) -> None:
        """Drop the cached microversion: the next request reads it again, because the server may have changed."""
        self._maximum = None

    @contextmanager
    def global_request_id(self, request_id: str | None = None) -> Iterator[str]:
        """Send ``request_id`` with each request of the block, so that all requests of one audit have the same id.

        Without an argument, the id of the enclosing block is sent. If there is no enclosing block, a new id
        (req-<uuid>) is sent.
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
        """Send a GET; return what ``parse`` makes of the answer.

        ``bound`` limits the size of the answer. Raises PlacementError.
        """
        self.maximum()  # before the block: maximum() may read the root document, and ``bound`` is not for that document
        with transport.bounded(bound):
            return self._parsed("GET", path, microversion, None, parse)

    def get_dated(self, path: str, microversion: Microversion, parse: Callable[[object, Written | None], T]) -> T:
        """Send a GET as ``get`` does; ``parse`` also gets the time at which Placement last wrote the content."""
        self.maximum()
        with transport.bounded(OWN):
            reply = self._send("GET", path, microversion)
        written = reply.written
        return _parsed(reply, lambda body: parse(body, written))

    def put(self, path: str, microversion: Microversion, body: Json | None, parse: Callable[[object], T]) -> T:
        """Send a PUT; return what ``parse`` makes of the answer. ``parse`` gets None if the answer is empty.

        Raises PlacementError.
        """
        return self._parsed("PUT", path, microversion, body, parse)

    def post(self, path: str, microversion: Microversion, body: Json, parse: Callable[[object], T]) -> T:
        """Send a POST; return what ``parse`` makes of the answer. Raises PlacementError."""
        return self._parsed("POST", path, microversion, body, parse)

    def delete(self, path: str, microversion: Microversion) -> None:
        """Send a DELETE. Raises PlacementError; after a 404, PlacementRejected, whose ``status`` is then 404."""
        self._parsed("DELETE", path, microversion, None, wire.nothing)

    def _parsed(
        self, method: str, path: str, microversion: Microversion, body: Json | None, parse: Callable[[object], T]
    ) -> T:
        self.maximum()
        return _parsed(self._send(method, path, microversion, body), parse)

    def _ask_maximum(self) -> Microversion:
        # The root document needs no microversion. Send 1.0 anyway, because PacedSession counts only requests with a
        # microversion as requests to Placement.
        try:
            reply = self._send("GET", "/", Microversion(1, 0))
        except PlacementRejected as error:
            message = error_hints.with_hint(
                f"the answer is not Placement's root document: {error.message}", error_hints.PATH
            )
            raise PlacementUnavailable(message, status=error.status, request_id=error.request_id) from error
        found = _parsed(reply, wire.parse_maximum)
        if found < MINIMUM:
            raise PlacementRejected(
                f"Placement offers microversions up to {found}, the agent needs {MINIMUM}: upgrade Placement first",
                request_id=reply.request_id,
            )
        return found

    def _send(self, method: str, path: str, microversion: Microversion, json: Json | None = None) -> Reply:
        """Send one request and return its answer; repeat a GET as often as configuration and time allow."""
        self._stop_if_held(f"{method} {path}")
        with self._session.time.question():
            try:
                response = self._asked(method, path, microversion, json)
            except PlacementError:
                # If a write gets no answer, its time does not count towards the limit (UnansweredTime). Otherwise the
                # limit could stop the next request, with which the caller checks whether Placement carried out the
                # write.
                if method == "GET":
                    self._session.time.lost()
                raise
        reply = answers.reply_of(method, response)
        if reply.status == 406:
            # 406: this server does not know the microversion, so it is older than the server that answered earlier. The
            # next request reads the newest microversion again.
            self._maximum = None
        if reply.status >= 300:
            raise self._held_by(answers.refusal(reply), response.headers)
        return reply

    def _asked(self, method: str, path: str, microversion: Microversion, json: Json | None) -> Response:
        repeats = (self._adapter.status_code_retries or 0) if method == "GET" else 0
        response = self._once(method, path, microversion, json)
        for repeat in range(1, repeats + 1):
            if not self._waits(response, repeat):
                break
            response = self._once(method, path, microversion, json)
        return response

    def _once(self, method: str, path: str, microversion: Microversion, json: Json | None) -> Response:
        sent = self._session.sent
        try:
            return self._followed(method, path, microversion, json)
        except kx.ClientException as error:
            self._unsent += self._session.sent == sent
            if isinstance(error, kx.EndpointNotFound):
                # The catalog has no suitable endpoint, but the operator may correct the catalog. keystoneauth would
                # keep the old catalog until the token expires. So drop the catalog and the token.
                self._adapter.invalidate()
            headers = getattr(getattr(error, "response", None), "headers", None) or {}
            raise self._held_by(answers.failure(f"{method} {path}", error), headers) from error

    def _followed(self, method: str, path: str, microversion: Microversion, json: Json | None) -> Response:
        headers = {"Accept": "application/json"}
        if self._request_id is not None:
            headers["X-OpenStack-Request-ID"] = self._request_id
        # Switch off what keystoneauth would do itself: follow redirects to any host, and sleep as long as a Retry-After
        # says.
        options: dict[str, Any] = {"redirect": False, "status_code_retries": 0}
        if method != "GET":
            options["connect_retries"] = 0
        url = path
        for _ in range(REDIRECTS + 1):
            try:
                response: Response = self._adapter.request(
                    url, method, microversion=str(microversion), headers=headers, json=json, **options
                )
            finally:
                self._note_endpoint(path)
            onward = answers.onward(response.status_code, response.url, response.headers.get("Location"))
            if onward is None:
                break
            url = onward
        return response

    def _note_endpoint(self, path: str) -> None:
        """Remember Placement's URL, for errors. With a catalog, the URL is known only from a sent request."""
        if self._session.sent_to.endswith(path):
            self._endpoint = without_login(self._session.sent_to.removesuffix(path))

    def _waits(self, response: Response, repeat: int) -> bool:
        """Wait before the ``repeat``-th repetition of a GET. Return False if the GET must not be repeated."""
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
        unanswered = self._session.unanswered
        if unanswered.is_over:
            words = f"{request}: not sent, because earlier requests got no answer within {unanswered.limit_s:g} s"
            raise self._of_endpoint(PlacementUnavailable(words))
        if self._hold is None or time.monotonic() >= self._hold.until:
            self._hold = None
            return
        held = PlacementUnavailable(f"{request}: not sent; {self._hold.why}")
        held.not_before = self._hold.until
        raise self._of_endpoint(held)

    def _held_by(self, error: PlacementError, headers: Mapping[str, str]) -> PlacementError:
        """Return the error to raise: ``error``, or an error with the end of the pause that Placement requests.

        Placement requests a pause by a 429 or 5xx with Retry-After. The client sends nothing before the pause ends.
        """
        self._of_endpoint(error)
        asked = _asked_s(headers)
        if not asked or error.status is None or (error.status != 429 and error.status < 500):
            return error
        hold_s = retry_after.hold_s(asked, random.random())
        ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=hold_s)
        until = f"the agent sends nothing before {ends:%Y-%m-%dT%H:%M:%SZ}"
        why = f"{until}, because the last answer was HTTP {error.status} with Retry-After {asked:g} s"
        self._hold = _Hold(until=time.monotonic() + hold_s, why=why)
        message = f"{error.message}: {until}, because Retry-After is {asked:g} s"
        held = PlacementUnavailable(message, status=error.status, request_id=error.request_id)
        held.not_before = self._hold.until
        return self._of_endpoint(held)

    def _of_endpoint(self, error: PlacementError) -> PlacementError:
        """Return the same error with Placement's URL, so that a remedy can name the URL."""
        error.endpoint = self._endpoint
        return error


def _asked_s(headers: Mapping[str, str]) -> float | None:
    return retry_after.asked_s(headers.get("Retry-After"), headers.get("Date"), datetime.datetime.now(datetime.UTC))


def _parsed(reply: Reply, parse: Callable[[object], T]) -> T:
    request, status, request_id = reply.request, reply.status, reply.request_id
    try:
        return parse(reply.body())
    except PlacementUnavailable as error:
        message = error.message if error.status is not None else f"{request}: {error.message}"
        kind = type(error)
    # The error from ``parse`` has a traceback, which keeps the variables of every function that the error passed. These
    # variables contain the answer's text and the parsed JSON. So a new error without this traceback is raised here.
    del reply
    raise kind(message, status=status, request_id=request_id)
