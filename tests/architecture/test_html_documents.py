"""The sources of the HTML documents are complete: pages, links, generated references. Sphinx does not run here."""

import configparser
import pathlib
import re
import subprocess

import pytest

from agent.cmd.registry import COMMANDS
from agent.findings import BUILTIN
from agent.monitoring.metrics.catalog import CATALOG, PREFIX
from agent.telemetry.events import EVENTS
from tests.rigs.source_tree import ROOT
from tools import draw_terminal, site_pages, site_stage

LINK = re.compile(r"!?\[[^\]]*\]\(([^()\s]+)\)")
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("documents") / "source"
    site_stage.stage(folder)
    return folder


def _prose(path: pathlib.Path) -> str:
    return re.sub(r"^ *```.*?^ *```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)


def _listed(page: pathlib.Path, folder: pathlib.Path) -> set[pathlib.Path]:
    """Return the pages in the tables of contents of this page."""
    names = [
        line.partition("<")[2].rstrip(">") or line
        for block in TREE.findall(page.read_text())
        for line in block.splitlines()
        if line and not line.startswith(":")
    ]
    places = [folder / name[1:] if name.startswith("/") else page.parent / name for name in names]
    return {path for place in places for path in (place.with_name(f"{place.name}{end}") for end in (".md", ".rst"))}


def test_every_page_is_in_one_table_of_contents(staged: pathlib.Path):
    """Each page of the Sphinx documents except the start page is listed in exactly one table of contents."""
    pages = [path for path in staged.rglob("*") if path.suffix in (".md", ".rst")]
    listed = [path for page in pages if page.suffix == ".md" for path in _listed(page, staged) if path.exists()]
    assert sorted(listed) == sorted(set(pages) - {staged / "index.md"})


def test_links_of_sphinx_pages_lead_to_existing_files(staged: pathlib.Path):
    """Every relative link in the page sources that the project prepares for Sphinx leads to an existing file."""
    dead = [
        f"{page.relative_to(staged)}: {target}"
        for page in staged.rglob("*.md")
        for target in LINK.findall(_prose(page))
        if "://" not in target and not target.startswith("#")
        if not (page.parent / target.partition("#")[0]).is_file()
    ]
    assert dead == []


def test_the_runbooks_index_lists_findings_and_alerts(staged: pathlib.Path):
    """The index of the runbooks lists an existing page for each finding and each monitoring alert."""
    names = {*(rule.code for rule in BUILTIN), *site_pages.alert_severities()}
    assert len(names) > len(BUILTIN) > 0
    assert {path.stem for path in _listed(staged / "runbooks/index.md", staged) if path.is_file()} == names


def test_a_runbook_page_equals_the_installed_runbook(staged: pathlib.Path):
    """The Sphinx page of the runbook allocation-leaked.md has the same text as the file in agent/runbooks."""
    page = "allocation-leaked.md"
    assert (staged / "runbooks" / page).read_text() == (ROOT / "agent/runbooks" / page).read_text()


def test_generated_pages_are_not_in_the_repository():
    """The pages that tools/site_pages.py generates do not exist in the folder docs."""
    assert [page for page in site_pages.generated_pages() if (ROOT / "docs" / page).exists()] == []


def test_reference_pages_list_commands_events_and_metrics(staged: pathlib.Path):
    """The generated reference has a page for each command, and lists every log event and every metric."""
    reference = staged / "reference"
    pages = {path.stem for path in (reference / "commands").glob("*.md")}
    assert pages == {"index", *(entry.name.replace(" ", "-") for entry in COMMANDS)}
    events, metrics = (reference / "events.md").read_text(), (reference / "metrics.md").read_text()
    assert [event for event in EVENTS if f"`{event}`" not in events] == []
    assert [name for name in CATALOG if f"`{PREFIX}{name}" not in metrics] == []


def test_a_command_page_shows_arguments_and_exit_codes(staged: pathlib.Path):
    """The generated page of `stocktake heal` shows arguments, examples and exit codes of the command."""
    page = (staged / "reference/commands/heal").with_suffix(".md").read_text()
    assert "| `--plan DIGEST` |" in page
    assert "| `stocktake heal --plan 4d1b0c9a7e55 --yes` |" in page
    assert "| 75 | the named finding must wait" in page


def test_a_link_to_a_file_outside_docs_becomes_plain_text():
    """On the Sphinx page, the link "[the licence](../LICENSE)" becomes the text "the licence"."""
    text = "[the licence](../LICENSE), [here](#a), [a book](findings.md#x)\n```\n[code](../LICENSE)\n```\n"
    shown = site_stage.relinked(
        text,
        "docs/security.md",
        {"docs/security.md": "security.md", "docs/findings.md": "contributor/contributing.md"},
    )
    assert shown == "the licence, [here](#a), [a book](contributor/contributing.md#x)\n```\n[code](../LICENSE)\n```\n"


def test_a_link_to_a_missing_file_is_kept():
    """The tool that prepares pages for Sphinx keeps a link to a missing file, so that Sphinx can report it."""
    text = "[a page](nowhere.html)\n"
    assert site_stage.relinked(text, "docs/security.md", {"docs/security.md": "security.md"}) == text


def test_tools_docs_prints_its_usage_without_arguments():
    """The script tools/docs, called without a folder, exits with 1 and prints its usage to stderr."""
    done = subprocess.run([ROOT / "tools/docs"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert "tools/docs FOLDER" in done.stderr


def test_documentation_tools_are_no_run_time_requirements():
    """No package of the extra `docs` in setup.cfg is also listed in requirements.txt."""
    parsed = configparser.ConfigParser()
    parsed.read(ROOT / "setup.cfg")
    names = {re.split(r"[>=!]", line)[0] for line in parsed["extras"]["docs"].split()}
    run_time = {re.split(r"[>=!\[]", line)[0].lower() for line in (ROOT / "requirements.txt").read_text().splitlines()}
    assert names
    assert names & run_time == set()


def test_the_terminal_picture_loads_no_remote_file():
    """The picture docs/terminal.svg contains no script, no remote font and no link to another image."""
    output = "ERROR  \x1b[1;31mallocation-leaked\x1b[0m  <web-3>"
    picture = draw_terminal.svg([("stocktake findings", output)])
    drawn = (ROOT / "docs/terminal.svg").read_text()
    assert "allocation-leaked" in picture
    assert "&lt;web-3&gt;" in picture
    assert all(f"stocktake&#160;{'&#160;'.join(command)}" in drawn for command in draw_terminal.COMMANDS)
    assert [text for text in (picture, drawn) if re.search(r"url\(\W*http|@font-face|<script|<image", text)] == []
