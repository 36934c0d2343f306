"""What the project cites, it contains: no file, section or number of a document that only its authors have."""

import io
import pathlib
import re
import tokenize

import pytest

from tests.rigs.source_tree import ROOT

FOLDERS = ("agent", "tests", "tools", "benchmarks")
#: Folders of other projects whose files are cited as nova's, Placement's, oslo's or the kernel's own.
OF_OTHERS = (
    "nova/",
    "placement/",
    "compute/",
    "conductor/",
    "scheduler/",
    "virt/",
    "objects/",
    "oslo_",
    "linux/",
    "db/",
)
#: Files of Placement's and keystoneauth1's that are cited with their version, and files that tests and rigs make.
OTHERS_FILES = {
    *("schemas/inventory.py", "policies/reshaper.py", "handlers/allocation.py", "reshaper.py", "lib.py", "discover.py"),
    # Pages that tools/docs makes.
    *("overview.md", "contributing.md", "contributor/contributing.md", "runbooks/index.md", "events.md", "metrics.md"),
    *(
        "reference/events.md",
        "reference/metrics.md",
        "reference/exit-codes-by-command.md",
        "reference/commands/index.md",
    ),
    *("../monitoring.md",),
    *("allocation.py", "attribute_cache.py", "driver.py", "handlers/util.py", "waitress.py", "gunicorn.py", "cites.py"),
}
PATH = re.compile(r"(?<![\w./*-])((?:[\w.-]+/)*[A-Za-z][\w-]*\.(?:py|md))(?![\w/])")
#: Specifications, design documents and meetings that are not in the repository, with a chapter's number.
OUTSIDE = re.compile(
    r"\b(?:design|hypervisor-audit|reconcile|spec|observed|operators|beside-nova|proof|house) \d|\bspec/\w"
)


def _texts() -> list[pathlib.Path]:
    sources = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    own = pathlib.Path(__file__)
    return sorted(path for path in (*sources, *documents) if path != own and "golden/reference/" not in str(path))


TEXTS = _texts()
KNOWN = {str(path.relative_to(ROOT)) for path in ROOT.rglob("*.*") if path.suffix in (".py", ".md")}
NAMES = {path.rpartition("/")[2] for path in KNOWN}


def _prose(path: pathlib.Path) -> str:
    """Comments and strings of code, or a whole document."""
    if path.suffix != ".py":
        return path.read_text()
    kinds = (tokenize.COMMENT, tokenize.STRING)
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return "\n".join(token.string for token in tokens if token.type in kinds)


def _is_known(cited: str, citing: pathlib.Path) -> bool:
    if cited.startswith(OF_OTHERS) or cited in OTHERS_FILES or (citing.parent / cited).exists():
        return True
    if "/" not in cited:
        return cited in NAMES
    return any(path == cited or path.endswith(f"/{cited}") for path in KNOWN)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_cited_in_code_and_documents_exist(path: pathlib.Path):
    """If a comment, a string or a document mentions a .py or .md file, the repository contains this file."""
    assert sorted({cited for cited in PATH.findall(_prose(path)) if not _is_known(cited, path)}) == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_cites_unpublished_documents(path: pathlib.Path):
    """Code and documents cite no chapter of a design document that the repository does not contain."""
    assert OUTSIDE.findall(_prose(path)) == []


def test_the_citation_check_detects_missing_files(tmp_path: pathlib.Path):
    """A docstring mentions the file agent/stages/heal.py, which does not exist.

    The citation check reports this file.
    """
    file = tmp_path / "code.py"
    file.write_text('"""As in agent/stages/heal.py and look.py (design 2.3)."""\n')
    cited = PATH.findall(_prose(file))
    assert [name for name in cited if not _is_known(name, file)] == ["agent/stages/heal.py", "look.py"]
    assert OUTSIDE.findall(_prose(file)) == ["design 2"]
