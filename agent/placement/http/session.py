"""Correct keystoneauth's session: no deadlock, no password to an unknown redirect target, no cached invalid answer.

Deadlock: to get a token, keystoneauth first asks ``auth_url`` which versions Keystone supports. If the answer is 401
(another service's URL, a proxy that wants a password), keystoneauth 5.18.1 repeats the request with a token. To get
that token it needs another token, on the same thread and under the same lock. This session raises an error instead of
the second token request.

Redirects: the token request is a POST that contains the password, and keystoneauth sends that POST to any redirect
target. In this session the token request follows a redirect only to Keystone's own host and port, or from http to
https on that host. Any other redirect is an error. The version request may be redirected anywhere, because it contains
no password. After such a redirect, the password still goes to ``auth_url`` with the version appended (5.18.1,
discover.py).

Invalid answers: keystoneauth trusts Keystone's answers and caches them. If a document has an unexpected shape,
keystoneauth raises a KeyError or a similar error at each request until the process ends, even after Keystone has
recovered. This session raises an ordinary error for such a document, and drops the caches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from keystoneauth1 import exceptions as kx
from keystoneauth1 import loading as ks
from keystoneauth1.session import Session

from agent.placement.http import answers

if TYPE_CHECKING:
    import requests

# The largest number of redirects that one request to Keystone, or to Placement (client.py), follows.
REDIRECTS = 3
# All statuses that keystoneauth follows as redirects. 300 is not among them, because Keystone sends its root document
# with that status, and this document is no redirect.
_REDIRECTED = frozenset({301, 302, 303, 305, 307, 308})
# The exceptions that keystoneauth raises on unexpected JSON.
_NOT_UNDERSTOOD = (AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class TokenSession(Session):
    """keystoneauth's session with the corrections that the module's docstring describes. Not thread-safe."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - handed on as they are
        super().__init__(**options)
        self._asking = False

    def get_auth_headers(self, auth: Any = None, **options: Any) -> Any:  # noqa: ANN401 - keystoneauth's own
        """Return the headers with the token, as keystoneauth does.

        Raises DiscoveryFailure if the request for a token itself needs a token.
        """
        if self._asking:
            raise kx.DiscoveryFailure(
                "auth_url answers HTTP 401 to the request for Keystone's versions, although this request needs no token"
            )
        self._asking = True
        try:
            with self._understood(auth):
                return super().get_auth_headers(auth, **options)
        finally:
            self._asking = False

    def get_endpoint(self, auth: Any = None, **options: Any) -> Any:  # noqa: ANN401 - keystoneauth's own
        """Return the endpoint as keystoneauth does, from the catalog that came with the token."""
        with self._understood(auth):
            return super().get_endpoint(auth, **options)

    @contextlib.contextmanager
    def _understood(self, auth: Any) -> Iterator[None]:  # noqa: ANN401 - keystoneauth's own
        """If Keystone's answer is unusable, drop keystoneauth's caches and raise DiscoveryFailure or NotFound."""
        try:
            yield
        except (kx.DiscoveryFailure, kx.NotFound):
            # The cached version document may be wrong. If it contains a wrong URL, the token request to this URL fails
            # with NotFound. So drop the document after NotFound too.
            self._drop(auth)
            raise
        except _NOT_UNDERSTOOD as error:
            self._drop(auth)
            message = f"Keystone's answer is not understood ({type(error).__name__}: {error})"
            raise kx.DiscoveryFailure(message) from error

    def _drop(self, auth: Any) -> None:  # noqa: ANN401 - keystoneauth's own
        """Drop the token, its catalog and Keystone's versions; the next request reads all of them again."""
        plugin: Any = auth or self.auth
        plugin.invalidate()
        for kept in (self, plugin):
            # keystoneauth 5.18.1 caches Keystone's API versions in session and plugin, without a method to drop them.
            getattr(kept, "_discovery_cache", {}).clear()
        if hasattr(plugin, "_plugin"):
            plugin._plugin = None  # keystoneauth chose it by the cached API versions

    def request(self, url: str, method: str, *more: Any, **options: Any) -> requests.Response:  # noqa: ANN401 - its own
        """Send the request as keystoneauth does. Raises TokenMoved for a redirect that must not be followed.

        With ``redirect=False`` the caller handles redirects itself.
        """
        if options.get("redirect") is False:
            return super().request(url, method, *more, **options)
        if method == "GET" and options.get("authenticated") is False:
            return super().request(url, method, *more, **options | {"redirect": REDIRECTS})
        options["redirect"] = False
        for _ in range(REDIRECTS + 1):
            response: requests.Response = super().request(url, method, *more, **options)
            location = response.headers.get("Location", "")
            if response.status_code not in _REDIRECTED:
                return response
            onward = answers.onward_with_password(response.status_code, response.url, location)
            if onward is None:
                raise answers.TokenMoved(response.url, location)
            url = onward
        raise answers.TokenMoved(response.url, location, asked=REDIRECTS + 1)


class TokenSessionLoader(ks.session.Session):
    """Builds a TokenSession from keystoneauth's own options."""

    plugin_class = TokenSession
