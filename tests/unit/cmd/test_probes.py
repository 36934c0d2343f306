"""How ``config check --live`` asks all parts: at the same time, each with a limit, and none can spoil the others."""

import threading
from pathlib import Path

import pytest

from agent.cmd.probes import probes_for
from agent.cmd.probes.folders import folder_probes
from agent.cmd.probes.host import volume_group_probes
from agent.cmd.probes.monitoring import monitoring_probes
from agent.cmd.probes.probe import Answer, Probe, answers
from agent.config.load import load
from agent.errors import ConfigError, PlacementUnavailable, SourceUnavailable
from tests.rigs.configs import ALONE, load_ours
from tests.rigs.lvm import RECORDED, script


def failing(error: Exception) -> Probe:
    def ask(_deadline: object) -> str:
        raise error

    return Probe(what="part", ask=ask)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (SourceUnavailable("libvirt", "no such socket"), "no such socket"),
        (PlacementUnavailable("GET /: refused"), "placement: GET /: refused"),
        (ConfigError("compute_id: not a uuid"), "compute_id: not a uuid"),
        (PermissionError(13, "Permission denied"), "[Errno 13] Permission denied"),
        (KeyError("x"), "this is a bug: KeyError: 'x'"),
    ],
)
def test_a_failed_check_is_reported_with_its_error(error, words):
    """`stocktake config check --live` prints the error of a check that failed."""
    (found,) = answers([failing(error)])
    assert (found.what, found.ok, found.words) == ("part", False, words)


def test_check_results_are_listed_in_the_order_of_the_checks():
    """`stocktake config check --live` runs checks. The results have the order of the checks, each with its duration."""
    found = answers([Probe(what=name, ask=lambda _deadline, name=name: f"I am {name}") for name in "abc"])
    assert [(each.what, each.ok, each.words) for each in found] == [(name, True, f"I am {name}") for name in "abc"]
    assert all(0 <= each.took_ms < 10_000 for each in found)


def test_all_checks_run_at_the_same_time():
    """`stocktake config check --live` asks libvirt, Placement and all other services at once."""
    met = threading.Barrier(3, timeout=30)

    def ask(_deadline: object) -> str:
        met.wait()
        return "met the others"

    assert [each.words for each in answers([Probe(what=name, ask=ask) for name in "abc"])] == ["met the others"] * 3


def test_the_live_check_does_not_wait_for_a_hanging_service():
    """`stocktake config check --live` reports "no answer" for a hanging service and checks the other services."""
    hangs = threading.Event()
    found = answers([Probe(what="dead", ask=lambda _deadline: str(hangs.wait())), failing(OSError("x"))], limit_s=0.1)
    hangs.set()
    assert (found[0].ok, found[0].words) == (False, "no answer within 0.1 s")
    assert found[1].words == "x"


def test_a_service_that_is_not_configured_is_not_checked(tmp_path: Path):
    """`stocktake config check --live` checks a message broker, for example, only if the configuration has one."""
    alone = [probe.what for probe in probes_for(load_ours(tmp_path, ALONE))]
    *parts, health = alone
    assert parts == ["Keystone token", "Placement", "this host's provider", "libvirt", "state_dir", "run_dir"]
    assert health == "health address"
    text = ALONE.replace("source = none", "source = conductor")
    more = f"[metrics]\nuri = tcp://127.0.0.1:1\ntextfile = {tmp_path}/a.prom\n[lvm]\nvolume_groups = one,two\n"
    more += "[DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1:1/\n"
    every = {probe.what for probe in probes_for(load_ours(tmp_path, text + more))}
    assert every - set(alone) == {
        *("state source (conductor)", "volume group one", "volume group two", "message broker"),
        *("metrics address", "metrics text file"),
    }


def test_the_live_check_fails_without_the_metrics_folder(tmp_path: Path):
    """`stocktake config check --live` fails if the folder of the file in [metrics] textfile does not exist."""
    folder = tmp_path / "node"
    folder.mkdir()
    probes = tuple(monitoring_probes(load_ours(tmp_path, f"{ALONE}[metrics]\ntextfile = {folder}/a.prom\n")))
    assert answers(probes)[-1].ok
    folder.rmdir()
    found = answers(probes)[-1]
    assert (found.ok, found.words) == (False, f"{folder} cannot be written: No such file or directory")


def folders(tmp_path: Path, state_dir: Path) -> Answer:
    text = ALONE.replace("[agent]", f"[agent]\nstate_dir = {state_dir}\nrun_dir = {tmp_path}")
    return answers(tuple(folder_probes(load_ours(tmp_path, text))))[0]


def test_the_check_accepts_a_missing_state_dir(tmp_path: Path):
    """`stocktake config check --live` accepts a state_dir that does not exist yet, and does not create it."""
    assert folders(tmp_path, tmp_path).words.startswith(f"{tmp_path} can be written, ")
    missing = tmp_path / "a" / "b"
    assert folders(tmp_path, missing).words.startswith(f"{missing} does not exist yet, ")
    assert not missing.parent.exists()


@pytest.mark.parametrize("below", ["", "/deeper"])
def test_the_check_of_state_dir_fails_for_a_file(tmp_path: Path, below: str):
    """`stocktake config check --live` fails if state_dir, or a part of its path, is a file and not a folder."""
    (tmp_path / "file").write_text("")
    found = folders(tmp_path, Path(f"{tmp_path}/file{below}"))
    assert (found.ok, found.words) == (False, f"{tmp_path}/file is not a folder")


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A configuration of two volume groups; the lvm2 commands print recorded reports."""
    for name in ("vgs", "lvs"):
        script(tmp_path / "bin", name, f"cat {RECORDED}/two_groups.{name}.json")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")

    def configured(text: str):
        (tmp_path / "stocktake.conf").write_text(f"{ALONE}[lvm]\nvolume_groups = {text}\n")
        return answers(tuple(volume_group_probes(load([str(tmp_path / "stocktake.conf")]))))

    return configured


def test_the_check_of_a_volume_group_shows_its_free_space(groups):
    """`stocktake config check --live` prints the size and the free space of each configured LVM volume group."""
    assert [(each.what, each.ok, each.words) for each in groups("vg0,vg1")] == [
        ("volume group vg0", True, "0.2 GiB, 0.2 GiB free"),
        ("volume group vg1", True, "0.1 GiB, 0.1 GiB free"),
    ]


def test_the_check_of_a_missing_volume_group_fails(groups):
    """`stocktake config check --live` fails if the host has no volume group with the configured name."""
    (found,) = groups("missing")
    assert (found.ok, found.words) == (False, "this host has volume groups, but none is named missing")
