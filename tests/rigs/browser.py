"""Debian's Chromium without a window: what a page does in a browser, and what is drawn where.

A ``Look`` collects everything that a harmless page must not do: dialogs, messages on the console, reports of its
content policy, and requests other than for its own file.
"""

import contextlib
import importlib.util
import os
import pathlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pytest

CHROMIUM = "/usr/bin/chromium"
#: The kinds of media, each as options of playwright's ``new_context`` and the medium to emulate.
MEDIA = {
    "light": ({"color_scheme": "light"}, "screen"),
    "dark": ({"color_scheme": "dark"}, "screen"),
    "print": ({"color_scheme": "dark"}, "print"),
    "forced": ({"color_scheme": "dark", "forced_colors": "active"}, "screen"),
}
#: The widths at which every page is looked at in each medium; 390 is a telephone, 2560 a wide screen.
WIDTHS = {"light": (360, 390, 1280, 2560), "dark": (360, 390, 1280, 2560), "print": (360, 1280), "forced": (360, 1280)}
WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
_REPORTS = "window.reports = []; addEventListener('securitypolicyviolation', e => reports.push(e.violatedDirective));"
# The estimates in Python are generous; these are the real boxes. A unit is less than two pixels.
_OUTSIDE = """() => [...document.querySelectorAll('svg.picture')].flatMap(svg => {
  const view = svg.viewBox.baseVal;
  return [...svg.querySelectorAll('text:not(defs text)')].filter(text => {
    const box = text.getBBox();
    return box.x < -1 || box.y < -1 || box.x + box.width > view.width + 1 || box.y + box.height > view.height + 1;
  }).map(text => `${svg.parentNode.parentNode.id}: ${text.textContent}`);
})"""
_OVERLAPPING = """() => [...document.querySelectorAll('svg.picture')].flatMap(svg => {
  const texts = [...svg.querySelectorAll('text:not(defs text)')].map(text => [text.textContent, text.getBBox()]);
  const found = [];
  texts.forEach(([one, a], at) => texts.slice(at + 1).forEach(([other, b]) => {
    const wide = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
    const high = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
    if (wide > 1 && high > 2) found.push(`${svg.parentNode.parentNode.id}: ${one} / ${other}`);
  }));
  return found;
})"""
_WIDER = """() => [...document.querySelectorAll('main *, header *, nav *')].filter(
  each => !each.closest('.scroll') && each.getBoundingClientRect().right > innerWidth + 1
).map(each => `${each.tagName} ${each.textContent.slice(0, 40)}`)"""


def every_case(worlds: Iterable[str]) -> tuple[tuple[str, str, int], ...]:
    """Return each world in every medium and width."""
    return tuple((world, medium, width) for world in worlds for medium in MEDIA for width in WIDTHS[medium])


def why_missing() -> str:
    """Return why no browser can be started here, "" if one can."""
    lacking = [name for name in ("playwright", "axe_playwright_python") if importlib.util.find_spec(name) is None]
    if lacking:
        return f"not installed: {', '.join(lacking)}; pip install '.[test]'"
    return "" if os.path.exists(CHROMIUM) else f"{CHROMIUM} is missing: apt-get install chromium"


def screenshot_file(name: str) -> pathlib.Path | None:
    """Return the file of a screenshot below the folder in STOCKTAKE_SCREENSHOTS, None without that variable."""
    folder = os.environ.get("STOCKTAKE_SCREENSHOTS")
    return pathlib.Path(folder) / f"{name}.png" if folder else None


@dataclass
class Look:
    """What one page did in the browser, and what a reader would trip over."""

    dialogs: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)
    overlapping: list[str] = field(default_factory=list)
    wider: list[str] = field(default_factory=list)
    elements: int = 0
    load_ms: float = 0.0


@contextlib.contextmanager
def browser() -> Iterator[object]:
    """Start the browser; end it after the block. Skips the test if there is none."""
    if why := why_missing():
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium's sandbox needs a user who is not root. The pages are the tests' own.
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        try:
            yield found
        finally:
            found.close()


@contextlib.contextmanager
def opened(started, file: pathlib.Path, look: Look, medium: str = "light", width: int = 1280) -> Iterator[object]:
    """Open the file in a page of its own, and collect in ``look`` what the page does."""
    options, kind = MEDIA[medium]
    context = started.new_context(viewport={"width": width, "height": 900}, offline=True, **options)
    page = context.new_page()
    page.add_init_script(_REPORTS)
    page.on("dialog", lambda dialog: (look.dialogs.append(dialog.message), dialog.dismiss()))
    page.on("console", lambda message: look.messages.append(message.text))
    page.on("pageerror", lambda error: look.messages.append(str(error)))
    page.on("request", lambda request: look.requests.append(request.url))
    try:
        page.goto(file.as_uri())
        page.emulate_media(media=kind)
        look.elements = page.evaluate("document.querySelectorAll('*').length")
        look.load_ms = page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd")
        yield page
        look.reports += page.evaluate("window.reports")
    finally:
        context.close()


def seen(started, file: pathlib.Path, medium: str, width: int, shot: pathlib.Path | None = None, rules=WCAG) -> Look:
    """Return what the page does and what is wrong with it for a reader; ``shot`` is the file of a screenshot.

    axe-core checks ``rules``, the tags of its rules; () checks nothing, because a page of thousands of rows takes long.
    """
    from axe_playwright_python.sync_playwright import Axe

    look = Look()
    with opened(started, file, look, medium, width) as page:
        look.outside = page.evaluate(_OUTSIDE)
        look.overlapping = page.evaluate(_OVERLAPPING)
        look.wider = page.evaluate(_WIDER)
        options = {"runOnly": {"type": "tag", "values": list(rules)}}
        found = Axe().run(page, options=options).response["violations"] if rules else []
        look.violations = [f"{each['id']}: {node['html'][:120]}" for each in found for node in each["nodes"]]
        if shot is not None:
            page.screenshot(path=shot, full_page=True)
    return look
