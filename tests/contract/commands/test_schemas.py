"""The commands print documents that fit their published JSON schemas. Each command runs on a host with findings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rigs.commands import small_host, stocktake_here
from tests.rigs.placement import Rest, running
from tests.rigs.schemas import complaints

NOW = "[heal]\nmin_age = 0\nmax_percent = 100\n"
NO_PLACEMENT = "[placement]\nendpoint_override = http://127.0.0.1:1\n"
NOTHING = f"{NO_PLACEMENT}[state]\nconnection = sqlite:////nowhere/cell.sqlite\n"


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rest]:
    with running(tmp_path_factory.mktemp("placement")) as server:
        yield server


@pytest.fixture(scope="module")
def config_file(tmp_path_factory: pytest.TempPathFactory, rest: Rest) -> Path:
    """Return the configuration of a host with two leaks and a guest that the cloud does not know."""
    return small_host(tmp_path_factory.mktemp("host"), rest).agent.config_file


def _run(config_file: Path, *command: str, more: str = NOW) -> object:
    second = config_file.with_name("more.conf")
    second.write_text(more)
    ended = stocktake_here("--config-file", config_file, "--config-file", second, *command, "-f", "json")
    assert ended.stdout, ended.stderr
    return ended.document


COMMANDS = [
    ("audit", ("audit",)),
    ("findings", ("findings",)),
    ("ledger", ("ledger",)),
    ("ledger-storage", ("ledger", "--storage")),
    ("inventory", ("inventory",)),
    ("inventory", ("inventory", "--diff")),
    ("traits", ("traits", "--diff")),
    ("heal", ("heal",)),
    ("config-check", ("config", "check", "--live")),
]


@pytest.mark.parametrize("more", [NOW, NO_PLACEMENT], ids=["placement", "no-placement"])
@pytest.mark.parametrize(("name", "command"), COMMANDS, ids=[" ".join(command) for _, command in COMMANDS])
def test_the_json_document_of_a_command_fits_its_schema(config_file, name, command, more):
    """The output of each command with -f json is valid by its published JSON schema, also while Placement is down."""
    document = _run(config_file, *command, more=more)
    assert document != [] or more == NO_PLACEMENT or name == "ledger-storage"
    assert complaints(name, document) == []


def test_a_json_error_object_fits_the_error_schema(config_file):
    """All sources are down, and the error object of `stocktake audit -f json` is valid by its JSON schema."""
    assert (
        complaints("error", _run(config_file, "audit", more=NOTHING + "[libvirt]\nconnection_uri = test:///no\n")) == []
    )


def test_heal_undo_and_journal_print_valid_json(tmp_path, rest):
    """With -f json, the output of `stocktake heal`, `undo` and `journal` is valid by its JSON schema."""
    host = small_host(tmp_path, rest).agent.config_file
    planned = _run(host, "heal")
    healed = _run(host, "heal", "--plan", planned["digest"], "--yes")
    assert {each["result"] for each in healed["results"]} == {"done"}
    undone = _run(host, "undo", healed["results"][0]["entry_id"])
    journal = _run(host, "journal")
    assert len(journal) == len(healed["results"]) + 1
    found = {"heal": healed, "undo": undone, "journal": journal}
    assert {name: complaints(name, document) for name, document in found.items()} == {name: [] for name in found}
