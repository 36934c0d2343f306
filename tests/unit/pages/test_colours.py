"""The colours of the style sheet: contrast to the page, and distance from each other, also for colour-blind readers."""

import itertools
import re

import pytest

from agent.pages.render import style

MEANINGS = ("counted", "wrong", "foreign", "reserved")
#: From Machado, Oliveira and Fernandes 2009, severity 1.0: for linear RGB.
SIGHTS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
WHITE = (0.95047, 1.0, 1.08883)


def schemes() -> dict[str, dict[str, str]]:
    """Return the variables of each colour scheme, as the style sheet has them."""
    text = style()
    found = {}
    for name, before in (
        ("light", ":root {"),
        ("dark", "@media (prefers-color-scheme: dark) {\n  :root {"),
        ("print", "@media print {\n  :root {"),
    ):
        block = text.partition(before)[2].partition("}")[0]
        found[name] = dict(re.findall(r"--([a-z]+): (#[0-9A-F]{6});", block))
    return found


SCHEMES = schemes()


def linear(colour: str) -> tuple[float, ...]:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)


def luminance(colour: str) -> float:
    red, green, blue = linear(colour)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def lab(colour: str, sight: str) -> tuple[float, float, float]:
    rgb = linear(colour)
    seen = [min(1.0, max(0.0, sum(w * c for w, c in zip(row, rgb, strict=True)))) for row in SIGHTS[sight]]
    rows = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
    xyz = (sum(w * c for w, c in zip(row, seen, strict=True)) / white for row, white in zip(rows, WHITE, strict=True))
    x, y, z = (v ** (1 / 3) if v > 216 / 24389 else (24389 / 27 * v + 16) / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str, sight: str) -> float:
    pairs = zip(lab(one, sight), lab(other, sight), strict=True)
    return sum((a - b) ** 2 for a, b in pairs) ** 0.5


def test_each_colour_scheme_of_a_page_is_complete():
    """The style sheet of the pages defines every colour for the light scheme, the dark scheme and for print."""
    assert all({*MEANINGS, "page", "text", "faint", "raised", "link"} <= each.keys() for each in SCHEMES.values())
    assert SCHEMES["light"]["page"] == SCHEMES["print"]["page"] == "#FFFFFF"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", [*MEANINGS, "text", "faint", "link"])
def test_text_and_bar_colours_have_enough_contrast_to_the_page(scheme: str, name: str):
    """In every colour scheme, the contrast of text and bars to the page's background is at least 4.5 to 1."""
    assert contrast(SCHEMES[scheme][name], SCHEMES[scheme]["page"]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", [*MEANINGS, "text", "faint", "link"])
def test_text_inside_a_raised_box_has_enough_contrast(scheme: str, name: str):
    """In every colour scheme, the contrast of text to the background of a raised box is at least 4.5 to 1."""
    assert contrast(SCHEMES[scheme][name], SCHEMES[scheme]["raised"]) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("sight", SIGHTS)
def test_colour_blind_readers_can_tell_the_bar_colours_apart(scheme: str, sight: str):
    colours = [SCHEMES[scheme][name] for name in MEANINGS]
    assert min(distance(*pair, sight) for pair in itertools.combinations(colours, 2)) >= 39


def test_the_line_around_a_box_stands_out_from_the_page():
    """In every colour scheme, the contrast of a box's outline to the page's background is at least 3 to 1."""
    assert all(contrast(each["line"], each["page"]) >= 3 for each in SCHEMES.values())
