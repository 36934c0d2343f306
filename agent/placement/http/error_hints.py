"""Name the option that the operator should check after an error of Keystone, TLS or Placement's policy.

The libraries say what happened, but never which option is the cause. The TLS hints match the error texts of OpenSSL 3.0
as Python 3.11 quotes them. keystoneauth's error texts contain these texts. A hint contains no text of the error.

Pure: no I/O.
"""

from __future__ import annotations

import re
from typing import Final

_CLIENT_CERTIFICATE = "the server asks for a client certificate: set [placement] certfile and keyfile"
_OTHER_NAME = (
    "the certificate is for another host name than the URL's: use the certificate's name in [placement] auth_url "
    "or endpoint_override, or in the catalog"
)
_NOT_TRUSTED = "this host does not trust the CA that signed the certificate: set [placement] cafile to the CA's file"

# The first matching entry counts.
_TLS: Final = (
    ("certificate has expired", "the server's certificate has expired, or this host's clock is ahead"),
    ("certificate is not yet valid", "the server's certificate is not valid yet, or this host's clock is behind"),
    ("Hostname mismatch", _OTHER_NAME),
    ("IP address mismatch", _OTHER_NAME),
    ("doesn't match", _OTHER_NAME),
    ("CERTIFICATE_VERIFY_FAILED", _NOT_TRUSTED),
    ("CERTIFICATE_REQUIRED", _CLIENT_CERTIFICATE),
    ("HANDSHAKE_FAILURE", _CLIENT_CERTIFICATE),
    ("ALERT_UNKNOWN_CA", "the server does not trust this host's client certificate: check [placement] certfile"),
    # In TLS 1.3 the server checks the client certificate after the client's handshake is complete. If the client sent
    # no certificate, the server closes the connection. A client that is still writing then sees this error.
    ("EOF occurred in violation of protocol", f"the connection was broken off; perhaps {_CLIENT_CERTIFICATE}"),
    ("WRONG_VERSION_NUMBER", "the server does not speak TLS: check whether the URL must begin with http://"),
    ("RECORD_LAYER_FAILURE", "the server does not speak TLS: check whether the URL must begin with http://"),
)

_CREDENTIALS = (
    "check the credentials and the project in [placement]; `stocktake config show` names the file of each option"
)

_KEYSTONE: Final = {
    400: _CREDENTIALS,
    401: _CREDENTIALS,
    403: _CREDENTIALS,
    404: "check that [placement] auth_url is Keystone's URL with its version (…/v3), and that the application "
    "credential still exists",
}

_PLACEMENT: Final = {
    401: "Placement accepts neither this token nor a new one. Possible causes: Placement uses another Keystone; the "
    "user was changed a moment ago; no access rule of [placement]'s application credential allows this request",
    403: "Placement's policy asks for a role that the user of [placement] does not have on its project; by default, "
    "the policy asks for admin or service",
}
# Matches a reshape request. Placement's default policy (policies/reshaper.py, 16.0.0) lets only the role service
# reshape. For every other request of the agent, the role admin is enough.
_RESHAPE: Final = re.compile(r"POST \S*/reshaper")
_NO_RESHAPER = (
    'the user of [placement] needs the role "service" on its project: without it, Placement rejects the reshape '
    '("admin" is not enough, unless Placement\'s policy was changed)'
)

AUTH_URL = "put Keystone's own URL into [placement] auth_url, or into the option that contains the first URL"
PATH = "check the path of [placement] endpoint_override or of the catalog's URL"
ENDPOINT = (
    "check [placement] project_name, region_name, valid_interfaces and service_type, or set endpoint_override, "
    "which replaces the catalog"
)


def with_hint(text: str, hint: str) -> str:
    """Return ``text``, a colon and ``hint``; only ``text`` if ``hint`` is empty."""
    return f"{text.rstrip('.')}: {hint}" if hint else text


def tls_hint(text: str) -> str:
    """Return the hint for a TLS error in ``text``, a library's whole error text; empty for any other error."""
    return next((hint for fragment, hint in _TLS if fragment in text), "")


def keystone_hint(status: int) -> str:
    """Return the hint for a token request that Keystone answered with ``status``; empty if Keystone itself failed."""
    return _KEYSTONE.get(status, "")


def placement_hint(status: int, request: str) -> str:
    """Return the hint for Placement's 401 or 403 to this ``request`` (method and URL); empty for other statuses."""
    if status == 403 and _RESHAPE.fullmatch(request):
        return _NO_RESHAPER
    return _PLACEMENT.get(status, "")
