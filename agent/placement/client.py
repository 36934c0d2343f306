"""Talk to Placement: one request at a time, each with its microversion, each ending as a value or one of our errors.

Only GET is ever sent twice. keystoneauth repeats a PUT after a time-out as
readily as after a refusal, although the first may have been carried out, so
writes go out with its retries off and a lost answer is PlacementUnavailable.

The first request of a client is preceded by one for the root document: a server
older than MINIMUM is refused there, in words, and not later by a 406.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import requests
from keystoneauth1 import exceptions as kx

from agent.errors import PlacementRejected, PlacementUnavailable
from agent.placement import answers, wire
from agent.placement.answers import Reply
from agent.placement.wire import Microversion

if TYPE_CHECKING:
    from keystoneauth1.adapter import Adapter

T = TypeVar("T")

MINIMUM = Microversion(1, 30)
# From here on a provider gets another parent, or none; before, only one that has none gets one.
REPARENTING = Microversion(1, 37)
# From here on a consumer has a type.
TYPED = Microversion(1, 38)
GET_RETRIES = 2
MICROVERSION_HEADER = "OpenStack-API-Version"


class CountingSession(requests.Session):
    """Counts the requests that go to Placement, the repeated ones too, and not those for a token.

    ``sent_at`` is when the last one went out, those for a token too, in monotonic seconds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.sent = 0
        self.sent_at = 0.0

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # noqa: ANN401 (its own)
        """As requests does."""
        self.sent_at = time.monotonic()
        if MICROVERSION_HEADER in request.headers:
            self.sent += 1
        return super().send(request, **options)


class PlacementClient:
    """The verbs. For one thread.

    ``adapter`` must have raise_exc off and use ``session`` underneath; agent.placement.access builds both.
    """

    def __init__(self, adapter: Adapter, session: CountingSession) -> None:
        self._adapter = adapter
        self._session = session
        self._maximum: Microversion | None = None
        self._request_id: str | None = None

    @property
    def requests(self) -> int:
        """Requests sent to Placement since this client was made."""
        return self._session.sent

    @property
    def sent_at(self) -> float:
        """When the last request was sent, in monotonic seconds: the sign of life of a long look. From any thread."""
        return self._session.sent_at

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
        self._request_id = request_id or before or f"req-{uuid.uuid4()}"
        try:
            yield self._request_id
        finally:
            self._request_id = before

    def get(self, path: str, microversion: Microversion, parse: Callable[[object], T]) -> T:
        """What ``parse`` makes of the answer. Raises PlacementError."""
        self.maximum()
        return _parsed(self._send("GET", path, microversion, retries=None), parse)

    def put(
        self, path: str, microversion: Microversion, body: Mapping[str, object] | None, parse: Callable[[object], T]
    ) -> T:
        """What ``parse`` makes of the answer (of None, where that has no body). Raises PlacementError."""
        self.maximum()
        return _parsed(self._send("PUT", path, microversion, retries=0, json=body), parse)

    def post(
        self, path: str, microversion: Microversion, body: Mapping[str, object], parse: Callable[[object], T]
    ) -> T:
        """What ``parse`` makes of the answer. Raises PlacementError."""
        self.maximum()
        return _parsed(self._send("POST", path, microversion, retries=0, json=body), parse)

    def delete(self, path: str, microversion: Microversion) -> None:
        """Raises PlacementError; 404 is PlacementRejected with that status."""
        self.maximum()
        _parsed(self._send("DELETE", path, microversion, retries=0), wire.nothing)

    def _ask_maximum(self) -> Microversion:
        # Any microversion will do here: 1.0 is known to every server, and the header is what is counted.
        try:
            reply = self._send("GET", "/", Microversion(1, 0), retries=None)
        except PlacementRejected as error:
            message = f"this is not Placement's root document: {error.message}"
            raise PlacementUnavailable(message, status=error.status, request_id=error.request_id) from error
        found = _parsed(reply, wire.parse_maximum)
        if found < MINIMUM:
            raise PlacementRejected(
                f"the server speaks microversions up to {found}, {MINIMUM} is needed: Placement must be upgraded first",
                request_id=reply.request_id,
            )
        return found

    def _send(
        self,
        method: str,
        path: str,
        microversion: Microversion,
        *,
        retries: int | None,
        json: Mapping[str, object] | None = None,
    ) -> Reply:
        """``retries`` None: as the adapter was told to."""
        headers = {"Accept": "application/json"}
        if self._request_id is not None:
            headers["X-OpenStack-Request-ID"] = self._request_id
        fixed = {} if retries is None else {"connect_retries": retries, "status_code_retries": retries}
        request = f"{method} {path}"
        try:
            response = self._adapter.request(
                path, method, microversion=str(microversion), headers=headers, json=json, **fixed
            )
        except kx.ClientException as error:
            if isinstance(error, kx.EndpointNotFound):
                # The catalog came with the token and is cached as long; the operator may mend it before that ends.
                self._adapter.invalidate()
            raise answers.failure(request, error) from error
        request_id = response.headers.get("x-openstack-request-id")
        # The whole URL: of a wrong endpoint the path alone says nothing.
        request = f"{method} {answers.quoted(response.url)}"
        reply = Reply(request=request, status=response.status_code, text=response.text, request_id=request_id)
        if reply.status >= 300:
            raise answers.refusal(reply)
        return reply


def _parsed(reply: Reply, parse: Callable[[object], T]) -> T:
    try:
        return parse(reply.body())
    except PlacementUnavailable as error:
        if error.status is not None:
            raise
        message = f"{reply.request}: {error.message}"
        raise PlacementUnavailable(message, status=reply.status, request_id=reply.request_id) from error
