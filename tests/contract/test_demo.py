"""``stocktake demo`` as a user runs it: the document for scripts, the text for people, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.demo.faults import FAULTS
from agent.repairs import BY_CODE
from tests.rigs.lvm import make_group, script
from tests.rigs.programs import COMMAND, FORKED
from tests.rigs.schemas import complaints
from tests.rigs.source_tree import ROOT
from tests.rigs.wait import until

STOCKTAKE = str(Path(sys.executable).parent / "stocktake")


def run(
    tmp_path: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    changed = {**os.environ, "TMPDIR": str(tmp_path), **(environment or {})}
    return FORKED.run(COMMAND, ["demo", *arguments], 600, changed, ROOT)


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def document(tmp_path_factory, pages):
    folder = tmp_path_factory.mktemp("demo")
    done = run(folder, "-f", "json", "--html", str(pages / "demo.html"))
    assert done.returncode == 0, done.stderr
    assert_nothing_is_left(folder)
    return json.loads(done.stdout)  # stdout has the document and nothing else


def findings(host, code):
    return [f for f in host["audit"]["findings"] if f["code"] == code and f["confirmed"]]


def of_class(rows, name):
    (row,) = [row for row in rows if row["resource_class"] == name]
    return row


def test_the_demo_shows_all_six_stories(document):
    """`stocktake demo -f json` contains six numbered stories, each with "shown": true."""
    assert [(s["number"], s["shown"]) for s in document["stories"]] == [(n, True) for n in range(1, 7)]


def test_the_demo_writes_a_fleet_page_and_two_host_pages(document, pages):
    """`stocktake demo --html demo.html` writes one HTML page for all hosts, and one page for each host."""
    written = {file.name: file.read_text() for file in pages.iterdir()}
    assert sorted(written) == ["demo-stocktake-demo-1.html", "demo-stocktake-demo-2.html", "demo.html"]
    # What story 1 and story 5 say, on the page of the fleet: 8 VCPU of the first host, 71 of the second.
    assert "The scheduler cannot allocate 79 VCPU" in written["demo.html"]
    assert all("billing" in text for text in written.values())


def test_demo_story_1_shows_vcpus_of_an_evacuated_instance(document):
    """An instance was evacuated to another host, and Placement still counts its 8 VCPU on the first host."""
    vcpus = [row for row in document["ledger"] if row["resource_class"] == "VCPU"]
    assert sum(row["promised"] or 0 for row in vcpus) == 16
    assert sum(row["recorded"] or 0 for row in vcpus) == 24
    (evacuated,) = [row for row in vcpus if row["promised"] is None and row["recorded"]]
    (finding,) = findings(document, "migration-finished-but-counted")
    assert finding["consumer_uuid"] == evacuated["consumer_uuid"]
    assert evacuated["recorded"] == 8


def test_demo_story_2_reserves_disk_for_an_unknown_volume(document):
    """Nova does not know a volume of 120 GiB on the host, so the agent reserves 120 DISK_GB."""
    (finding,) = findings(document, "volume-foreign")
    assert finding["facts"]["size_bytes"] == 120 * 2**30
    assert [claim["size_bytes"] for claim in finding["evidence"]] == [120 * 2**30]
    assert of_class(document["inventory"], "DISK_GB")["reserved"] == 120


def test_demo_story_3_shows_that_max_unit_is_the_cpu_count(document):
    """The host has 48 CPUs, so `stocktake why --resource VCPU=64` answers that max_unit allows at most 48."""
    vcpu = of_class(document["inventory"], "VCPU")
    assert (vcpu["total"], vcpu["max_unit"], vcpu["allocation_ratio"]) == (48, 48, 4.0)
    third = document["stories"][2]
    (answer,) = [
        line for line in third["evidence"] if line.startswith("the command stocktake why names the obstacle max-unit: ")
    ]
    assert "64 VCPU" in answer
    assert "at most 48" in answer
    assert "a higher ratio does not raise it" in answer
    assert third["ask"] == "stocktake why --resource VCPU=64"
    assert findings(document, "consumer-on-several-providers")


def test_demo_story_4_reports_an_orphaned_compute_node(document):
    assert len(findings(document, "compute-node-orphaned")) == 1


def test_demo_story_5_shows_negative_free_amounts(document):
    """Seven leaked allocations make the free VCPU and the free DISK_GB of the second host negative."""
    second = document["hosts"]["stocktake-demo-2"]
    assert of_class(second["inventory"], "VCPU")["free"] == -43
    assert of_class(second["inventory"], "DISK_GB")["free"] == -7332
    leaked = {f["consumer_uuid"] for f in findings(second, "allocation-leaked")}
    assert len(leaked) == 7
    over = {f["resource_class"]: f for f in findings(second, "over-capacity")}
    assert set(over) == {"VCPU", "DISK_GB"}
    assert all(uuid in over["VCPU"]["actual"] for uuid in leaked)
    incoming = [r for r in second["ledger"] if r["cause"] == "migration-in" and r["resource_class"] == "VCPU"]
    assert [row["promised"] for row in incoming] == [8]


def test_the_demo_says_that_its_agents_replace_nova_compute(document):
    """`stocktake demo` runs two agents, and says that they run in nova-compute's place."""
    (said,) = [line for line in document["simulated"] if line.startswith("nova-compute: ")]
    assert "both agents have role owner" in said
    assert "Beside a running nova-compute, the role is companion" in said


def test_the_demo_json_repeats_the_first_host_at_the_top(document):
    """The keys audit, ledger and inventory of `stocktake demo -f json` have the values of the first host."""
    first = document["hosts"]["stocktake-demo-1"]
    assert {name: document[name] for name in ("audit", "ledger", "inventory")} == first
    assert set(document["hosts"]) == {"stocktake-demo-1", "stocktake-demo-2"}


def test_the_json_of_each_demo_host_matches_its_schemas(document):
    """The audit, the ledger and the inventory in `stocktake demo -f json` match the project's JSON schemas."""
    for host in document["hosts"].values():
        assert {name: complaints(name, host[name]) for name in ("audit", "ledger", "inventory")} == {
            "audit": [],
            "ledger": [],
            "inventory": [],
        }


def kept_command(said: str, host: str, asked: str) -> str:
    """Return the one command line for ``asked`` on this host, as a user can copy it."""
    lines = {line.strip().removeprefix("try: ") for line in said.splitlines()}
    (line,) = [line for line in lines if line.endswith(asked) and f"/{host}/bin/stocktake" in line]
    return line


def end_as_told(said: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the command at the end of the one line about the kept cloud."""
    (line,) = [line for line in said.splitlines() if line.startswith("the demo's cloud stays in ")]
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = line.partition("; remove it: ")[2]
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=environment)


def copied(line: str) -> str:
    # readline, which some library may import, exports the width of a terminal.
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=300, check=False, env=environment)
    assert "not found" not in done.stderr
    return done.stdout


def test_a_shell_runs_the_commands_that_the_demo_prints(tmp_path):
    """A user copies a command that `stocktake demo --keep` printed into a shell. The command prints its answer."""
    folder = tmp_path / "with a blank"
    folder.mkdir()
    done = run(folder, "--keep")
    assert done.returncode == 0, done.stderr
    try:
        # The command line, copied as it is, works from any folder.
        answer = copied(kept_command(done.stdout, "stocktake-demo-1", "explain VCPU"))
        assert "recorded 24 of 192, promised 16" in answer
        assert "evacuated from here, so counted as 0" in answer
        # After the host's rc file, a command works as the agent prints it, and lvm2's commands see the demo's volumes.
        (rc,) = re.findall("commands on stocktake-demo-1, run: (.*)", done.stderr)
        assert "recorded 24 of 192" in copied(f"{rc}; stocktake explain VCPU")
        assert "backup-by-hand" in copied(f"{rc}; lvs stocktake-demo-1-vg/backup-by-hand")
        (delete,) = re.findall("hand: (python3 .*)", copied(f"{rc}; stocktake audit"))
        assert "compute-node-orphaned" not in copied(f"{rc}; {delete}; stocktake findings")
        assert "7 consumers: gone-1, gone-2" in copied(kept_command(done.stdout, "stocktake-demo-2", "explain VCPU"))
        assert "120 GiB  reserved" in copied(kept_command(done.stdout, "stocktake-demo-1", "explain DISK_GB"))
        assert "volume-foreign" in copied(kept_command(done.stdout, "stocktake-demo-1", "audit"))
        third = kept_command(done.stdout, "stocktake-demo-1", "why --resource VCPU=64")
        assert "blocked by max_unit" in copied(third)
        short = " ".join(copied(third.replace("VCPU=64", "DISK_GB=41")).split())
        assert (
            "(option reserved_host_disk_mb is only a part of the reserved amount: the agent adds the usage of guests "
            "and volumes that nova does not know; see stocktake explain" in short
        )
        assert "allocation-stale-move 80 GiB (stocktake heal), volume-foreign 120 GiB; see stocktake explain" in short
    finally:
        ended = end_as_told(done.stderr, folder)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith("removed the demo's cloud in ")
    assert "`stocktake demo --list` lists the kept clouds" in end_as_told(done.stderr, folder).stderr
    until(lambda: not processes_of(folder), 60, "Placement has ended")
    assert_nothing_is_left(folder)


@pytest.fixture(scope="module")
def practice(tmp_path_factory):
    """A practice cloud with every fault that there is, and the folder for temporary files in which it lies."""
    folder = tmp_path_factory.mktemp("practice")
    done = run(folder, "--practice", str(len(FAULTS)), "--seed", "3", "-f", "json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    yield document, folder
    ended = subprocess.run(["sh", "-c", document["end"]], capture_output=True, text=True, check=True)
    assert ended.stdout == f"removed the demo's cloud in {document['folder']}\n"
    until(lambda: not processes_of(folder), 60, "Placement and the agents have ended")
    assert_nothing_is_left(folder)


def on_host(practice, number: int, command: str) -> str:
    return copied(f". '{practice[0]['rc'][f'stocktake-practice-{number}']}'; {command}")


@pytest.mark.root
def test_stocktake_findings_lists_each_fault_of_the_demo(practice):
    """`stocktake findings` lists each fault in the cloud that `stocktake demo --practice` builds."""
    found = json.loads(on_host(practice, 1, "stocktake findings --last --causes -f json"))
    assert {each["code"] for each in found} == set(FAULTS)
    assert {each["state"] for each in found} == {"confirmed"}


@pytest.mark.root
def test_the_practice_files_do_not_reveal_the_faults(practice):
    """`stocktake demo --practice` builds a cloud with faults to be found.

    Its JSON files do not show the finding codes.
    """
    document, _ = practice
    assert not any(code in json.dumps(document) for code in FAULTS)
    texts = (file.read_text() for file in Path(document["folder"]).glob("*.json"))
    assert not any(code in text for text in texts for code in FAULTS)


def _changes(practice, number, heal):
    return len(json.loads(on_host(practice, number, f"{heal} -f json"))["actions"])


@pytest.mark.root
def test_printed_commands_and_heal_repair_all_practice_faults(practice):
    """In `stocktake demo --practice`, an audit's printed commands and `stocktake heal` repair every fault."""
    said = on_host(practice, 1, "stocktake audit")
    commands = re.findall("^ hand: ((?:lvremove|python3|rm) .*)$", said, re.MULTILINE)
    assert len(commands) == 4
    on_host(practice, 1, "; ".join(commands))
    left = json.loads(on_host(practice, 1, "stocktake findings --causes -f json"))
    assert {each["code"] for each in left} == set(BY_CODE) & set(FAULTS)
    heals = [each["fix"] for each in left if each["fix"]]
    assert len(heals) == len(left) - 1  # the agent of the other host repairs consumer-on-several-providers
    (there,) = json.loads(on_host(practice, 2, "stocktake findings --code allocation-stale-move -f json"))
    # A guard rail may let a finding wait until a source is read again or one more audit has seen the finding.
    for number, heal in (*((1, heal) for heal in heals), (2, there["fix"])):
        until(lambda number=number, heal=heal: _changes(practice, number, heal) == 1, 60, f"one change by {heal}")


@pytest.mark.root
def test_demo_end_needs_a_folder_if_two_demo_clouds_exist(practice):
    """`stocktake demo --end` without a folder lists the two demo clouds and removes neither cloud."""
    document, folder = practice
    copy = folder / "stocktake-demo-another"
    copy.mkdir()
    kept = json.loads((Path(document["folder"]) / "kept.json").read_text())
    (copy / "kept.json").write_text(json.dumps(kept | {"pid": 0, "devices": [], "agents": []}))
    try:
        refused = run(folder, "--end")
        assert refused.returncode == 127
        assert refused.stdout == run(folder, "--list").stdout
        assert all(f"demo --end {each}\n" in refused.stdout for each in (document["folder"], copy))
        assert "there are 2 demo clouds, and none was removed" in refused.stderr
    finally:
        named = run(folder, "--end", str(copy))
    assert (named.returncode, named.stdout) == (0, f"removed the demo's cloud in {copy}\n")
    assert not copy.exists()
    assert Path(document["folder"]).exists()


def test_the_demo_json_has_a_full_command_for_each_story(tmp_path):
    """In `stocktake demo --keep -f json`, each story has a command that begins with an absolute path."""
    done = run(tmp_path, "--keep", "-f", "json")
    try:
        asks = [story["ask"] for story in json.loads(done.stdout)["stories"]]
        assert all(
            re.fullmatch(rf"{tmp_path}/stocktake-demo-\w+/stocktake-demo-[12]/bin/stocktake .+", a) for a in asks
        )
    finally:
        ended = end_as_told(done.stderr, tmp_path)
    assert ended.returncode == 0, ended.stderr


def test_a_demo_with_closed_stdout_leaves_nothing_behind(tmp_path):
    """`stocktake demo --keep` cannot print its output, so it removes its files and ends its processes."""
    with subprocess.Popen(
        [STOCKTAKE, "demo", "--keep"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(300) != 0
    assert_nothing_is_left(tmp_path)


def test_the_demo_prints_six_commands_to_try(text):
    """`stocktake demo` prints six commands, and says that `stocktake demo --keep` keeps the cloud for them."""
    hints = [line.strip() for line in text.splitlines() if line.startswith("  try: ")]
    assert len(hints) == 6
    assert "`stocktake demo --keep` keeps the cloud" in " ".join(text.split())


def test_demo_story_6_repairs_a_leak_and_undoes_the_repair(document, text):
    """Placement counts 24 VCPU before the demo's repair and 16 after it. The undo brings back the 24."""
    (repaired,) = [line for line in document["stories"][5]["evidence"] if line.startswith("VCPU that Placement counts")]
    assert repaired.endswith(": 24 before, 16 after the repair")
    assert of_class(document["inventory"], "VCPU")["used"] == 24
    assert "here [heal] min_age is 0" in " ".join(text.split())


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The demo's text for people; the test calls the program by its bare name."""
    path = f"{Path(STOCKTAKE).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "TMPDIR": str(tmp_path_factory.mktemp("demo"))}
    done = subprocess.run(
        ["stocktake", "demo"], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def section(text: str, begin: str, end: str) -> list[str]:
    return text[text.index(begin) :].split(end, maxsplit=1)[0].splitlines()[1:]


def test_the_demo_sorts_its_findings_by_code(text):
    """The findings that `stocktake demo` prints for a host are sorted by their finding codes."""
    second = text[text.index("stocktake-demo-2: findings") :]
    rows = [line.split() for line in section(second, "Findings (", "\n\n")[1:]]
    assert [tuple(row[:3]) for row in rows] == [
        *(("ERROR", "allocation-leaked", f"gone-{number}") for number in range(1, 8)),
        ("ERROR", "consumer-on-several-providers", "billing"),
        ("ERROR", "over-capacity", "DISK_GB"),
        ("ERROR", "over-capacity", "VCPU"),
    ]


def test_demo_story_5_lists_each_leaked_consumer_once(text, document):
    """Story 5 of `stocktake demo` prints the UUID of each of seven leaked consumers exactly once."""
    told = section(text, "Story 5 (", "  try: ")
    leaked = {f["consumer_uuid"] for f in findings(document["hosts"]["stocktake-demo-2"], "allocation-leaked")}
    assert len(leaked) == 7
    assert [" ".join(told).count(uuid) for uuid in leaked] == [1] * 7
    bullets = [line for line in told if line.startswith("  - ")]
    assert bullets[-1].startswith("  - stocktake-demo-2 has leaked allocations: 7 deleted or moved consumers still")


def test_the_demo_text_fits_a_terminal_of_80_columns(text):
    assert [line for line in text.splitlines() if len(line) > 80] == []


# A part of each progress line of the demo; the tests end the demo after that line.
MOMENTS = (
    "Placement on",
    "demo-1-vg",
    "demo-2-vg",
    "cell database",
    "first audit",
    "demo-1 runs two",
    "demo-2 runs two",
)
ENDINGS = ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129))


def started(tmp_path: Path, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [STOCKTAKE, "demo"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path), **environment},
    )


def loops_over(folder: Path) -> list[str]:
    listed = subprocess.run(["losetup", "-a"], capture_output=True, text=True, check=False).stdout
    return [line for line in listed.splitlines() if str(folder) in line]


def processes_of(folder: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_text().split("\0")
        except OSError:
            continue
        if any(str(folder) in word for word in words):
            found.append(" ".join(words))
    return found


def assert_nothing_is_left(folder: Path) -> None:
    assert list(folder.iterdir()) == []
    assert loops_over(folder) == []
    assert processes_of(folder) == []


@pytest.mark.parametrize(
    ("moment", "number"),
    [*((moment, signal.SIGTERM) for moment in MOMENTS), *((moment, signal.SIGINT) for moment in MOMENTS[:4])],
)
def test_a_demo_ended_by_a_signal_leaves_nothing_behind(tmp_path, moment, number):
    """`stocktake demo` gets SIGTERM or SIGINT at any step, removes its files and ends its processes."""
    with started(tmp_path) as process:
        assert process.stderr is not None
        seen = any(moment in line for line in process.stderr)
        process.send_signal(number)
        # Further signals from an impatient user must not interrupt the clean-up.
        process.send_signal(signal.SIGINT)
        process.send_signal(number)
        said = process.stderr.read()
        code = process.wait(300)
    assert seen
    assert code in dict(ENDINGS).values()
    assert "Traceback" not in said
    assert_nothing_is_left(tmp_path)


@pytest.mark.parametrize(("number", "code"), ENDINGS, ids=str)
def test_the_demo_exits_with_128_plus_the_number_of_the_signal(tmp_path, number, code):
    """For example, `stocktake demo` exits with 143 after SIGTERM, which has the number 15."""
    with started(tmp_path) as process:
        assert process.stderr is not None
        assert any("cell database" in line for line in process.stderr)
        process.send_signal(number)
        process.stderr.read()
        assert process.wait(300) == code


def test_a_demo_with_closed_stderr_leaves_nothing_behind(tmp_path):
    """`stocktake demo` cannot print its progress, so it removes its files and ends its processes."""
    with started(tmp_path) as process:
        assert process.stderr is not None
        assert any("cell database" in line for line in process.stderr)
        process.stderr.close()
        assert process.wait(300) != 0
    assert_nothing_is_left(tmp_path)


def broken(folder: Path, command: str, good_runs: int) -> dict[str, str]:
    """Return a PATH in which ``command`` works ``good_runs`` times and then fails."""
    real = shutil.which(command, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    script(
        folder / "bin",
        command,
        f'echo run >>"{folder}/runs"\n[ "$(wc -l <"{folder}/runs")" -le {good_runs} ] && exec {real} "$@"\n'
        f"echo '{command}: no more' >&2; exit 5",
    )
    return {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}


@pytest.mark.root
@pytest.mark.parametrize(
    ("command", "good_runs", "code"),
    [("vgcreate", 0, 0), ("vgcreate", 1, 0), ("lvcreate", 0, 1), ("lvcreate", 3, 1), ("lvcreate", 5, 1)],
)
def test_a_demo_with_failed_lvm2_leaves_nothing_behind(tmp_path, command, good_runs, code):
    """vgcreate or lvcreate fails during `stocktake demo`, and the demo removes its files and loop devices."""
    make_group(tmp_path, "probe").close()
    (tmp_path / "tmp").mkdir()
    done = run(tmp_path / "tmp", "-f", "json", environment=broken(tmp_path, command, good_runs))
    assert done.returncode == code, done.stderr
    failure = f"{command} ended with exit code 5: {command}: no more"
    if code:
        assert json.loads(done.stdout)["error"]["message"] == f"demo: {failure}"
        assert done.stderr.splitlines()[-1] == f"stocktake: demo: {failure}"
    else:
        assert any(failure in line for line in json.loads(done.stdout)["simulated"])
    assert "Traceback" not in done.stderr
    assert_nothing_is_left(tmp_path / "tmp")


@pytest.mark.root
def test_the_demo_works_after_a_failed_losetup(tmp_path):
    """`stocktake demo` exits with 0 if losetup fails, and its output shows the failure."""
    (tmp_path / "tmp").mkdir()
    done = run(tmp_path / "tmp", "-f", "json", environment=broken(tmp_path, "losetup", 0))
    assert done.returncode == 0, done.stderr
    assert any("losetup ended with exit code 5" in line for line in json.loads(done.stdout)["simulated"])
    assert_nothing_is_left(tmp_path / "tmp")


def test_a_failed_placement_start_is_reported_in_one_line(tmp_path):
    """`stocktake demo` cannot start its own Placement, and prints the reason in one line without a traceback."""
    (tmp_path / "tmp").mkdir()
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "waitress.py").write_text("raise ImportError('no waitress today')\n")
    done = run(tmp_path / "tmp", "-f", "json", environment={"PYTHONPATH": str(tmp_path / "odd")})
    assert (done.returncode, json.loads(done.stdout)["exit_code"]) == (1, 1)
    first, last = done.stderr.splitlines()
    assert first.endswith("Placement on SQLite, in its own process")
    assert last.startswith("stocktake: demo: placement: the server did not start")
    assert "no waitress today" in last
    assert_nothing_is_left(tmp_path / "tmp")
