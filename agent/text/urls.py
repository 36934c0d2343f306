"""Check an option that must be a URL, and show a URL without its login.

urllib accepts a URL without scheme or host. keystoneauth would treat such a text as a path below an endpoint of the
service catalog. So after an operator's typing error, keystoneauth's error message would be about the catalog.
``without_login`` also removes the login from an invalid URL, because the operator meant the text as a URL.
Pure: no I/O.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from agent.text.redact import blotted

_GONE = "***@"
# Matches a URL's login: from "//" to the last "@" before the next "//", because a password may contain "/" and "@".
_LOGIN = re.compile(r"(?<=//)(?:(?!//)\S)*@")
# Matches user:password@ without "//" before it. In "http:/user:password@host", "(?!/)" keeps "http" from being taken as
# the user.
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


def origin(text: str) -> str:
    """Return scheme, host and port of a URL, without login and path. If the text is no URL, only remove the login."""
    if url_problem(text):
        return without_login(text)
    parts = urlsplit(text)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def bare(url: str) -> str:
    """Return the URL with its user and password removed, so that a command can contain the URL."""
    return _LOGIN.sub("", url)


def without_login(text: str) -> str:
    """Return ``text`` with ``***`` in place of each URL's user and password, and in place of other credentials."""
    if "@" in text:
        text = _BARE_LOGIN.sub(_GONE, _LOGIN.sub(_GONE, text))
    return blotted(text) if "//" in text else text
