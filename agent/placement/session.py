"""keystoneauth's session without the way in which it waits for itself for ever.

To get a token it first asks ``auth_url`` which versions Keystone speaks. Where that
is answered by 401 (another service's URL, a proxy that wants a password),
keystoneauth 5.18.1 asks again with a token, for which it must get a token: by the
same thread, under the same lock. Here the second question is an error.
"""

from __future__ import annotations

from typing import Any

from keystoneauth1 import exceptions as kx
from keystoneauth1 import loading as ks
from keystoneauth1.session import Session


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
            return super().get_auth_headers(auth, **options)
        finally:
            self._asking = False


class TokenSessionLoader(ks.session.Session):
    """Makes a TokenSession of keystoneauth's own options."""

    @property
    def plugin_class(self) -> type[TokenSession]:
        """What to make."""
        return TokenSession
