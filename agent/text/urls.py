"""Check an option that must be a URL, and show a URL without its login.

urllib accepts a URL without scheme or host. keystoneauth would use such a text as a path at an endpoint of the catalog,
so its error message after a typing error would be about the catalog. ``without_login`` also removes the login from an
invalid URL, because the operator meant the text as a URL. Pure.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from agent.text.redact import blotted

_GONE = "***@"
# Matches up to the last "@" before another URL: a password that is not percent-encoded may contain "/" and "@".
_LOGIN = re.compile(r"(?<=//)(?:(?!//)\S)*@")
# user:password@host without a scheme or with a slash missing; "http:/" is not a user.
_BARE_LOGIN = re.compile(r"[^\s/,]+:(?!/)(?:(?!//)\S)*@")


def url_problem(text: str) -> str:
    """Return why the text cannot be the URL of a server, or an empty string for a valid URL."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"not a URL: {error}"
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        return "not a URL: a URL begins with http:// or https:// and a host"
    return "" if host and not re.search(r"\s", text) else "not a URL: it names no host"


def without_login(text: str) -> str:
    """Return ``text`` with ``***`` in place of the user and password of each URL, and of other credentials."""
    if "@" in text:
        text = _BARE_LOGIN.sub(_GONE, _LOGIN.sub(_GONE, text))
    return blotted(text) if "//" in text else text
