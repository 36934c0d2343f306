"""Decide which error an answer, or its absence, is: the one table from HTTP to agent/errors.py.

A 409 is not one thing: its code (1.23 and later) says whether to read again or to
tell a human, but for an allocation that finds no room, which has no code of its own.
Below 400 is not success by itself: a proxy's HTML page with 200 is no answer of
Placement's. Nothing here quotes a header that we sent, so no token gets into a
message, and user names and passwords in URLs are blotted out.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from keystoneauth1 import exceptions as kx

from agent.errors import (
    AllocationRefused,
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

QUOTED_CHARACTERS = 300

# urllib3 names host and URL again before it comes to the reason, which then was what the cut above took away.
_AGAIN = re.compile(r"HTTPS?ConnectionPool\([^)]*\): Max retries exceeded with url: \S+ ")

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

# Credentials that are missing, malformed or refused; all of it is for a human, and none of it is cured by haste.
_DENIED = (kx.AuthPluginException, kx.AuthorizationFailure, kx.MissingAuthMethods)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An answer as it came. ``request`` is the method and path that it answers."""

    request: str
    status: int
    text: str
    request_id: str | None

    def body(self) -> object:
        """The JSON document, None where the answer has no body. Raises PlacementUnavailable when it is not JSON."""
        if not self.text:
            return None
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError) as error:
            raise PlacementUnavailable(
                f"{self.request}: the answer is not JSON but begins with {quoted(self.text)[:60]!r}",
                status=self.status,
                request_id=self.request_id,
            ) from error


def refusal(reply: Reply) -> PlacementError:
    """The error that an answer of status 300 or above is."""
    try:
        said = wire.parse_refusal(reply.body())
    except PlacementUnavailable:
        said = wire.Refusal(code="", detail=quoted(reply.text))
    kind = _kind(reply, said.code)
    detail = quoted(said.detail) or "no reason given"
    return kind(f"{reply.request}: {detail}", status=reply.status, request_id=reply.request_id)


def _kind(reply: Reply, code: str) -> type[PlacementError]:
    if reply.status in {401, 403}:
        return PlacementDenied
    if reply.status == 409:
        if code == _NO_CODE and _ALLOCATES.fullmatch(reply.request):
            return AllocationRefused
        # Without a code of its own: what refuses a DELETE is use; any other 409 is a race that was lost.
        other = ProviderInUse if reply.request.startswith("DELETE ") else GenerationConflict
        return CONFLICTS.get(code, other)
    # 3xx: keystoneauth follows redirects; one that it could not follow is no answer.
    if reply.status == 429 or reply.status >= 500 or reply.status < 400:
        return PlacementUnavailable
    return PlacementRejected


def failure(request: str, error: kx.ClientException) -> PlacementError:
    """The error that keystoneauth's exception is: no answer of Placement's came, or no token to ask with."""
    said = f"{request}: {quoted(_AGAIN.sub('', str(error)))}"
    if isinstance(error, kx.HttpError):
        return _keystone(request, error)
    if isinstance(error, _DENIED):
        return PlacementDenied(said)
    if isinstance(error, kx.EndpointNotFound):
        return PlacementUnavailable(
            f"{request}: no endpoint in the service catalog: set [placement] endpoint_override, "
            f"or check region_name, service_type and valid_interfaces"
        )
    return PlacementUnavailable(said)


def _keystone(request: str, error: kx.HttpError) -> PlacementError:
    """Placement's own statuses are answers, so an HttpError is what Keystone said when asked for a token."""
    status = int(error.http_status)
    kind = PlacementUnavailable if status == 429 or status >= 500 else PlacementDenied
    where = f" at {quoted(error.url)}" if error.url else ""
    # keystoneauth puts status and request id into the message; ours carries both by itself.
    plain = re.sub(r"( \(HTTP \d+\))?( \(Request-ID: [^)]*\))?$", "", str(error.message))
    said = f"{request}: no token from Keystone{where}: {quoted(plain)}"
    return kind(said, status=status, request_id=error.request_id)


def quoted(text: str) -> str:
    """Foreign text made fit for one line of log: one line, no credentials of a URL, not endless."""
    plain = re.sub(r"//[^/@\s]*@", "//***@", " ".join(text.split()))
    return plain if len(plain) <= QUOTED_CHARACTERS else plain[:QUOTED_CHARACTERS] + "…"
