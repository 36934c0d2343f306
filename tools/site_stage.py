"""Stage the sources of the HTML documents in one folder: Markdown of the repository, and generated references.

The Markdown files stay where they are and link each other by the repository's paths. ``stage`` copies them and rewrites
those links, so that Sphinx finds every target. site_pages.py generates the references.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from tools.site_pages import generated_pages

ROOT = Path(__file__).parent.parent
#: An inline link or a picture: mark, label, target without white space.
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
FENCE = re.compile(r"^ *(```+|~~~+)")


def placed() -> dict[str, str]:
    """Return the place in the staged folder for each Markdown file of the repository that belongs to the documents."""
    places = {"README.md": "overview.md", "CONTRIBUTING.md": "contributor/contributing.md"}
    for path in sorted((ROOT / "docs").rglob("*.md")):
        places[str(path.relative_to(ROOT))] = str(path.relative_to(ROOT / "docs"))
    for path in sorted((ROOT / "agent/runbooks").glob("*.md")):
        places[str(path.relative_to(ROOT))] = f"runbooks/{path.name}"
    return places


def stage(folder: Path) -> None:
    """Write every source of the documents into the folder, which must not exist yet."""
    places = placed()
    for origin, place in places.items():
        _write(folder / place, relinked((ROOT / origin).read_text(), origin, places))
    for place, text in generated_pages().items():
        _write(folder / place, text)
    shutil.copy(ROOT / "docs/conf.py", folder)
    for part in ("_templates", "_static"):
        shutil.copytree(ROOT / "docs" / part, folder / part)
    for picture in (ROOT / "docs").glob("*.svg"):
        shutil.copy(picture, folder)


def relinked(text: str, origin: str, places: Mapping[str, str]) -> str:
    """Return the text of the repository's file ``origin`` with links that hold in the staged folder.

    A link to a file that is not part of the documents keeps its label alone: an installation has no such file.
    A link to a file that does not exist stays, so that the build fails.
    """

    def link(found: re.Match[str]) -> str:
        mark, label, target = found.groups()
        path, _, anchor = target.partition("#")
        if not path or "://" in target or target.startswith("mailto:"):
            return found[0]
        named = os.path.normpath(PurePosixPath(origin).parent / path)
        place = _place(named, places)
        if place is None:
            return label if (ROOT / named).exists() else found[0]
        shown = os.path.relpath(place, PurePosixPath(places[origin]).parent)
        return f"{mark}[{label}]({shown}{'#' + anchor if anchor else ''})"

    return "".join(chunk if is_code else LINK.sub(link, chunk) for chunk, is_code in _chunks(text))


def _place(path: str, places: Mapping[str, str]) -> str | None:
    if path == "agent/runbooks":
        return "runbooks/index.md"
    if path.startswith("docs/") and path.endswith(".svg"):
        return path.removeprefix("docs/")
    return places.get(path)


def _chunks(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the text in pieces, each with whether the piece is a line of a block of code."""
    fence, prose = "", ""
    for line in text.splitlines(keepends=True):
        found = FENCE.match(line)
        if not fence and not found:
            prose += line
            continue
        yield prose, False
        yield line, True
        prose = ""
        if fence:
            fence = "" if found and line.strip() == fence else fence
        elif found:
            fence = found[1]
    yield prose, False


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
