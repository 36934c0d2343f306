"""Say what is wrong with an option that is to be a URL, and show one without its login.

What a newcomer would get wrong: what lacks a scheme or a host is no error of urllib's, and keystoneauth takes it for a
path at an endpoint that it looks up in the catalog: the catalog is then blamed for a typing error. A login is taken
out of such a text too, since it was meant as a URL. Pure.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from agent.text.redact import blotted

_GONE = "***@"
# To the last "@" before another URL: a password that was not quoted may hold "/" and "@".
_LOGIN = re.compile(r"(?<=//)(?:(?!//)\S)*@")
# user:password@host where the scheme or a slash was forgotten; "http:/" is no user.
_BARE_LOGIN = re.compile(r"[^\s/,]+:(?!/)(?:(?!//)\S)*@")


def url_problem(text: str) -> str:
    """Why this cannot be the URL of a server, empty where it can."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"no URL: {error}"
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        return "no URL: it begins with http:// or https:// and a host"
    return "" if host and not re.search(r"\s", text) else "no URL: it names no host"


def without_login(text: str) -> str:
    """``text`` with user and password of each URL in it, and what else looks like a credential, replaced by ``***``."""
    if "@" in text:
        text = _BARE_LOGIN.sub(_GONE, _LOGIN.sub(_GONE, text))
    return blotted(text) if "//" in text else text
