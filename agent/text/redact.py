"""Take credentials out of foreign text before it gets into a message.

What a newcomer would get wrong: it is not enough never to quote what we sent. Proxies
print the request on their error pages, headers and body and all, and libraries name
URLs with the password in them. What is known (the token of this very request) goes
wherever it stands; what only looks like a credential goes by its name or its form.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import quote

#: Shorter ones are no secrets (noauth2's token is "admin"), and would take ordinary words away.
SECRET_LENGTH = 8
_GONE = "***"

_URL_CREDENTIALS = re.compile(r"//[^/@\s]*@")
# Keystone's Fernet tokens, and those that are signed (JWS).
_TOKENS = re.compile(r"gAAAAA[\w-]{20,}(?:=|%3D)*|eyJ[\w-]{10,500}\.[\w-]{10,}\.[\w-]{10,}")
# A quote as a page has it.
_QUOTE = r"&(?:quot|\#34|\#39|\#x2[27]);"
# No pattern begins with a repetition: a page may be one word of a megabyte, and each of its letters a beginning.
# "name: value", "name=value" and JSON's form of it, also as a page, JSON in JSON, or both at once has that; a value in
# quotes ends with them, or with the text, which may be cut; another one ends with the word.
_NAMED = re.compile(
    rf"""(?isx)
    ( (?: -token | authorization | cookie | passw(?:or)?d | secret )
      (?: \\*["'] | \\*{_QUOTE} )? \s* [:=] \s* )
    (?: \\(?P<deep>["']|{_QUOTE}) (?: \\\\(?:\\.|.) | (?!\\(?P=deep)). )* (?:\\(?P=deep)|\Z)
      | (?P<page>{_QUOTE}) (?: \\. | (?!(?P=page)). )* (?:(?P=page)|\Z)
      | " (?: [^"\\] | \\. )* (?:"|\\?\Z)
      | ' [^']* (?:'|\Z)
      | (?:(?:basic|bearer|negotiate)\s+)? [^\s"'<>,;&]+ )
    """
)


def blotted(text: str, secrets: Iterable[str] = ()) -> str:
    """``text`` with each credential in it replaced by ``***``: ``secrets`` and what looks like one."""
    import html  # its table of entities is a quarter of a megabyte, for errors alone

    for secret in secrets:
        if len(secret) >= SECRET_LENGTH:
            for form in {secret, html.escape(secret), quote(secret, safe="")}:
                text = text.replace(form, _GONE)
    text = _URL_CREDENTIALS.sub(f"//{_GONE}@", text)
    text = _TOKENS.sub(_GONE, text)
    return _NAMED.sub(rf"\1{_GONE}", text)
