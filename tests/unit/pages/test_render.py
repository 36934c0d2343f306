"""A rendered page: the policy in its head, no attribute that could run code, and no name that becomes a tag."""

import base64
import hashlib
import html.parser
import re

import pytest

from agent.pages.blocks import (
    Cell,
    Column,
    Command,
    Figure,
    Figures,
    FindingBlock,
    Meaning,
    Note,
    Paragraph,
    Picture,
    Sentences,
    Table,
)
from agent.pages.page import Page, Section
from agent.pages.render import rendered
from agent.pages.shapes import Box, label, rectangle

HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}{% raw %}",
    "</script></style></title>",
    "javascript:alert(1)",
    "' onload='alert(1)",
)


class Elements(html.parser.HTMLParser):
    """Collects the elements of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def table(text: str, name: str = "a-table") -> Table:
    return Table(
        id=name,
        caption=text,
        columns=(Column(heading=text), Column(heading="VCPU", is_number=True)),
        rows=((Cell(text=text, meaning=Meaning.WRONG), Cell(text="8", href="#main", place=f"here-{name}")),),
        search=text,
        foot=text,
    )


def page(text: str) -> Page:
    """Return a page with one block of each kind, in which each text is ``text``."""
    finding = FindingBlock(
        id="f-1",
        severity="error",
        meaning=Meaning.WRONG,
        code=text,
        who=text,
        state=text,
        short_id=text,
        actual=text,
        impact=text,
        members=(text,),
        commands=(Command(label=text, words=text, line=text),),
        also=text,
    )
    picture = Picture(
        id="p-1",
        title=text,
        conclusion=text,
        height=40,
        shapes=(label(text, 0, 20), rectangle(Meaning.FOREIGN, Box(0, 0, 10, 10), text)),
        table=table(text, "t-p-1-numbers"),
        legend=((Meaning.FOREIGN, text),),
    )
    blocks = (
        Paragraph(text=text),
        Note(text=text, meaning=Meaning.UNREAD),
        Sentences(texts=(text,)),
        Figures(figures=(Figure(name=text, amounts=(text,), meaning=Meaning.WRONG, text=text),)),
        table(text),
        finding,
        picture,
    )
    section = Section(id="a-section", heading=text, blocks=blocks)
    return Page(title=text, heading=text, about=(text,), sections=(section,))


def test_a_page_allows_only_its_own_style_and_script():
    """The page's Content-Security-Policy contains the hashes of its own style and script, and blocks all others."""
    text = rendered(page("web-1"))
    policy = next(each["content"] for tag, each in Elements(text).found if tag == "meta" and "http-equiv" in each)
    for kind, element in (("style", "style"), ("script", "script")):
        content = re.search(rf"<{element}>(.*?)</{element}>", text, re.DOTALL).group(1)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert policy.endswith("; img-src data:; base-uri 'none'; form-action 'none'")


def test_the_content_security_policy_is_first_in_the_head():
    """The meta element with the Content-Security-Policy is the first element in the head of an HTML page."""
    tags = [tag for tag, _ in Elements(rendered(page("web-1"))).found]
    assert tags[:3] == ["html", "head", "meta"]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_name_cannot_add_html_to_the_page(text: str):
    """A name such as "<script>alert(1)</script>" appears on an HTML page as plain text."""
    plain, hostile = Elements(rendered(page("web-1"))).found, Elements(rendered(page(text))).found
    assert [(tag, sorted(each)) for tag, each in hostile] == [(tag, sorted(each)) for tag, each in plain]
    assert "".join(Elements(rendered(page(text))).texts).count(text) >= 20


@pytest.mark.parametrize("text", HOSTILE)
def test_a_page_has_no_event_handler_or_link_to_another_page(text: str):
    """An HTML page has no event handler, no style attribute and no link to another page."""
    for tag, attributes in Elements(rendered(page(text))).found:
        assert tag not in {"img", "link", "iframe", "object", "embed", "image", "use"}
        assert not [name for name in attributes if name == "style" or name.startswith("on") or name == "src"]
        assert (attributes.get("href") or "#").startswith("#")


@pytest.mark.parametrize(
    ("name", "shown"),
    [("a\x00b", "a\\u0000b"), ("a\x1b[2Jb", "a\\u001b[2Jb"), ("a\u202eb", "a\\u202eb"), ("a\ud800b", "a\\ud800b")],
)
def test_a_page_shows_control_characters_as_escapes(name: str, shown: str):
    """A control character in a name appears on an HTML page as a visible escape sequence."""
    text = rendered(page(name))
    assert name not in text
    assert text.count(shown) >= 20
    text.encode()


def test_a_page_has_one_h1_a_language_and_unique_ids():
    """An HTML page has exactly one h1 element, the language "en", and no two elements with the same id."""
    found = Elements(rendered(page("web-1"))).found
    tags = [tag for tag, _ in found]
    ids = [each["id"] for _, each in found if "id" in each]
    assert (tags.count("h1"), found[0][1]["lang"]) == (1, "en")
    assert len(ids) == len(set(ids))


def test_labels_and_links_refer_to_elements_of_the_page():
    """Every label and every link on an HTML page refers to the id of an element of the same page."""
    found = Elements(rendered(page("web-1"))).found
    ids = {each["id"] for _, each in found if "id" in each}
    names = [each.get("aria-labelledby") for _, each in found] + [each.get("for") for _, each in found]
    names += [each["href"][1:] for _, each in found if "href" in each]
    assert {part for name in names if name for part in name.split()} <= ids
