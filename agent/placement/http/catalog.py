"""Find Placement by Keystone's service catalog, and find it again when its endpoint has moved.

The catalog comes with the token and is cached as long as the token, usually hours. keystoneauth never refreshes the
catalog earlier, so if the endpoint moves, connections fail until the token expires.

If a connection to Placement fails, this adapter drops the token and its catalog, and the next request gets a new token
and catalog from Keystone. In a long outage the adapter drops them only every CATALOG_RETRY_S seconds, so that the
fleet does not flood Keystone.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from keystoneauth1 import exceptions as kx
from keystoneauth1 import loading as ks
from keystoneauth1.adapter import Adapter

if TYPE_CHECKING:
    import requests
    from keystoneauth1.access.service_catalog import ServiceCatalog

CATALOG_RETRY_S = 600.0
REGIONS_NAMED = 5


class CatalogAdapter(Adapter):
    """keystoneauth's adapter, which also drops a catalog whose endpoint does not answer. Not thread-safe."""

    def __init__(self, session: Any, **options: Any) -> None:  # noqa: ANN401 - handed on as they are
        super().__init__(session, **options)
        self._answered = False
        self._dropped_at = time.monotonic()

    def request(self, url: str, method: str, **options: Any) -> requests.Response:  # noqa: ANN401 - handed on
        """Send the request as keystoneauth does. Raises DiscoveryFailure if there is no token and therefore no catalog.

        Raises EndpointNotFound if the catalog has no suitable endpoint; the error text names the endpoints that the
        catalog has.
        """
        try:
            response: requests.Response = super().request(url, method, **options)
        except kx.EmptyCatalog as error:
            raise kx.EmptyCatalog("Keystone's catalog is empty; a usual cause is a token without a project") from error
        except kx.EndpointNotFound as error:
            catalog = self._catalog()
            if catalog is None:
                # The session raises EndpointNotFound also for a URL without a host. The agent has no token yet, so the
                # failed request was not a request to Placement. It was the token request, and its URL is wrong.
                message = f"no token from Keystone at {self._keystone()}: the URL of the token request is not valid"
                raise kx.DiscoveryFailure(message) from error
            raise kx.EndpointNotFound(self._missing(catalog)) from error
        except kx.DiscoveryFailure as error:
            raise kx.DiscoveryFailure(f"no token from Keystone at {self._keystone()}: {error}") from error
        except kx.ConnectionError:
            self._doubt()
            raise
        except OSError as error:
            # The library ``requests`` raises a bare OSError for a missing TLS file, and keystoneauth passes this error
            # on.
            raise kx.SSLError(str(error)) from error
        self._answered = True
        return response

    def _doubt(self) -> None:
        now = time.monotonic()
        if self.endpoint_override or not (self._answered or now - self._dropped_at >= CATALOG_RETRY_S):
            return
        self._answered, self._dropped_at = False, now
        self.invalidate()

    def _keystone(self) -> str | None:
        return getattr(self.auth or self.session.auth, "auth_url", None)

    def _catalog(self) -> ServiceCatalog | None:
        """Return the catalog that came with the cached token; None if no token is cached. Sends no request."""
        known = getattr(self.auth or self.session.auth, "auth_ref", None)
        return known.service_catalog if known is not None else None

    def _missing(self, catalog: ServiceCatalog) -> str:
        interfaces = [self.interface] if isinstance(self.interface, str) else list(self.interface or ["public"])
        named = f" named {self.service_name}" if self.service_name else ""
        region = f" in region {self.region_name}" if self.region_name else ""
        return (
            f"Keystone's catalog has no {' or '.join(interfaces)} endpoint of service type {self.service_type}"
            f"{named}{region}, {self._offered(catalog)}"
        )

    def _offered(self, catalog: ServiceCatalog) -> str:
        found = catalog.get_endpoint_data_list(service_type=self.service_type, interface=None)
        here = (endpoint.interface for endpoint in found if endpoint.region_name == self.region_name)
        there = sorted({interface for interface in here if interface})
        regions = sorted({endpoint.region_name for endpoint in found if endpoint.region_name})
        if there or not regions:
            return f"only {', '.join(there)} there" if there else "and the catalog has no other endpoint of that type"
        return f"only in {', '.join(regions[:REGIONS_NAMED])}{' …' if regions[REGIONS_NAMED:] else ''}"


class CatalogAdapterLoader(ks.adapter.Adapter):
    """Builds a CatalogAdapter from keystoneauth's own options."""

    plugin_class = CatalogAdapter
