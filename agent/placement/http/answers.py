"""Decide which error an answer, or its absence, is: the one table from HTTP to agent/errors.py.

A 409 is not one thing: its code (1.23 and later) says whether to read again or to
tell a human, but for an allocation that finds no room, which has no code of its own.
Below 400 is not success by itself: a proxy's HTML page with 200 is no answer of
Placement's, and neither is a 404 without Placement's error document: taken for one,
a proxy without a route would say that our providers are gone.
No credential gets into a message (blot.py).
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
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
from agent.placement import wire
from agent.placement.http import error_hints
from agent.placement.http.bounds import TOKEN
from agent.placement.http.transport import TooLarge
from agent.text.redact import blotted

if TYPE_CHECKING:
    import requests

QUOTED_CHARACTERS = 300
# So much of a foreign text is looked at for them: a page may be large.
_READ_CHARACTERS = 20 * QUOTED_CHARACTERS
_BLANKS = " \t\r\n"
_CREDENTIAL_HEADERS = ("X-Auth-Token", "Authorization")
_REDIRECTS = frozenset({301, 302, 307, 308})
# JSON writes what is beyond 16 bits in two halves, and may name one alone: that is no text to log or to ask with.
_HALF_A_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile(r"[\ud800-\udfff]")
_PORTS = {"http": 80, "https": 443}
# What Placement says of a provider, and a proxy of a page: whose it is, its form says.
_NOT_THERE = frozenset({404, 405, 410})

# urllib3 names host and URL again before it comes to the reason, which then was what the cut above took away.
_AGAIN = re.compile(r"HTTPS?Connection(Pool)?\([^)]*\): (Max retries exceeded with url: \S+ )?")

CONFLICTS: dict[str, type[PlacementError]] = {
    "placement.concurrent_update": GenerationConflict,
    "placement.inventory.inuse": InventoryInUse,
    "placement.duplicate_name": DuplicateName,
    "placement.resource_provider.inuse": ProviderInUse,
    "placement.resource_provider.cannot_delete_parent": ProviderInUse,
}

# What Placement calls an error that has no code of its own; of PUT /allocations and POST /reshaper that is a lack of
# room alone (16.0.0, handlers/allocation.py, reshaper.py): whatever raced there is a concurrent_update.
_NO_CODE = "placement.undefined_code"
_ALLOCATES = re.compile(r"PUT \S*/allocations/[^/\s]+|POST \S*/reshaper")

# One code for both generations: only the words say that it is the consumer's (16.0.0, handlers/util.py).
_OF_A_CONSUMER = "consumer generation conflict"

# Credentials that are missing, malformed or refused; all of it is for a human, and none of it is cured by haste.
_DENIED = (kx.AuthPluginException, kx.AuthorizationFailure, kx.MissingAuthMethods)


class TokenMoved(kx.ClientException):
    """Keystone's answer sends us on to where its password does not go, or again after so many times ``asked``."""

    def __init__(self, url: str, location: str, asked: int = 1) -> None:
        after = f" still, after {asked} requests" if asked > 1 else ""
        super().__init__(f"no token from Keystone: {_bare(url)} leads to {_bare(location) or 'nowhere'}{after}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer as it came. ``request`` is the method and URL that it answers.

    ``sent_bytes`` is how large the request's body was, ``location`` where a redirect leads, ``secrets`` are the
    credentials that the request carried: not to be quoted.
    """

    request: str
    status: int
    text: str
    request_id: str | None
    sent_bytes: int = 0
    location: str = ""
    secrets: tuple[str, ...] = ()

    def body(self) -> object:
        """The JSON document, None where the answer has no body. Raises PlacementUnavailable when it is not JSON."""
        if not self.text:
            return None
        with contextlib.suppress(ValueError, RecursionError):
            found: object = json.loads(self.text)
            if not _HALF_A_CHARACTER.search(self.text) or _is_text(found):
                return found
        # Not from json's error, which keeps the whole text for as long as it is kept itself.
        raise PlacementUnavailable(
            f"{self.request}: the answer is not JSON but begins with {quoted(self.text, self.secrets)[:60]!r}",
            status=self.status,
            request_id=self.request_id,
        )


def _is_text(found: object) -> bool:
    """Whether every string in it can be written as UTF-8; not by writing all of it, which takes as much again."""
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
    """The error that an answer of status 300 or above is."""
    said = _said(reply)
    kind = _kind(reply, said.code)
    if kind is PlacementRejected and reply.status in _NOT_THERE and not (said.code or said.detail):
        kind = PlacementUnavailable
    if kind is GenerationConflict and _OF_A_CONSUMER in said.detail:
        kind = ConsumerConflict
    detail = quoted(said.detail or reply.text, reply.secrets) or "no reason given"
    detail = error_hints.with_hint(
        detail, error_hints.placement_hint(reply.status, reply.request) or _way_hint(reply, kind)
    )
    return kind(f"{reply.request}: {detail}", status=reply.status, request_id=reply.request_id)


def _said(reply: Reply) -> wire.Refusal:
    try:
        return wire.parse_refusal(reply.body())
    except PlacementUnavailable:
        return wire.Refusal(code="", detail="")


def _way_hint(reply: Reply, kind: type[PlacementError]) -> str:
    """What to do about an answer that is not Placement's but of something on the way to it; empty for the others."""
    if reply.status in _NOT_THERE and kind is PlacementUnavailable:
        return f"not Placement's own answer: {error_hints.PATH}"
    if reply.status == 413:
        return f"what stands before Placement must take bodies of {reply.sent_bytes} bytes and more"
    if 300 <= reply.status < 400:
        to = quoted(_bare(reply.location)) or "nowhere"
        return f"it leads to {to}: put Placement's own URL into [placement] endpoint_override or the catalog"
    return ""


def _kind(reply: Reply, code: str) -> type[PlacementError]:
    if reply.status in {401, 403}:
        return PlacementDenied
    if reply.status == 409:
        if code == _NO_CODE and _ALLOCATES.fullmatch(reply.request):
            return AllocationRefused
        # Without a code of its own: what refuses a DELETE is use; any other 409 is a race that was lost.
        other = ProviderInUse if reply.request.startswith("DELETE ") else GenerationConflict
        return CONFLICTS.get(code, other)
    # 3xx: the client follows redirects; one that it does not follow is no answer.
    if reply.status == 429 or reply.status >= 500 or reply.status < 400:
        return PlacementUnavailable
    return PlacementRejected


def failure(request: str, error: kx.ClientException) -> PlacementError:
    """The error that keystoneauth's exception is: no answer of Placement's came, or no token to ask with."""
    whole = str(error)
    hint = _option_hint(error) or error_hints.tls_hint(whole)
    said = error_hints.with_hint(f"{request}: {quoted(_AGAIN.sub('', whole))}", hint)
    if isinstance(error, kx.HttpError):
        return _keystone(request, error)
    if isinstance(error, _DENIED):
        return PlacementDenied(said)
    large = getattr(error, "original", None)
    # A token that is too large says nothing of the answer that it was wanted for.
    if isinstance(large, TooLarge) and large.bound is not TOKEN:
        return AnswerTooLarge(said)
    return PlacementUnavailable(said)


def _option_hint(error: kx.ClientException) -> str:
    if isinstance(error, TokenMoved):
        return error_hints.AUTH_URL
    return error_hints.ENDPOINT if isinstance(error, kx.EndpointNotFound) else ""


def _keystone(request: str, error: kx.HttpError) -> PlacementError:
    """Placement's own statuses are answers, so an HttpError is what Keystone said when asked for a token."""
    status = int(error.http_status)
    kind = PlacementUnavailable if status == 429 or status >= 500 else PlacementDenied
    where = f" at {quoted(error.url)}" if error.url else ""
    # keystoneauth puts status and request id into the message; ours carries both by itself.
    plain = re.sub(r"( \(HTTP \d+\))?( \(Request-ID: [^)]*\))?$", "", str(error.message))
    said = error_hints.with_hint(
        f"{request}: no token from Keystone{where}: {quoted(plain)}", error_hints.keystone_hint(status)
    )
    return kind(said, status=status, request_id=error.request_id)


def reply_of(method: str, response: requests.Response) -> Reply:
    """What came, of the whole URL: of a wrong endpoint the path alone says nothing."""
    sent = response.request
    return Reply(
        request=f"{method} {quoted(response.url)}",
        status=response.status_code,
        # JSON is UTF-8 (RFC 8259); a charset that the header makes up would only add ways to fail.
        text=response.content.decode("utf-8", "replace"),
        request_id=response.headers.get("x-openstack-request-id"),
        sent_bytes=len(sent.body or b""),
        location=response.headers.get("Location", ""),
        secrets=tuple(sent.headers[name] for name in _CREDENTIAL_HEADERS if name in sent.headers),
    )


def onward(status: int, url: str, location: str | None) -> str | None:
    """Where the answer to ``url`` sends us on to; None where it does not, or where we do not follow.

    Followed is a redirect to the same host, as proxies have it from http to https, and never one back: our token
    goes to nobody else, and not in the clear.
    """
    if status not in _REDIRECTS or not location:
        return None
    here, there = urlsplit(url), _split(location, url)
    is_ours = there.hostname == here.hostname and there.username is None
    return there.geturl() if is_ours and there.scheme in {here.scheme, "https"} else None


def onward_with_password(status: int, url: str, location: str | None) -> str | None:
    """As ``onward``, and never to another port, but from http to https, which has one of its own."""
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
    """``url`` without what may be secret in it, empty where it is none; ``quoted`` takes user and password out."""
    return _split(url)._replace(query="", fragment="").geturl()


def _split(location: str, base: str = "") -> SplitResult:
    """Its parts, empty ones where it is no URL."""
    try:
        return urlsplit(urljoin(base, location))
    except ValueError:
        return urlsplit("")


def quoted(text: str, secrets: Iterable[str] = ()) -> str:
    """Foreign text made fit for one line of log: one line, no credentials, not endless."""
    known, read = tuple(secrets), text[:_READ_CHARACTERS]
    if len(text) > len(read):
        # The cut may go through a secret, which is not known by half: no blank is in it, six letters of a page for one.
        longest = 6 * max(map(len, known), default=0)
        read = read[: max(len(read) - longest, *map(read.rfind, _BLANKS), 0)]
    plain = blotted(" ".join(read.split()), known)
    return plain if len(plain) <= QUOTED_CHARACTERS else plain[:QUOTED_CHARACTERS] + "…"
