"""Commands of a user who is not root: one line says so, what can be read is printed, and nothing is changed."""

import functools
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

from agent.cmd.shell import main
from tests.rigs.commands import small_host
from tests.rigs.placement import Rest, running
from tests.rigs.programs import run_function

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="gives up root")]
NOBODY = 65534
PATIENCE_S = 300.0


def as_nobody(arguments):
    """Run the command as the user nobody, in a process of its own."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    sys.exit(main(arguments))


@pytest.fixture(scope="module")
def rest(tmp_path_factory) -> Rest:
    with running(tmp_path_factory.mktemp("placement")) as server:
        yield server


@pytest.fixture(scope="module")
def host(rest):
    """A host whose state directory is closed to other users, in a folder that is open to them."""
    folder = Path(tempfile.mkdtemp(prefix="stocktake-not-root-"))
    folder.chmod(0o755)
    try:
        made = small_host(folder, rest)
        (folder / "state").chmod(0o700)
        for path in folder.iterdir():
            path.chmod(0o755 if path.is_dir() and path.name != "state" else 0o700 if path.is_dir() else 0o644)
        yield made
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def hidden(host):
    """The same host; its identity is only in the closed state directory."""
    known = host.agent.folder / "compute_id"
    closed = host.agent.folder / "state" / "compute_id"
    shutil.move(known, closed)
    text = host.agent.config_file.read_text()
    host.agent.config_file.write_text(text.replace("source = sql", "source = none").replace("connection = sqlite", "#"))
    yield host
    host.agent.config_file.write_text(text)
    shutil.move(closed, known)


def run(host, *arguments):
    words = ["--config-file", str(host.agent.config_file), *arguments]
    return run_function(functools.partial(as_nobody, words), PATIENCE_S, dict(os.environ), host.agent.folder)


def said(host):
    return f"stocktake: not root: {host.agent.folder}/state cannot be read; run this command as root\n"


READING = [("ledger",), ("explain", "VCPU"), ("inventory", "--diff"), ("traits",), ("audit",), ("findings",), ("heal",)]


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_read_only_command_warns_without_root_rights(host, command):
    """A user who is not root runs a read-only command. The command prints one warning and what it can read."""
    ended = run(host, *command)
    assert (ended.returncode, ended.stderr) == (2, said(host))
    assert ended.stdout


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_no_request_is_sent_if_the_host_uuid_is_unreadable(hidden, rest, command):
    """A user who is not root cannot read the host's UUID. A read-only command then does not ask Placement at all."""
    with rest.watched() as seen:
        ended = run(hidden, *command, "-f", "json")
    assert (ended.returncode, ended.stderr) == (2, said(hidden))
    json.loads(ended.stdout)
    assert seen == []


@pytest.mark.parametrize("command", [("journal",), ("adopt",), ("adopt", "--store")], ids=" ".join)
def test_journal_and_adopt_exit_2_if_state_dir_is_unreadable(host, command):
    """A user without access to state_dir runs `stocktake journal` or `adopt`, and is told to run it as root."""
    ended = run(host, *command, "-f", "json")
    assert (ended.returncode, ended.stderr) == (2, said(host))
    assert json.loads(ended.stdout)["error"]["kind"] == "permission"


PLAN = ("--plan", "0123456789ab", "--yes")


@pytest.mark.parametrize(
    "command", [("heal", *PLAN), ("adopt", *PLAN), ("undo", "3f9c"), ("audit", "--publish")], ids=lambda words: words[0]
)
def test_a_command_that_writes_exits_5_without_root_rights(host, rest, command):
    """heal, adopt, undo and `audit --publish`, run by a user who is not root, send Placement no request."""
    with rest.watched() as seen:
        ended = run(host, *command, "-f", "json")
    line = f"not root: {host.agent.folder}/state cannot be written, so nothing is changed; run this command as root"
    assert (ended.returncode, ended.stderr) == (5, f"stocktake: {line}\n")
    assert json.loads(ended.stdout)["error"] == {"kind": "permission", "message": line, "problems": []}
    assert seen == []


@pytest.mark.parametrize(
    "command", [("explain", "allocation-leaked"), ("config", "show"), ("help",), ("help", "heal")], ids=" ".join
)
def test_some_commands_need_no_root_rights(host, command):
    """A user who is not root runs `stocktake config show` or `stocktake help`, and sees no warning."""
    ended = run(host, *command)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_why_command_answers_without_root_rights(host):
    """A user who is not root runs `stocktake why`.

    It prints a warning, and still tells if the request fits the host.
    """
    ended = run(host, "why", "--resource", "VCPU=1")
    assert ended.stderr == said(host)
    assert "fits: Placement offers it" in ended.stdout
