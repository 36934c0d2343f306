"""Choose the error of agent/errors.py for a failed request to Placement. No other module chooses it.

A 409 has several meanings. The error code in its body (microversion 1.23 and later) says whether the agent must read
again or report the error to the operator. Only one 409 has no code of its own: the answer to an allocation for which
the provider has no room.

A status below 400 does not prove success: an HTML page with 200 comes from a proxy, not from Placement. A 404 without
Placement's error document comes from a proxy, for example a proxy without a route. Such a 404 must not make the agent
believe that its providers are gone. No credential gets into a message (agent/text/redact.py).
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from keystoneauth1 import exceptions as kx

from agent.errors import (
    AllocationRefused,
    AnswerTooLarge,
    ConsumerConflict,
    DuplicateName,
    GenerationConflict,
    InventoryInUse,
    PlacementDenied,
    PlacementError,
    PlacementRejected,
    PlacementUnavailable,
    ProviderInUse,
)
from agent.model.placement import Written
from agent.placement import wire
from agent.placement.http import error_hints
from agent.placement.http.bounds import TOKEN
from agent.placement.http.transport import TooLarge
from agent.text.redact import blotted

if TYPE_CHECKING:
    import requests

QUOTED_CHARACTERS = 300
# ``quoted`` reads only this many characters of another program's text, because a proxy's HTML page may be large.
_READ_CHARACTERS = 20 * QUOTED_CHARACTERS
_BLANKS = " \t\r\n"
_CREDENTIAL_HEADERS = ("X-Auth-Token", "Authorization")
_REDIRECTS = frozenset({301, 302, 307, 308})
# Matches the JSON escape of one surrogate. JSON escapes a character beyond 16 bits as a pair of surrogates. A JSON text
# may also contain a single surrogate without its partner. A string with a single surrogate can be neither logged nor
# sent.
_HALF_A_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile(r"[\ud800-\udfff]")
_PORTS = {"http": 80, "https": 443}
# The statuses that Placement sends if a provider is missing. A proxy sends these statuses too. The body of the answer
# shows whether Placement or a proxy answered.
_NOT_THERE = frozenset({404, 405, 410})

# Matches the start of urllib3's error text. The agent removes this start, because the reason of the error comes after
# it, and a message has a maximum length.
_AGAIN = re.compile(r"HTTPS?Connection(Pool)?\([^)]*\): (Max retries exceeded with url: \S+ )?")

CONFLICTS: dict[str, type[PlacementError]] = {
    "placement.concurrent_update": GenerationConflict,
    "placement.inventory.inuse": InventoryInUse,
    "placement.duplicate_name": DuplicateName,
    "placement.resource_provider.inuse": ProviderInUse,
    "placement.resource_provider.cannot_delete_parent": ProviderInUse,
}

# Placement's code for errors without a code of their own. In answers to PUT /allocations and POST /reshaper, only a
# lack of capacity has this code (16.0.0, handlers/allocation.py, reshaper.py). Each lost race has the code
# concurrent_update.
_NO_CODE = "placement.undefined_code"
_ALLOCATES = re.compile(r"PUT \S*/allocations/[^/\s]+|POST \S*/reshaper")

# Placement sends the same code for a consumer's generation conflict and for a provider's generation conflict. Only this
# text tells them apart (16.0.0, handlers/util.py).
_OF_A_CONSUMER = "consumer generation conflict"

# The exceptions for credentials that are missing, malformed or rejected. The operator must act; a quick retry does not
# help.
_DENIED = (kx.AuthPluginException, kx.AuthorizationFailure, kx.MissingAuthMethods)


class TokenMoved(kx.ClientException):
    """The session does not follow Keystone's redirect to ``location``.

    Either ``location`` is not Keystone's own host and port, and must not get the password. Or Keystone sent more
    redirects in a row than the session follows (REDIRECTS in session.py): ``asked`` is their number.
    """

    def __init__(self, url: str, location: str, asked: int = 1) -> None:
        after = f" ({asked} redirects in a row)" if asked > 1 else ""
        super().__init__(f"no token from Keystone: {_bare(url)} redirects to {_bare(location) or 'nowhere'}{after}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer as received. ``request`` is the method and URL of its request.

    ``sent_bytes`` is the size of the request's body. ``location`` is the target of a redirect. ``written`` is the time
    at which Placement last wrote the content of the answer. ``secrets`` are the credentials that the request carried;
    no message may quote these credentials.
    """

    request: str
    status: int
    text: str
    request_id: str | None
    sent_bytes: int = 0
    location: str = ""
    written: Written | None = None
    secrets: tuple[str, ...] = ()

    def body(self) -> object:
        """Return the JSON document; None if the body is empty. Raises PlacementUnavailable if the body is not JSON."""
        if not self.text:
            return None
        with contextlib.suppress(ValueError, RecursionError):
            found: object = json.loads(self.text)
            if not _HALF_A_CHARACTER.search(self.text) or _is_text(found):
                return found
        # Raised without "from": json's error would keep the whole text in memory as long as the new error exists.
        raise PlacementUnavailable(
            f"{self.request}: the answer is not JSON but begins with {quoted(self.text, self.secrets)[:60]!r}",
            status=self.status,
            request_id=self.request_id,
        )


def _is_text(found: object) -> bool:
    """Whether all strings in ``found`` can be encoded as UTF-8. To save memory, the check does not encode them."""
    waiting = [found]
    while waiting:
        match waiting.pop():
            case str() as text:
                if _HALF.search(text):
                    return False
            case list() as items:
                waiting.extend(items)
            case dict() as members:
                waiting.extend(members)
                waiting.extend(members.values())
    return True


def refusal(reply: Reply) -> PlacementError:
    """Return the error for an answer of Placement, or of a proxy, with status 300 or above."""
    document = _document(reply)
    kind = _kind(reply, document.code)
    if kind is PlacementRejected and reply.status in _NOT_THERE and not (document.code or document.detail):
        kind = PlacementUnavailable
    if kind is GenerationConflict and _OF_A_CONSUMER in document.detail:
        kind = ConsumerConflict
    hint = error_hints.placement_hint(reply.status, reply.request) or _way_hint(reply, kind)
    reason = quoted(document.detail or reply.text, reply.secrets) or "no reason given"
    detail = error_hints.with_hint(reason, hint)
    return kind(f"{reply.request}: {detail}", status=reply.status, request_id=reply.request_id)


def _document(reply: Reply) -> wire.Refusal:
    try:
        return wire.parse_refusal(reply.body())
    except PlacementUnavailable:
        return wire.Refusal(code="", detail="")


def _way_hint(reply: Reply, kind: type[PlacementError]) -> str:
    """Return a hint for an answer of a proxy or web server in front of Placement; empty for Placement's own answers."""
    if reply.status in _NOT_THERE and kind is PlacementUnavailable:
        return f"this is not Placement's own answer: {error_hints.PATH}"
    if reply.status == 413:
        return f"the proxy or web server in front of Placement must accept requests of {reply.sent_bytes} bytes"
    if 300 <= reply.status < 400:
        to = quoted(_bare(reply.location)) or "nowhere"
        return f"the URL redirects to {to}: put Placement's own URL into [placement] endpoint_override or the catalog"
    return ""


def _kind(reply: Reply, code: str) -> type[PlacementError]:
    if reply.status in {401, 403}:
        return PlacementDenied
    if reply.status == 409:
        if code == _NO_CODE and _ALLOCATES.fullmatch(reply.request):
            return AllocationRefused
        # This is for a 409 whose code is not in CONFLICTS. As the answer to a DELETE, it means that the provider is in
        # use. As the answer to any other request, it means a lost race.
        other = ProviderInUse if reply.request.startswith("DELETE ") else GenerationConflict
        return CONFLICTS.get(code, other)
    # The client follows Placement's redirects. Any other 3xx comes from a proxy.
    if reply.status == 429 or reply.status >= 500 or reply.status < 400:
        return PlacementUnavailable
    return PlacementRejected


def failure(request: str, error: kx.ClientException) -> PlacementError:
    """Return the error for an exception of keystoneauth: Placement did not answer, or there is no token."""
    whole = str(error)
    hint = _option_hint(error) or error_hints.tls_hint(whole)
    message = error_hints.with_hint(f"{request}: {quoted(_AGAIN.sub('', whole))}", hint)
    if isinstance(error, kx.HttpError):
        return _keystone(request, error)
    if isinstance(error, _DENIED):
        return PlacementDenied(message)
    large = getattr(error, "original", None)
    # AnswerTooLarge is for Placement's answers only. If Keystone's token is too large, the error is
    # PlacementUnavailable.
    if isinstance(large, TooLarge) and large.bound is not TOKEN:
        return AnswerTooLarge(message)
    return PlacementUnavailable(message)


def _option_hint(error: kx.ClientException) -> str:
    if isinstance(error, TokenMoved):
        return error_hints.AUTH_URL
    return error_hints.ENDPOINT if isinstance(error, kx.EndpointNotFound) else ""


def _keystone(request: str, error: kx.HttpError) -> PlacementError:
    """Return the error for Keystone's answer to a token request; ``refusal`` handles Placement's answers."""
    status = int(error.http_status)
    kind = PlacementUnavailable if status == 429 or status >= 500 else PlacementDenied
    where = f" at {quoted(error.url)}" if error.url else ""
    # keystoneauth puts the status and the request id into its message. Cut them off: the agent's error has both as
    # attributes.
    plain = re.sub(r"( \(HTTP \d+\))?( \(Request-ID: [^)]*\))?$", "", str(error.message))
    message = error_hints.with_hint(
        f"{request}: no token from Keystone{where}: {quoted(plain)}", error_hints.keystone_hint(status)
    )
    return kind(message, status=status, request_id=error.request_id)


def reply_of(method: str, response: requests.Response) -> Reply:
    """Return the answer as a Reply with the whole URL, because the path alone does not show a wrong endpoint."""
    sent = response.request
    return Reply(
        request=f"{method} {quoted(response.url)}",
        status=response.status_code,
        # JSON is UTF-8 (RFC 8259). Obeying a charset in the header would only add ways to fail.
        text=response.content.decode("utf-8", "replace"),
        request_id=response.headers.get("x-openstack-request-id"),
        sent_bytes=len(sent.body or b""),
        location=response.headers.get("Location", ""),
        written=written_of(response.headers.get("Last-Modified"), response.headers.get("Date")),
        secrets=tuple(sent.headers[name] for name in _CREDENTIAL_HEADERS if name in sent.headers),
    )


def written_of(modified: str | None, date: str | None) -> Written | None:
    """Return when Placement last wrote the content of an answer; None if the answer's headers do not say when."""
    if modified is None or date is None:
        return None
    try:
        age_s = (parsedate_to_datetime(date) - parsedate_to_datetime(modified)).total_seconds()
    except (TypeError, ValueError):  # a header is not a date, or only one of the two dates has a time zone
        return None
    return Written(modified, age_s)


def onward(status: int, url: str, location: str | None) -> str | None:
    """Return the redirect target in the answer to ``url``; None if the answer has no target or a forbidden target.

    A target on the same host is allowed, for example if a proxy redirects from http to https. A target on another host
    is forbidden, and so is a redirect from https to http. So no other host gets the token, and the token is never sent
    in clear text after https.
    """
    if status not in _REDIRECTS or not location:
        return None
    here, there = urlsplit(url), _split(location, url)
    is_same_host = there.hostname == here.hostname and there.username is None
    return there.geturl() if is_same_host and there.scheme in {here.scheme, "https"} else None


def onward_with_password(status: int, url: str, location: str | None) -> str | None:
    """Return the redirect target for a request with a password; None if there is no target or a forbidden target.

    The rules are those of ``onward``. In addition, the port must stay the same, because another service may listen on
    another port. Only a redirect from http to https may change the port.
    """
    there = onward(status, url, location)
    if there is None:
        return None
    is_same_port = _port(there) == _port(url)
    return there if is_same_port or not there.startswith(f"{urlsplit(url).scheme}:") else None


def _port(url: str) -> int | None:
    parts = urlsplit(url)
    try:
        return parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None


def _bare(url: str) -> str:
    """Return ``url`` without query and fragment, which may be secret. A login in the URL stays; ``quoted`` hides it."""
    return _split(url)._replace(query="", fragment="").geturl()


def _split(location: str, base: str = "") -> SplitResult:
    """Return the parts of the URL, all empty if ``location`` is not a URL."""
    try:
        return urlsplit(urljoin(base, location))
    except ValueError:
        return urlsplit("")


def quoted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return another program's text in a form for the log: on one line, without credentials, of limited length."""
    known, read = tuple(secrets), text[:_READ_CHARACTERS]
    if len(text) > len(read):
        # ``read`` may end in the middle of a secret, and ``blotted`` can hide only a whole secret. No secret contains a
        # blank, so cut off the last word. An HTML page may write each character of a secret as six characters, so cut
        # off at most six times the length of the longest secret.
        longest = 6 * max(map(len, known), default=0)
        read = read[: max(len(read) - longest, *map(read.rfind, _BLANKS), 0)]
    plain = blotted(" ".join(read.split()), known)
    return plain if len(plain) <= QUOTED_CHARACTERS else plain[:QUOTED_CHARACTERS] + "…"
