"""``stocktake watch`` over a real RabbitMQ: on a terminal with 800 agents, once, and with two brokers."""

import contextlib
import csv
import io
import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from agent.fleet.documents import COLUMNS
from tests.rigs import rabbitmq
from tests.rigs.bus import agent, answered, bus, caller
from tests.rigs.fleet_hosts import amounts, broken, clean
from tests.rigs.programs import COMMAND, FORKED, installed
from tests.rigs.pty_screen import PtyProgram, on_terminal
from tests.rigs.reports import REPORT
from tests.rigs.synthetic_fleet import synthetic_fleet
from tests.rigs.wait import until

pytestmark = pytest.mark.skipif(not rabbitmq.available(), reason="no rabbitmq-server here")

HOSTS = 800
#: The interval of the synthetic agents, and how often they really send: a silent host shows after 8 s.
INTERVAL_S, SENDS_EACH_S = 1.0, 6.0
LEAVES_ALTERNATE_SCREEN, SHOWS_CURSOR = b"\x1b[?1049l", b"\x1b[?25h"
EVIL = "evil\x1b[2J\x1b]0;pwned\x07"


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with rabbitmq.running(tmp_path_factory.mktemp("broker")) as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("watch")


def name(number: int) -> str:
    return f"compute-{number:04d}"


def configured(folder: Path, url: str, stem: str = "watch") -> Path:
    path = folder / f"{stem}.conf"
    path.write_text(f"[DEFAULT]\ntransport_url = {url}\n[state]\nsource = none\n")
    return path


def listed(folder: Path, *hosts: str) -> Path:
    path = folder / f"hosts-{len(hosts)}.txt"
    path.write_text("".join(f"{host} rack-{number // 40}\n" for number, host in enumerate(hosts)))
    return path


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "TERM": "xterm-256color", **changes}


@contextlib.contextmanager
def watching(config: Path, *more: str, columns: int = 80, **changes: str) -> Iterator[PtyProgram]:
    command = [installed(COMMAND), "--config-file", str(config), "watch", *more]
    with on_terminal(command, environment(**changes), columns) as shown:
        yield shown


def once(config: Path, *more: str):
    arguments = ["--config-file", str(config), "watch", "--once", *more]
    return FORKED.run(COMMAND, arguments, 120, os.environ, config.parent)


def fleet() -> list[dict]:
    found = [clean(name(number), interval_s=INTERVAL_S) for number in range(HOSTS)]
    for number, code, hour in ((217, "allocation-leaked", 0), (431, "rival-writer", 1), (799, "over-capacity", 2)):
        found[number] = broken(
            name(number), code, number=3, interval_s=INTERVAL_S, leaked={"VCPU": 71},
            resources=amounts(-43, 60_416, -7332), oldest_at=f"2026-11-22T0{hour}:00:00.000Z",
        )  # fmt: skip
    return found


@pytest.fixture(scope="module")
def shown(broker, folder):
    """The live screen of 800 agents; one host has stopped to send, and one never began."""
    documents = fleet()
    silent = documents.pop(500)
    url = broker.virtual_host("fleet")
    expected = listed(folder, *(name(number) for number in range(HOSTS + 1)))
    with (
        synthetic_fleet(url, documents, SENDS_EACH_S) as agents,
        watching(configured(folder, url, "fleet"), "--expected", str(expected)) as screen,
    ):
        until(lambda: agents.requests, 60, "the request of watch")
        agents.send(silent)
        screen.shows("SILENT", "NEVER", f"{HOSTS} of {HOSTS + 1} expected")
        yield screen


def test_watch_lists_hosts_with_a_problem_at_the_top(shown):
    """`stocktake watch` lists at the top hosts never seen, then silent hosts, then hosts with an error."""
    lines = shown.display()
    rows = [line.split() for line in lines if line[1:].startswith(("NEVER", "SILENT", "ERROR"))]
    assert [(row[-len(row)].lstrip(">"), row[1]) for row in rows] == [
        ("NEVER", name(800)), ("SILENT", name(500)), ("ERROR", name(217)), ("ERROR", name(431)), ("ERROR", name(799)),
    ]  # fmt: skip
    assert lines[0].startswith(f"Stocktake fleet  {HOSTS} of {HOSTS + 1} expected hosts seen  20")
    assert len(lines[1]) == 73  # 11 hosts for each character
    # The last cell has a host with an error too, but a host that was never seen is worse.
    assert {character: lines[1].count(character) for character in "#?x"} == {"#": 2, "?": 1, "x": 1}
    assert lines[2] == "796 clean, 3 findings, 1 silent, 1 never seen"
    assert lines[3] == "leaked 213 VCPU; unknown for 1 host"
    assert "-43/59/-7332" not in shown.text()  # FREE is left out first
    assert all(len(line) <= 80 for line in lines)


def test_watch_shows_clean_hosts_after_a_key_press(shown):
    """`stocktake watch` first lists only hosts with a problem. After the operator presses "a", it lists all hosts."""
    shown.send(b"a")
    shown.shows("CLEAN", f"of {HOSTS + 1}")
    shown.send(b"\x1b[F")
    shown.shows(f"{HOSTS + 1} of {HOSTS + 1}", name(798))
    shown.send(b"\x1b[Ha")
    shown.shows("1-5 of 5")


def test_a_key_press_changes_the_sort_order_of_watch(shown):
    """Each press of the key "s" in `stocktake watch` selects the next order: host, age, leaked, free, worst."""
    for sort in ("host", "age", "leaked", "free", "worst"):
        shown.send(b"s")
        shown.shows(f"sort: {sort}")


def test_watch_shows_only_hosts_that_match_the_filter(shown):
    """The operator presses "f" and types group:rack-5; `stocktake watch` lists only the hosts of group rack-5."""
    shown.send(b"f")
    shown.shows("filter: _")
    shown.send(b"group:rack-5\r")
    shown.shows("1-1 of 1", name(217))
    shown.send(b"f\x15\r")
    shown.shows("1-5 of 5")


def test_the_enter_key_in_watch_opens_details_of_a_host(shown):
    """The details of a host in `stocktake watch` contain its name, its group and a `stocktake explain` command."""
    shown.send(b"\x1b[B\x1b[B\r")
    shown.shows(f"host       {name(217)}", "group      rack-5", "stocktake explain allocation-leaked")
    shown.send(b"\x1b")
    shown.shows("1-5 of 5")
    shown.send(b"\x1b[H")


def test_watch_hides_a_column_on_a_narrow_terminal(shown):
    """When the terminal gets narrower, `stocktake watch` hides the column FREE."""
    shown.resize(120, 30)
    until(lambda: shown.display()[29].endswith("q quit"), 30, "a screen of 30 lines")
    shown.shows("FREE", "-43/59/-7332")
    shown.resize(80, 24)
    until(lambda: "FREE" not in shown.text(), 30, "a screen of 80 columns")


@pytest.mark.parametrize(
    ("end", "code"),
    [(b"q", 0), (b"\x03", 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
    ids=["q", "ctrl-c", "term", "hup"],
)
def test_watch_restores_the_terminal_settings_when_it_ends(broker, folder, end, code):
    """After the key q, Ctrl-C, SIGTERM or SIGHUP, the terminal is as it was before `stocktake watch`."""
    with watching(configured(folder, broker.url)) as screen:
        screen.shows("0 hosts", "q quit")
        assert screen.settings() != screen.settings_before
        if isinstance(end, bytes):
            screen.send(end)
        else:
            screen.process.send_signal(end)
        assert screen.ended() == code
        assert screen.settings() == screen.settings_before
        assert LEAVES_ALTERNATE_SCREEN in screen.raw
        assert screen.raw.rfind(SHOWS_CURSOR) > screen.raw.rfind(b"\x1b[?25l")


def test_escape_sequences_in_names_do_not_reach_the_terminal(broker, folder):
    """A host's name contains control characters. `stocktake watch` prints them as harmless text."""
    headline = {
        "code": "allocation-leaked",
        "severity": "error",
        "headline": "\x1b[31m\u202e<b>\r\n",
        "first_seen_at": "",
    }
    documents = [broken(EVIL, worst=headline, sources_lost=[EVIL]), {"schema_version": 9, "host": EVIL}, "not a state"]
    with synthetic_fleet(broker.url, documents), watching(configured(folder, broker.url), columns=200) as screen:
        screen.shows("evil\\u001b[2~pwned\\u0007", "2 hosts send messages that this program cannot read")
        screen.send(b"\r")
        screen.shows("host       evil\\u001b[2J\\u001b]0;pwned\\u0007")
        screen.send(b"q")
        assert screen.ended() == 0
        assert "schema_version 9" in screen.text()
    assert b"pwned\x07" not in screen.raw
    assert b"\x1b[31m\xe2" not in screen.raw


@pytest.mark.parametrize("variable", ["NO_COLOR", "TERM"])
def test_watch_prints_no_colours_if_they_are_disabled(broker, folder, variable):
    """`stocktake watch` prints no colours if the variable NO_COLOR is set or if TERM is "dumb"."""
    value = {"NO_COLOR": "1", "TERM": "dumb"}[variable]
    documents = [broken("compute-1")]
    with (
        synthetic_fleet(broker.url, documents),
        watching(configured(folder, broker.url), **{variable: value}) as screen,
    ):
        screen.shows("compute-1")
        screen.send(b"\x03")
        screen.ended()
    assert b"\x1b[31m" not in screen.raw
    assert b"\x1b[1m" not in screen.raw
    assert (b"\x1b" in screen.raw) is (variable == "NO_COLOR")  # a dumb terminal gets lines


def test_the_key_u_in_watch_requests_an_audit(broker, folder):
    """When the operator presses "u" in `stocktake watch`, the agent of the selected host is told to audit."""
    host = "compute-audit-now"
    report = replace(REPORT, host=host)
    with agent(broker.url, host) as told, bus(broker.url) as opened:
        answered(caller(opened, host), "ping")
        told.audited(report)
        with watching(configured(folder, broker.url)) as screen:
            screen.shows(host)
            screen.send(b"u")
            screen.shows(f"{host}: the audit begins within 7 s")
    assert told.reasons == ["rpc: audit_now"]


def test_watch_requests_no_audit_from_a_host_never_seen(broker, folder):
    """The operator presses "u" for a host that has sent no message.

    `stocktake watch` says that it did not ask the host.
    """
    with watching(configured(folder, broker.url), "--expected", str(listed(folder, "compute-9")), "--all") as screen:
        screen.shows("AWAITED", "compute-9")
        screen.send(b"u")
        screen.shows("compute-9: not asked, because the host has sent no message")


ONCE = [
    clean("compute-1"),
    broken("compute-2", severity="warning", held_back=1),
    clean("compute-3", outcome="partial", sources_lost=["placement"]),
]


@pytest.mark.parametrize(
    ("fail_on", "code"),
    [(None, 0), ("error,silent", 0), ("error,never", 3)],
)
def test_watch_once_exits_3_if_a_fail_on_condition_holds(broker, folder, fail_on, code):
    """`stocktake watch --once --fail-on error,never` exits with 3 if an expected host has never sent a message."""
    expected = str(listed(folder, "compute-1", "compute-4"))
    more = () if fail_on is None else ("--fail-on", fail_on)
    with synthetic_fleet(broker.url, ONCE):
        done = once(configured(folder, broker.url), "--expected", expected, *more)
    assert done.returncode == code, done.stderr
    rows = [line.split()[:2] for line in done.stdout.splitlines()]
    assert rows[-3:] == [["NEVER", "compute-4"], ["PARTIAL", "compute-3"], ["WARNING", "compute-2"]]


def test_watch_once_prints_every_host_as_json(broker, folder):
    """`stocktake watch --once -f json` prints one object with all hosts and with the number of hosts in each state."""
    with synthetic_fleet(broker.url, ONCE):
        done = once(configured(folder, broker.url), "-f", "json")
    document = json.loads(done.stdout)
    assert [host["host"] for host in document["hosts"]] == ["compute-1", "compute-2", "compute-3"]
    assert (document["counts"]["clean"], document["counts"]["warning"], document["expected"]) == (1, 1, None)


def test_watch_once_prints_a_csv_row_for_each_host(broker, folder):
    """Three hosts send messages. `stocktake watch --once -f csv` prints a header and one row for each host."""
    with synthetic_fleet(broker.url, ONCE):
        done = once(configured(folder, broker.url), "-f", "csv")
    head, *rows = csv.reader(io.StringIO(done.stdout))
    assert tuple(head) == COLUMNS
    assert [row[1] for row in rows] == ["compute-1", "compute-2", "compute-3"]


def test_watch_once_writes_a_private_html_page(broker, folder):
    """`stocktake watch --once --html FILE` writes a page of the hosts, with file mode 0600."""
    page = folder / "once.html"
    expected = str(listed(folder, "compute-1", "compute-4"))
    with synthetic_fleet(broker.url, ONCE):
        done = once(configured(folder, broker.url), "--expected", expected, "--html", str(page))
    assert done.returncode == 0, done.stderr
    assert "NEVER" in done.stdout
    assert page.stat().st_mode & 0o777 == 0o600
    text = page.read_text()
    assert text.startswith("<!doctype html>")
    assert all(f"compute-{number}" in text for number in (2, 3, 4))
    assert "0 silent, 1 never seen" in text


def test_watch_once_can_print_an_html_page(broker, folder):
    """`stocktake watch --once --html -` prints a complete HTML page to stdout instead of the table of hosts."""
    with synthetic_fleet(broker.url, ONCE):
        done = once(configured(folder, broker.url), "--html", "-")
    assert done.stdout.startswith("<!doctype html>")
    assert done.stdout.endswith("</html>\n")


def test_watch_once_exits_75_if_it_cannot_write_the_page(broker, folder):
    """`stocktake watch --once --html FILE` exits with 75 and an error message if the folder of FILE does not exist."""
    with synthetic_fleet(broker.url, ONCE):
        done = once(configured(folder, broker.url), "--html", str(folder / "no-such-folder" / "page.html"))
    assert done.returncode == 75
    assert "cannot be written" in done.stderr


def test_the_html_page_has_the_last_state_after_watch_ended(broker, folder):
    """After the operator ends `stocktake watch --html FILE`, the page contains the last state of the hosts."""
    page, url = folder / "live.html", broker.virtual_host("page")
    with (
        synthetic_fleet(url, ONCE),
        watching(configured(folder, url, "page"), "--html", str(page)) as screen,
    ):
        screen.shows("PARTIAL", "compute-3")
        screen.send(b"q")
        assert screen.ended() == 0
    assert "3 hosts: 1 partial (!), 1 warning (+), 1 clean." in page.read_text()


@pytest.fixture(scope="module")
def other_broker(tmp_path_factory):
    with rabbitmq.running(tmp_path_factory.mktemp("other-broker")) as started:
        yield started


def test_watch_shows_hosts_as_silent_if_their_broker_dies(broker, other_broker, folder):
    """If the RabbitMQ broker of a cell dies, `stocktake watch` shows the hosts of this cell as SILENT."""
    cells = [
        f"--cell=one={configured(folder, broker.url, 'one')}",
        f"--cell=two={configured(folder, other_broker.url, 'two')}",
    ]
    command = [installed(COMMAND), "watch", *cells]
    with (
        synthetic_fleet(broker.url, [broken("compute-1")]),
        on_terminal(command, environment(), 100) as screen,
    ):
        with synthetic_fleet(other_broker.url, [broken("compute-1", interval_s=0.5)]):
            screen.shows("2 cells", "one   compute-1", "two   compute-1")
        other_broker.kill()
        text = screen.shows("two: broker unreachable since", "SILENT  two   compute-1")
        assert "ERROR   one   compute-1" in text
        away = FORKED.run(COMMAND, ["watch", "--once", *cells], 120, os.environ, folder)
        assert away.returncode == 75
        assert "two: the broker cannot be reached" in away.stderr
        assert "ERROR  one   compute-1" in away.stdout
        other_broker.start()
        with synthetic_fleet(other_broker.url, [broken("compute-1", "rival-writer")], 1.0):
            text = screen.shows("two   compute-1", "rival-writer")
        until(lambda: "broker unreachable" not in screen.text(), 60, "a screen without the line about the broker")
