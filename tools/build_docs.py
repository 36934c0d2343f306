#!/usr/bin/env python3
"""Build the HTML documents with Sphinx: tools/build_docs.py FOLDER.

tools/docs installs what Sphinx needs and then runs this program. The pages are staged in a temporary folder
(site_stage.py), so a build writes nothing into the checkout.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tools.site_stage import stage


def build(folder: Path) -> int:
    """Build the pages into the folder and return Sphinx's exit status; a warning is an error."""
    from sphinx.cmd.build import main as sphinx

    with tempfile.TemporaryDirectory(prefix="stocktake-docs-") as temporary:
        source = Path(temporary, "source")
        stage(source)
        make_repository(source)
        doctrees, target = str(Path(temporary, "doctrees")), str(folder.resolve())
        with contextlib.chdir(source):
            return sphinx(["-q", "-W", "--keep-going", "-b", "html", "-d", doctrees, str(source), target])


def make_repository(folder: Path) -> None:
    """Make an empty commit in the folder: openstackdocstheme warns if it cannot ask git for one, and prints it nowhere.

    The sources of a package are not in git, and the pages are the same from every checkout.
    """
    author = ["-c", "user.name=Stocktake developers", "-c", "user.email=nobody"]
    for command in (["init", "--quiet"], [*author, "commit", "--quiet", "--allow-empty", "--message=pages"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


def fix_date() -> None:
    """Set SOURCE_DATE_EPOCH to the time of the last commit, if it is not set: two builds then write the same bytes."""
    if "SOURCE_DATE_EPOCH" not in os.environ:
        command = ["git", "-C", str(Path(__file__).parent), "log", "-1", "--format=%ct"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        os.environ["SOURCE_DATE_EPOCH"] = done.stdout.strip() or "0"


def main() -> None:
    """Build, print how many pages there are and how long the build took, and exit with Sphinx's status."""
    if len(sys.argv) != 2:
        sys.exit("usage: tools/build_docs.py FOLDER")
    fix_date()
    folder, began = Path(sys.argv[1]), time.monotonic()
    status = build(folder)
    pages = len(list(folder.rglob("*.html")))
    print(f"{pages} pages in {folder}, {time.monotonic() - began:.1f} s, status {status}")
    sys.exit(status)


if __name__ == "__main__":
    main()
