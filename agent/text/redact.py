"""Remove credentials from text of other programs before the text gets into a message.

The agent never quotes its own requests, but proxies print a request, with headers and body, on their error pages, and
libraries quote URLs that contain a password. A known credential (the token of the request) is removed wherever it
occurs. An unknown credential is recognized by its name or its form. Pure: no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

#: ``blotted`` ignores a secret that is shorter than this, because it may be an ordinary word. For example, noauth2's
#: token is "admin".
SECRET_LENGTH = 8
_GONE = "***"

_URL_CREDENTIALS = re.compile(r"//[^/@\s]*@")
# Matches Keystone's Fernet tokens and signed tokens (JWS).
_TOKENS = re.compile(r"gAAAAA[\w-]{20,}(?:=|%3D)*|eyJ[\w-]{10,500}\.[\w-]{10,}\.[\w-]{10,}")
# Matches the HTML escapes of a quotation mark.
_QUOTE = r"&(?:quot|\#34|\#39|\#x2[27]);"
# Matches a named secret: "name: value", "name=value" or the JSON form, also inside HTML, a JSON string, or both.
# The pattern must not begin with a repetition such as \w*. With \w*, the search would begin anew at each character of a
# word, and each time run to the end of the word. For one word of a megabyte, this takes too long.
# A quoted value ends at its closing quote, or at the end of a truncated text. An unquoted value ends with the word.
_NAMED = re.compile(
    rf"""(?isx)
    ( (?: -token | authorization | cookie | passw(?:or)?d | secret )
      (?: \\*["'] | \\*{_QUOTE} )? \s* [:=] \s* )
    (?! \{{SHA256\}} [0-9a-f]{{64}} )
    (?: \\(?P<escaped_quote>["']|{_QUOTE}) (?: \\\\(?:\\.|.) | (?!\\(?P=escaped_quote)). )* (?:\\(?P=escaped_quote)|\Z)
      | (?P<html_quote>{_QUOTE}) (?: \\. | (?!(?P=html_quote)). )* (?:(?P=html_quote)|\Z)
      | " (?: [^"\\] | \\. )* (?:"|\\?\Z)
      | ' [^']* (?:'|\Z)
      | (?:(?:basic|bearer|negotiate)\s+)? [^\s"'<>,;&]+ )
    """
)


def blotted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return ``text`` with ``***`` in place of ``secrets`` and of anything that looks like a credential."""
    import html  # Import late: only errors need html, and its table of entities takes 250 kB of memory.

    for secret in secrets:
        if len(secret) >= SECRET_LENGTH:
            for form in {secret, html.escape(secret), quote(secret, safe="")}:
                text = text.replace(form, _GONE)
    text = _URL_CREDENTIALS.sub(f"//{_GONE}@", text)
    text = _TOKENS.sub(_GONE, text)
    return _NAMED.sub(rf"\1{_GONE}", text)
