"""A release can be made from this checkout: its notes, its changelog, its version from git, its list of libraries."""

import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.rigs.source_tree import ROOT
from tools import package_clean

RENO = "import sys; from reno.main import main; sys.exit(main(sys.argv[1:]))"


def _version() -> str:
    """Return the version whose section is the first of the changelog."""
    return re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]


def _reno(*arguments: object, folder: pathlib.Path = ROOT) -> str:
    command = [sys.executable, "-c", RENO, *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Return a clone of this repository whose last commit has the tag of the release."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    folder = tmp_path_factory.mktemp("release") / "clone"
    for command in (["clone", "--quiet", "--shared", ROOT, folder], ["-C", folder, "tag", _version()]):
        subprocess.run(["git", *command], check=True, capture_output=True, timeout=120)
    return folder


def test_reno_finds_no_mistake_in_the_release_notes(tagged: pathlib.Path):
    """The command `reno lint`, run in a clone of the repository, succeeds."""
    _reno("lint", folder=tagged)


def test_reno_shows_all_release_notes_of_a_tagged_version(tagged: pathlib.Path):
    """In a commit that has a version's tag, `reno report` shows the version and the text of every note."""
    report = _reno("report", folder=tagged)
    assert re.search(rf"^{re.escape(_version())}\n=+$", report, re.MULTILINE)
    assert "Not released yet" not in report
    words = " ".join(report.split())
    notes = sorted((tagged / "releasenotes/notes").glob("*.yaml"))
    texts = [text for path in notes for text in _texts(yaml.safe_load(path.read_text()))]
    assert texts
    assert [text for text in texts if " ".join(text.split()) not in words] == []


def _texts(note: dict[str, str | list[str]]) -> list[str]:
    """Return the prelude and each entry of a note."""
    return [text for value in note.values() for text in ([value] if isinstance(value, str) else value)]


def test_pbr_gives_a_tagged_commit_the_version_of_its_tag(tagged: pathlib.Path):
    code = "from pbr.packaging import get_version; print(get_version('stocktake'))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tagged, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == (_version(), 0), done.stderr


def test_the_list_of_libraries_follows_the_cyclonedx_schema(tmp_path: pathlib.Path):
    """The package contains a generated JSON list of its libraries, which conforms to CycloneDX 1.5."""
    for distribution in importlib.metadata.distributions():
        source = pathlib.Path(str(distribution.locate_file(""))) / getattr(distribution, "_path", "").name
        if (source / "METADATA").is_file():
            (tmp_path / source.name).mkdir(exist_ok=True)
            shutil.copy(source / "METADATA", tmp_path / source.name)
    listed = package_clean.sbom(tmp_path)
    assert '"name": "oslo.config"' in listed
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(listed) is None


def test_the_cyclonedx_schema_rejects_a_library_without_a_name():
    """The CycloneDX schema rejects a list of libraries in which a library has no name."""
    wrong = '{"bomFormat": "CycloneDX", "specVersion": "1.5", "components": [{"type": "library"}]}'
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(wrong) is not None
