"""Documents damaged in ways that a parser must survive: stretches of text swapped, elements and attributes moved."""

from __future__ import annotations

import copy
import random
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable

from hypothesis import strategies as st

from agent.errors import SourceInconsistent

_TEXTS = ("", "0", "-1", "x", "0x10", "９", "9" * 30, "yes", "\n", "0-999999", "4294967296", "computer")


def damaged(texts: Iterable[str]) -> st.SearchStrategy[str]:
    """Return one of the texts, damaged as text or as XML."""
    return st.sampled_from(list(texts)).flatmap(lambda text: pieces(text) | restructured(text))


def pieces(text: str) -> st.SearchStrategy[str]:
    """Return the text with one stretch replaced by another stretch or by arbitrary text."""
    spans = st.tuples(st.integers(0, len(text)), st.integers(0, 40))
    filling = st.one_of(
        st.text(st.characters(exclude_categories=()), max_size=12),
        spans.map(lambda span: text[span[0] : span[0] + span[1]]),
        st.sampled_from(["<", "'", "&amp;", "&x;", "<!--", "]]>", "<!DOCTYPE a>", "\x00", "９", "9" * 30]),
    )
    return st.builds(lambda span, new: text[: span[0]] + new + text[span[0] + span[1] :], spans, filling)


def restructured(text: str) -> st.SearchStrategy[str]:
    """Return well-formed XML with one to four elements, attributes or texts deleted, doubled, renamed or swapped."""
    steps = st.lists(st.sampled_from(_STEPS), min_size=1, max_size=4)
    return st.builds(_restructure, st.just(text), steps, st.randoms(use_true_random=False))


def refusal(parse: Callable[..., object], *arguments: object) -> str | None:
    """Return the parser's reason for a refusal, None if it returned a result; other errors fail the test."""
    try:
        parse(*arguments)
    except SourceInconsistent as error:
        return error.message
    return None


def _restructure(text: str, steps: list[Callable[[ET.Element, random.Random], None]], chance: random.Random) -> str:
    root = ET.fromstring(text)
    for step in steps:
        step(root, chance)
    return ET.tostring(root, encoding="unicode")


def _any(root: ET.Element, chance: random.Random) -> ET.Element:
    return chance.choice(list(root.iter()))


def _delete_element(root: ET.Element, chance: random.Random) -> None:
    parents = [element for element in root.iter() if len(element)]
    if parents:
        parent = chance.choice(parents)
        parent.remove(chance.choice(list(parent)))


def _double_element(root: ET.Element, chance: random.Random) -> None:
    parents = [element for element in root.iter() if len(element)]
    if parents:
        parent = chance.choice(parents)
        parent.append(copy.deepcopy(chance.choice(list(parent))))


def _rename_element(root: ET.Element, chance: random.Random) -> None:
    _any(root, chance).tag = _any(root, chance).tag


def _move_element(root: ET.Element, chance: random.Random) -> None:
    _any(root, chance).append(copy.deepcopy(_any(root, chance)))


def _change_text(root: ET.Element, chance: random.Random) -> None:
    _any(root, chance).text = chance.choice([*_TEXTS, _any(root, chance).text])


def _change_attribute(root: ET.Element, chance: random.Random) -> None:
    with_attributes = [element for element in root.iter() if element.attrib]
    if with_attributes:
        element = chance.choice(with_attributes)
        element.set(chance.choice(sorted(element.attrib)), chance.choice(_TEXTS))


def _delete_attribute(root: ET.Element, chance: random.Random) -> None:
    with_attributes = [element for element in root.iter() if element.attrib]
    if with_attributes:
        element = chance.choice(with_attributes)
        del element.attrib[chance.choice(sorted(element.attrib))]


_STEPS = (
    _delete_element,
    _double_element,
    _rename_element,
    _move_element,
    _change_text,
    _change_attribute,
    _delete_attribute,
)
