"""keystoneauth's session without the way in which it waits for itself for ever, and without its trust in redirects.

To get a token it first asks ``auth_url`` which versions Keystone speaks. Where that
is answered by 401 (another service's URL, a proxy that wants a password),
keystoneauth 5.18.1 asks again with a token, for which it must get a token: by the
same thread, under the same lock. Here the second question is an error.

A token is asked for by a POST with the password in it, and keystoneauth sends that
again to wherever it is redirected. Here it goes on at Keystone's own host and port
alone, or from http to https there, and what is redirected elsewhere is an error.
The question for the versions carries no secret and may be answered anywhere: the
password goes to ``auth_url``, with the version at its end (5.18.1, discover.py).

And what Keystone says, keystoneauth takes on trust and keeps: of a document of another
shape it dies by a KeyError, or whatever comes first, and dies of it again until the
process ends, also when Keystone is well. Here that is an error like any other, and what
was kept is dropped.
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

# A redirect is followed so often, Placement's too (client.py), and on the same host: secrets go where we send them.
REDIRECTS = 3
# All that keystoneauth would follow; 300 is no such, but how Keystone's root answers.
_REDIRECTED = frozenset({301, 302, 303, 305, 307, 308})
# What keystoneauth raises of JSON that it did not expect.
_NOT_UNDERSTOOD = (AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class TokenSession(Session):
    """keystoneauth's session, for one thread."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 - handed on as they are
        super().__init__(**options)
        self._asking = False

    def get_auth_headers(self, auth: Any = None, **options: Any) -> Any:  # noqa: ANN401 - keystoneauth's own
        """As keystoneauth's. Raises DiscoveryFailure where a token is needed to get a token."""
        if self._asking:
            raise kx.DiscoveryFailure("auth_url asks for a token (HTTP 401) where Keystone tells its versions to all")
        self._asking = True
        try:
            with self._understood(auth):
                return super().get_auth_headers(auth, **options)
        finally:
            self._asking = False

    def get_endpoint(self, auth: Any = None, **options: Any) -> Any:  # noqa: ANN401 - keystoneauth's own
        """As keystoneauth's, of the catalog that came with the token."""
        with self._understood(auth):
            return super().get_endpoint(auth, **options)

    @contextlib.contextmanager
    def _understood(self, auth: Any) -> Iterator[None]:  # noqa: ANN401 - keystoneauth's own
        """Nothing of what Keystone says in the block is kept where it is of no use. Raises DiscoveryFailure."""
        try:
            yield
        except (kx.DiscoveryFailure, kx.NotFound):
            # Not found is a token's URL, too, that a wrong version document named.
            self._drop(auth)
            raise
        except _NOT_UNDERSTOOD as error:
            self._drop(auth)
            said = f"its answer is not understood ({type(error).__name__}: {error})"
            raise kx.DiscoveryFailure(said) from error

    def _drop(self, auth: Any) -> None:  # noqa: ANN401 - keystoneauth's own
        """The token with its catalog, and which versions Keystone speaks; the next request asks for both."""
        plugin: Any = auth or self.auth
        plugin.invalidate()
        for kept in (self, plugin):
            # Each keeps the versions too (5.18.1, discover.py), and has no other way to be told.
            getattr(kept, "_discovery_cache", {}).clear()
        if hasattr(plugin, "_plugin"):
            plugin._plugin = None  # of one version and one URL, by what the document said

    def request(self, url: str, method: str, *more: Any, **options: Any) -> requests.Response:  # noqa: ANN401 - its own
        """As keystoneauth's. Raises TokenMoved for a redirect that is not followed, unless the caller minds them."""
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
    """Makes a TokenSession of keystoneauth's own options."""

    @property
    def plugin_class(self) -> type[TokenSession]:
        """What to make."""
        return TokenSession
