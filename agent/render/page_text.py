"""Turn a Markdown page into text for a terminal: paragraphs are wrapped, code blocks and tables stay as they are.

Pure: no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent.render.layout import Block, Line, Span

_FENCE = "```"
# Matches the marker at the beginning of a list item: "- " or "12. ".
_ITEM = re.compile(r"\s*(?:[-*]|\d+\.) ")
# Matches a line that does not continue a paragraph: a heading, a table row, a list item.
_OWN_LINE = re.compile(r"#|\||\s*(?:[-*]|\d+\.) ")


def page_blocks(page: str) -> Iterator[Block]:
    """Yield the lines of the page. Each paragraph and each list item becomes one line, which draw.py wraps."""
    paragraph: list[str] = []
    in_code = False
    for text in page.splitlines():
        is_fence = text.lstrip().startswith(_FENCE)
        if in_code or is_fence or not text.strip() or _OWN_LINE.match(text):
            yield from _joined(paragraph)
            paragraph = []
        if is_fence:
            in_code = not in_code
        elif in_code or text.startswith(("#", "|")) or not text.strip():
            yield Line((Span(f"  {text}" if in_code else text),), whole=True)
        else:
            paragraph.append(text)
    yield from _joined(paragraph)


def _joined(paragraph: list[str]) -> Iterator[Line]:
    if paragraph:
        marker = _ITEM.match(paragraph[0])
        text = " ".join([paragraph[0].rstrip(), *(text.strip() for text in paragraph[1:])])
        yield Line((Span(text),), len(marker[0]) if marker else 0)
