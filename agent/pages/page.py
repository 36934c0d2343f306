"""A whole page: its head and its sections, in the order in which the page shows them. Pure: no I/O."""

from __future__ import annotations

from dataclasses import dataclass

from agent.pages.blocks import Block


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the page with a heading; ``id`` is the target of the link in the list of contents."""

    id: str
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page. ``heading`` is the text of its only ``h1``. ``about`` has short facts below it: role, times, versions."""

    title: str
    heading: str
    about: tuple[str, ...]
    sections: tuple[Section, ...]
