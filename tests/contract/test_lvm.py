"""The LVM source against real lvm2: groups on loop devices, and an lvm2 that lies, hangs or crashes."""

import contextlib
import json
import os
import pathlib
import re
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import replace

import pytest

from agent.demo.recorded_group import RecordedGroup
from agent.demo.volume_group import NoVolumeGroup, VolumeGroupRig, open_group
from agent.errors import SourceInconsistent, SourceUnavailable
from agent.model.host.storage import StorageFacts
from agent.ports import Deadline
from agent.sources.storage import lvm as lvm_source
from agent.sources.storage import lvm_json
from agent.sources.storage.lvm import Completed, Lvm, Runner, SubprocessRunner
from tests.rigs import lvm as rigs
from tests.rigs.lvm_layouts import every_kind, thin_pool
from tests.rigs.wait import until

MIB = 1 << 20
EXTENT = 4 * MIB
root = pytest.mark.root


def read(runner: Runner, *groups: str, deadline_s: float = 30.0) -> StorageFacts:
    return Lvm(groups, deadline_s, runner).read(Deadline.after(60.0))


@pytest.fixture
def group(tmp_path: pathlib.Path) -> Iterator[VolumeGroupRig]:
    with contextlib.closing(rigs.make_group(tmp_path, "vg0")) as rig:
        yield rig


@pytest.fixture
def second(tmp_path: pathlib.Path) -> Iterator[VolumeGroupRig]:
    with contextlib.closing(rigs.make_group(tmp_path, "vg1", 256 * MIB)) as rig:
        yield rig


@root
def test_the_next_lvm_read_includes_a_new_volume(group: VolumeGroupRig) -> None:
    group.add_volume("11111111-1111-4111-8111-111111111111_disk", 20 * MIB)
    before = read(group.runner, "vg0")
    assert (before.groups[0].size_bytes, before.groups[0].free_bytes) == (255 * EXTENT, 250 * EXTENT)
    group.add_volume("handmade", 10 * MIB)
    after = read(group.runner, "vg0")
    assert [(v.path, v.size_bytes, v.extent_bytes) for v in after.volumes] == [
        ("vg0/11111111-1111-4111-8111-111111111111_disk", 5 * EXTENT, 5 * EXTENT),
        ("vg0/handmade", 3 * EXTENT, 3 * EXTENT),
    ]
    assert after.groups[0].free_bytes == 247 * EXTENT
    group.remove_volume("handmade")
    assert read(group.runner, "vg0") == before


@root
def test_the_agent_reads_only_configured_volume_groups(
    tmp_path: pathlib.Path, group: VolumeGroupRig, second: VolumeGroupRig
) -> None:
    group.add_volume("a", EXTENT)
    second.add_volume("b", EXTENT)
    both = rigs.view(tmp_path / "view", group, second)
    assert [v.path for v in read(both, "vg1").volumes] == ["vg1/b"]
    facts = read(both, "vg1", "vg0")
    assert [g.name for g in facts.groups] == ["vg0", "vg1"]
    assert [v.path for v in facts.volumes] == ["vg0/a", "vg1/b"]


@root
def test_a_vanished_volume_group_is_left_out(group: VolumeGroupRig, second: VolumeGroupRig) -> None:
    """If a configured LVM volume group no longer exists, the agent's read succeeds and leaves the group out."""
    assert read(second.runner, "vg0") == StorageFacts()
    assert [g.name for g in read(second.runner, "vg0", "vg1").groups] == ["vg1"]


@root
def test_the_lvm_read_fails_if_vgs_lists_nothing(tmp_path: pathlib.Path, group: VolumeGroupRig) -> None:
    """If `vgs` lists no volume group at all, the LVM read fails and its error mentions missing privileges."""
    with pytest.raises(SourceInconsistent, match=r"lists no volume group at all, but vg0 is configured.*privileges"):
        read(rigs.view(tmp_path / "blind"), "vg0")


@root
def test_an_lvm_read_without_root_hints_at_privileges() -> None:
    """If the agent runs `vgs` without root, the read fails and the error mentions missing privileges."""
    nobody = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")
    # Only root may enter pytest's own folders; lvm2 would fail there because it could not read its configuration.
    with tempfile.TemporaryDirectory() as name, contextlib.closing(rigs.make_group(pathlib.Path(name), "vg0")) as rig:
        pathlib.Path(name).chmod(0o755)
        (pathlib.Path(name) / "vg0.lvm" / "lock").chmod(0o777)
        with pytest.raises(SourceInconsistent, match=r"privileges.*non-root"):
            read(Prefixed(rig.runner, nobody), "vg0")


class Prefixed:
    """A runner that runs each command through another command."""

    def __init__(self, runner: Runner, prefix: tuple[str, ...]) -> None:
        self.runner = runner
        self.prefix = prefix

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Completed:
        return self.runner.run((*self.prefix, *argv), timeout_s)


@root
def test_the_extents_of_all_volumes_add_up(group: VolumeGroupRig) -> None:
    """A volume group has volumes of every LVM kind. Their extents add up to the used space that `pvs` shows."""
    rigs.lay_out(group, every_kind())
    facts = read(group.runner, "vg0")
    used = rigs.lvm(group.runner, "pvs", "--noheadings", "--units", "b", "--nosuffix", "-o", "pv_used")
    assert sum(v.extent_bytes for v in facts.volumes) == int(used)
    recorded_groups = lvm_json.parse_groups((rigs.RECORDED / "every_kind.vgs.json").read_text())
    recorded = lvm_json.parse_storage((rigs.RECORDED / "every_kind.lvs.json").read_text(), recorded_groups)
    assert (facts.volumes, facts.thin_pools) == (recorded.volumes, recorded.thin_pools)
    assert replace(facts.groups[0], uuid=recorded_groups[0].uuid) == recorded_groups[0]


@root
def test_only_the_hidden_volumes_of_a_thin_pool_have_extents(group: VolumeGroupRig) -> None:
    """The hidden data and metadata volumes of an LVM thin pool have extents; the pool itself has 0 extents."""
    rigs.lay_out(group, thin_pool("vg0-pool", "volume-1", "volume-2"))
    facts = read(group.runner, "vg0")
    assert {v.name: (v.size_bytes // EXTENT, v.extent_bytes // EXTENT) for v in facts.volumes} == {
        "lvol0_pmspare": (1, 1),
        "vg0-pool": (50, 0),
        "vg0-pool_tdata": (50, 50),
        "vg0-pool_tmeta": (1, 1),
        "volume-1": (100, 0),
        "volume-2": (100, 0),
    }


@root
def test_a_volume_on_a_missing_disk_keeps_its_extents(
    tmp_path: pathlib.Path, group: VolumeGroupRig, second: VolumeGroupRig
) -> None:
    """The physical volume below an LVM volume is missing; the agent still reads the size of the volume in extents."""
    second.add_volume("lost", 2 * EXTENT)
    rigs.lvm(rigs.view(tmp_path / "both", group, second), "vgmerge", "vg0", "vg1")
    facts = read(group.runner, "vg0")
    assert facts.groups[0].missing_pvs == 1
    assert [(v.name, v.extent_bytes) for v in facts.volumes] == [("lost", 2 * EXTENT)]


class Meddler:
    """A runner that changes the group after the first vgs, as another process may between the source's two reads."""

    def __init__(self, rig: VolumeGroupRig) -> None:
        self.rig = rig
        self.commands: list[str] = []

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Completed:
        completed = self.rig.runner.run(argv, timeout_s)
        if not self.commands:
            self.rig.add_volume("sudden", EXTENT)
        self.commands.append(argv[0])
        return completed


@root
def test_a_volume_created_during_a_read_causes_a_second_read(group: VolumeGroupRig) -> None:
    """A volume appears after the agent ran `vgs` and before it runs `lvs`, so the agent runs both commands again."""
    meddler = Meddler(group)
    facts = read(meddler, "vg0")
    assert meddler.commands == ["vgs", "lvs", "vgs", "lvs"]
    assert facts.groups[0].free_bytes == 254 * EXTENT
    assert [v.name for v in facts.volumes] == ["sudden"]


@root
def test_the_error_of_a_failed_vgs_quotes_stderr(tmp_path: pathlib.Path) -> None:
    """If `vgs` fails, the agent's error shows the exit status and the last line that `vgs` wrote to stderr."""
    (tmp_path / "lvm.conf").write_text("devices {", encoding="utf-8")
    runner = SubprocessRunner(environment={"LVM_SYSTEM_DIR": str(tmp_path)})
    with pytest.raises(SourceUnavailable, match=r"vgs failed with exit status \d+: Failed to load config file"):
        read(runner, "vg0")


def test_the_lvm_read_fails_if_lvm2_is_not_installed(tmp_path: pathlib.Path) -> None:
    with pytest.raises(SourceUnavailable, match=r"^lvm: vgs is not installed \(lvm2\) or not in PATH$"):
        read(SubprocessRunner(environment={"PATH": str(tmp_path)}), "vg0")


def test_the_lvm_read_fails_if_vgs_is_not_executable(tmp_path: pathlib.Path) -> None:
    rigs.script(tmp_path, "vgs", "exit 0").chmod(0o644)
    with pytest.raises(SourceUnavailable, match=r"^lvm: vgs cannot be started: Permission denied$"):
        read(in_path(tmp_path), "vg0")


def in_path(folder: pathlib.Path) -> SubprocessRunner:
    return SubprocessRunner(environment={"PATH": f"{folder}:/usr/bin:/bin"})


def test_a_hanging_lvm_command_is_killed_with_its_children(tmp_path: pathlib.Path) -> None:
    """If `vgs` does not answer before the deadline, the agent kills `vgs` and the child processes of `vgs`."""
    hang = f"sleep 60 & echo $! > {tmp_path}/child\necho waiting for a lock >&2\nwait"
    rigs.script(tmp_path / "bin", "vgs", hang)
    with pytest.raises(SourceUnavailable, match=r"vgs did not answer within 3\.0 s and was killed.*waiting for a lock"):
        read(in_path(tmp_path / "bin"), "vg0", deadline_s=3.0)
    child = int((tmp_path / "child").read_text())
    until(lambda: ended(child), 60.0, "the child of vgs has ended")


def written(path: pathlib.Path) -> str:
    """Return what a shell has written to the file; empty before that."""
    return path.read_text() if path.exists() else ""


def ended(pid: int) -> bool:
    """Return whether the process is gone or a zombie: where no init runs, an orphan stays a zombie."""
    try:
        return re.search(r"^State:\tZ", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE) is not None
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_an_unkillable_lvm_command_is_not_started_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a `vgs` process survives SIGKILL, the agent's later reads fail without starting another `vgs`."""
    # A test cannot make a process hang in the kernel. A killpg that does nothing has the same effect.
    runner, killpg = in_path(tmp_path / "bin"), os.killpg
    monkeypatch.setattr(lvm_source, "_REAP_S", 0.05)
    monkeypatch.setattr(os, "killpg", lambda *_: None)
    rigs.script(tmp_path / "bin", "vgs", f"echo $$ >> {tmp_path}/runs\nexec sleep 60")
    said = set()
    for _ in range(3):
        with pytest.raises(SourceUnavailable) as raised:
            read(runner, "vg0", deadline_s=0.5)
        said.add(str(raised.value))
    (hung,) = map(int, until(lambda: written(tmp_path / "runs"), 60.0, "the hung vgs has begun").split())
    assert said == {
        "lvm: vgs did not answer within 0.5 s and was killed; the last line on stderr: "
        "(stderr was not read, because the command still runs after SIGKILL)"
    }
    # The runner still runs other commands: a command that hangs does not block them.
    assert runner.run(("sh", "-c", "echo fine"), 60.0).stdout == "fine\n"
    killpg(hung, signal.SIGKILL)
    monkeypatch.setattr(os, "killpg", killpg)
    rigs.script(tmp_path / "bin", "vgs", "echo works again >&2; exit 5")
    until(lambda: ended(hung), 60.0, "the hung vgs has ended")
    with pytest.raises(SourceUnavailable, match=r"works again"):
        read(runner, "vg0")


def test_the_timeout_error_of_lvs_shows_the_limit_of_the_read(tmp_path: pathlib.Path) -> None:
    """If `lvs` hangs, the agent's error shows the time limit of the whole LVM read."""
    row = {"vg_name": "vg0", "vg_uuid": "u", "vg_size": "8192", "vg_free": "0", "vg_extent_size": "4096"}
    report = json.dumps({"report": [{"vg": [{**row, "vg_missing_pv_count": "0"}]}]})
    rigs.script(tmp_path / "bin", "vgs", f"sleep 0.3; echo '{report}'")
    rigs.script(tmp_path / "bin", "lvs", "exec sleep 60")
    with pytest.raises(SourceUnavailable, match=r"^lvm: lvs did not answer within 3\.0 s and was killed"):
        read(in_path(tmp_path / "bin"), "vg0", deadline_s=3.0)


def test_the_audit_deadline_limits_the_lvm_read(tmp_path: pathlib.Path) -> None:
    """If the audit's deadline is before the limit of the LVM read, the agent stops `vgs` at the deadline."""
    rigs.script(tmp_path / "bin", "vgs", "exec sleep 60")
    source = Lvm(("vg0",), 60.0, in_path(tmp_path / "bin"))
    with pytest.raises(SourceUnavailable, match=r"did not answer within [01]\.\d s"):
        source.read(Deadline.after(1.0))


CRASH = """\
echo run >> {folder}/runs
if [ $(wc -l < {folder}/runs) -le {crashes} ]; then kill -SEGV $$; fi
exec /usr/sbin/vgs "$@"
"""


@root
def test_a_crashed_vgs_is_run_again(tmp_path: pathlib.Path, group: VolumeGroupRig) -> None:
    """If `vgs` crashes once with a segmentation fault, the agent runs `vgs` again and the read succeeds."""
    folder = tmp_path / "bin"
    rigs.script(folder, "vgs", CRASH.format(folder=folder, crashes=1))
    path = {"PATH": f"{folder}:/usr/sbin:/usr/bin:/bin"}
    facts = read(SubprocessRunner(environment={**group.environment, **path}), "vg0")
    assert [g.name for g in facts.groups] == ["vg0"]


def test_the_lvm_read_fails_if_vgs_crashes_twice(tmp_path: pathlib.Path) -> None:
    rigs.script(tmp_path / "bin", "vgs", CRASH.format(folder=tmp_path, crashes=9))
    with pytest.raises(SourceUnavailable, match=r"vgs was ended by SIGSEGV, 2 times"):
        read(in_path(tmp_path / "bin"), "vg0")
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_lvm_commands_run_with_locale_c_and_an_empty_stdin(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent runs LVM commands with LC_ALL=C and an empty stdin."""
    monkeypatch.setenv("LVM_SYSTEM_DIR", "/of/the/operator")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    show = 'echo "$LC_ALL $LVM_SUPPRESS_FD_WARNINGS $LVM_SYSTEM_DIR"; cat'
    completed = SubprocessRunner().run(("sh", "-c", show), 10.0)
    assert completed == Completed("C 1 /of/the/operator\n", "", 0)


@root
def test_closing_a_test_volume_group_leaves_nothing_behind(tmp_path: pathlib.Path) -> None:
    """After a volume group for tests is closed, its files and loop devices are gone."""
    rig = rigs.make_group(tmp_path, "vg0")
    rig.add_volume("a", EXTENT)
    assert len(rigs.loop_devices_of(tmp_path)) == 1
    # A second process has the same three values, and nothing of the first object.
    VolumeGroupRig(folder=tmp_path, name="vg0", size_bytes=1).close()
    rig.close()
    assert rigs.loop_devices_of(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@root
def test_a_failed_vgcreate_leaves_nothing_behind(tmp_path: pathlib.Path) -> None:
    """If `vgcreate` fails, the tests' helper leaves no file and no loop device behind."""
    rigs.make_group(tmp_path, "probe").close()
    with pytest.raises(NoVolumeGroup, match="vgcreate"):
        VolumeGroupRig(folder=tmp_path, name="in valid", size_bytes=64 * MIB).create()
    assert rigs.loop_devices_of(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@root
def test_the_host_does_not_list_the_test_volume_group(tmp_path: pathlib.Path, group: VolumeGroupRig) -> None:
    """The host's `vgs` does not list the test volume group, because the group has another LVM system ID."""
    ours = rigs.view(tmp_path / "host", group)
    conf = tmp_path / "host" / "lvm.conf"
    conf.write_text(conf.read_text().replace("stocktake-demo", "the-host"), encoding="utf-8")
    assert rigs.lvm(ours, "vgs", "--noheadings", "-o", "vg_name") == ""


@root
def test_the_simulated_volume_group_equals_a_real_volume_group(group: VolumeGroupRig) -> None:
    """The demo's simulated volume group gives the agent the same facts as a real volume group, except UUIDs."""
    recorded = RecordedGroup(name="vg0", size_bytes=group.size_bytes, reason="the test")
    for each in (group, recorded):
        each.add_volume("a", 20 * MIB)
        each.add_volume("b", 9 * MIB + 1)
    assert nameless(read(recorded.runner, "vg0")) == nameless(read(group.runner, "vg0"))


def nameless(facts: StorageFacts) -> StorageFacts:
    return replace(
        facts,
        groups=tuple(replace(found, uuid="") for found in facts.groups),
        volumes=tuple(replace(found, uuid="") for found in facts.volumes),
    )


@root
def test_the_demo_uses_a_real_volume_group_if_possible(tmp_path: pathlib.Path) -> None:
    """If the machine can create an LVM volume group on a loop device, the demo uses that real group."""
    rigs.make_group(tmp_path, "probe").close()
    opened = open_group(tmp_path, "vg0", 1 << 30)
    try:
        assert opened.description.startswith("a real lvm2 volume group on /dev/loop")
        assert [g.name for g in read(opened.runner, "vg0").groups] == ["vg0"]
    finally:
        opened.close()


def test_the_demo_reports_why_its_volume_group_is_simulated(tmp_path: pathlib.Path) -> None:
    """If the demo cannot create a real LVM volume group, its simulated volume group shows the reason."""
    group = open_group(tmp_path, "vg0", MIB)  # recorded: no group fits on 1 MiB, or the user is not root
    assert isinstance(group, RecordedGroup)
    assert re.fullmatch(r"simulated volume group \(.+\)", group.description)
    assert list(tmp_path.iterdir()) == []


def test_a_simulated_volume_group_adds_and_removes_volumes() -> None:
    """The demo's simulated LVM volume group accepts a new volume and lists it until the volume is removed."""
    group = RecordedGroup(name="vg0", size_bytes=1 << 30, reason="not root")
    runner = group.runner
    group.add_volume("a", 1)
    assert [(v.path, v.extent_bytes) for v in read(runner, "vg0").volumes] == [("vg0/a", EXTENT)]
    for refused in (lambda: group.add_volume("a", 1), lambda: group.add_volume("b", 1 << 30)):
        with pytest.raises(NoVolumeGroup):
            refused()
    group.remove_volume("a")
    assert read(runner, "vg0").volumes == ()
    with pytest.raises(NoVolumeGroup):
        group.remove_volume("a")
    assert read(runner, "another") == StorageFacts()
