"""No file of the repository names the machine that it was written on."""

import pathlib
import re

import pytest

from tests.rigs.source_tree import ROOT

# Each pattern is written in pieces, so that this file does not match its own patterns.
LEAKS = {
    "a build machine's folder": r"(?<![\w.-])/" + r"work/",
    "a neighbour of the checkout": r"\.\./" + r"shared\b",
    "somebody's home": r"/(home/(?!runner\b)\w+|" + r"root/\w)",
    "a scratch folder": r"/var/" + r"tmp/\w|/tmp/" + r"(brief|h\d)",
    "a package mirror": r"/opt/" + r"(pypi|wheels)|index-" + r"url|find-" + r"links",
    "a registry host": r"(deb|snapshot)\."
    + r"debian\.org|files\.python"
    + r"hosted|registry\.npm"
    + r"js|//pypi"
    + r"\.",
}

TOP_FOLDERS = (".ci", "agent", "benchmarks", "docs", "etc", "packaging", "systemd", "tests", "tools")
# In a second work tree of git, `.git` is a file with the path of the first.
NOT_OURS = {"__pycache__", ".hypothesis", ".git"}


def _files() -> list[pathlib.Path]:
    """Return every text file in the working tree; git would leave out files that are not added yet."""
    nested = [path for folder in TOP_FOLDERS for path in (ROOT / folder).rglob("*")]
    return sorted(path for path in (*ROOT.glob("*"), *nested) if path.is_file() and not NOT_OURS & set(path.parts))


FILES = {str(path.relative_to(ROOT)): path for path in _files() if path.suffix not in (".pyc", ".gz", ".db")}


@pytest.mark.parametrize("kind", LEAKS)
def test_no_repository_file_refers_to_the_build_machine(kind: str):
    """No text file contains a private path, a package mirror or a registry host of the build machine."""
    found = [
        f"{name}:{number}: {line.strip()[:100]}"
        for name, path in FILES.items()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), start=1)
        if re.search(LEAKS[kind], line)
    ]
    assert found == []


def test_the_search_for_private_paths_reads_subfolders():
    """The search for private paths reads the file agent/audit/run.py in a subfolder of the repository."""
    assert {"README.md", "agent/audit/run.py", "tools/lib.sh"} <= FILES.keys()


@pytest.mark.parametrize("kind", LEAKS)
def test_each_search_pattern_matches_an_example(kind: str):
    """Each pattern for private paths and registry hosts matches at least one of six example texts."""
    examples = [
        "cd /" + "work/main",
        "see .." + "/shared/x.md",
        "/" + "root/venv and /" + "home/jane/x",
        "in /var/" + "tmp/x",
        "--index-" + "url x",
        "from http://deb." + "debian.org/debian",
    ]
    assert any(re.search(LEAKS[kind], example) for example in examples)
