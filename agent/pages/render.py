r"""Fill in the template of a page. This is the only module that imports Jinja2.

Jinja2 escapes each text, and raises an error if a template uses an undefined name. Control characters, marks that
change the direction of text, and lone surrogates are shown as ``\uXXXX``: a tenant chooses the names of instances.
"""

from __future__ import annotations

import base64
import functools
import hashlib

import jinja2

from agent.pages.page import Page
from agent.text.wording import printable

_STYLE, _SCRIPT = "style.css", "page.js"


def rendered(page: Page) -> str:
    """Return the page's HTML, which needs no other file."""
    environment = _environment()
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(environment, _STYLE)}'",
            f"script-src '{_hash(environment, _SCRIPT)}'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return environment.get_template("page.html").render(page=page, policy=policy)


def style() -> str:
    """Return the text of the style sheet, which every page contains."""
    return _source(_environment(), _STYLE)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("agent.pages", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_visible,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # The JSON data for the search are the largest part of the fleet page, so write them without spaces between values.
    environment.policies["json.dumps_kwargs"] = {"sort_keys": True, "separators": (",", ":")}
    return environment


def _visible(value: object) -> object:
    """Return a text with its control characters escaped; text that a template itself produced stays unchanged."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _source(environment: jinja2.Environment, name: str) -> str:
    assert environment.loader is not None
    return environment.loader.get_source(environment, name)[0]


def _hash(environment: jinja2.Environment, name: str) -> str:
    digest = hashlib.sha256(_source(environment, name).encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
