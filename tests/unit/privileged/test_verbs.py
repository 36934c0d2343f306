"""What each verb runs: the arguments come from the configuration alone."""

import dataclasses
import errno
import json

import libvirt
import pytest

from agent.model.settings import CephAccess
from agent.ports import Deadline
from agent.privileged.trust import Untrusted
from agent.privileged.verbs import Scope, answer
from agent.sources.probe.facts_json import measured_of
from agent.sources.probe.protocol import Answer, Kind, Verb
from agent.sources.storage.lvm import Completed
from tests.rigs.facts import settings
from tests.rigs.lvm import RECORDED

PLACES = {
    "instances_path": "/nowhere",
    "cache_path": "/nowhere/_base",
    "libvirt_uri": "test:///default",
    "settings": settings(),
}
ALL = Scope(
    groups=("vg0", "gone"),
    ceph=CephAccess(pool="vms", user="nova", conf=""),
    has_pmem=True,
    file_systems=("/", "/nowhere"),
    **PLACES,
)
NOTHING = Scope(groups=(), ceph=None, has_pmem=False, file_systems=(), **PLACES)
#: Every host has a libvirt and a folder for instances.
ALWAYS = {Verb.IMAGES, Verb.DOMAIN_CAPABILITIES}
VGS = (RECORDED / "every_kind.vgs.json").read_text()


class Recorder:
    """A Runner that returns the next outcome and remembers the commands."""

    def __init__(self, *outcomes: Completed | Exception) -> None:
        self.outcomes = list(outcomes)
        self.commands: list[tuple[str, ...]] = []

    def run(self, argv: tuple[str, ...], timeout_s: float) -> Completed:
        self.commands.append(argv)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome


def done(stdout: str = "", returncode: int = 0) -> Completed:
    return Completed(stdout, "", returncode)


def ask(verb: Verb, runner: Recorder, scope: Scope = ALL) -> Answer:
    return answer(verb, scope, runner, Deadline.after(10.0))


@pytest.mark.parametrize(
    ("verb", "command"),
    [
        (Verb.LVM_GROUPS, ("vgs", "--reportformat", "json")),
        (Verb.CEPH_DF, ("ceph", "df", "--format=json", "--id", "nova")),
        (Verb.NDCTL_LIST, ("ndctl", "list", "-X")),
    ],
)
def test_the_helper_runs_vgs_ceph_or_ndctl_as_requested(verb: Verb, command: tuple[str, ...]) -> None:
    """The privileged helper stocktake-probe runs the command that the agent requests, and returns its output."""
    runner = Recorder(done("report"))
    assert ask(verb, runner).content == {"stdout": "report", "stderr": "", "returncode": 0}
    assert [argv[: len(command)] for argv in runner.commands] == [command]


def test_the_helper_asks_lvs_only_for_existing_volume_groups() -> None:
    """Two volume groups are configured and one exists. The privileged helper runs lvs for the existing one only."""
    runner = Recorder(done(VGS), done("volumes"))
    assert ask(Verb.LVM_VOLUMES, runner).content["stdout"] == "volumes"
    assert runner.commands[1][:2] == ("lvs", "-a")
    assert runner.commands[1][-2:] != ("vg0", "gone")
    assert runner.commands[1][-1] == "vg0"


@pytest.mark.parametrize("report", [done('{"report": [{"vg": []}]}'), done("nonsense")])
def test_volumes_are_not_listed_if_vgs_shows_no_volume_group(report: Completed) -> None:
    """If the output of vgs shows no volume group, the privileged helper refuses to list logical volumes."""
    with pytest.raises(Untrusted, match="vgs"):
        ask(Verb.LVM_VOLUMES, Recorder(report))


def test_the_helper_returns_the_exit_code_of_a_failed_vgs() -> None:
    assert ask(Verb.LVM_VOLUMES, Recorder(done(returncode=5))).content["returncode"] == 5


@pytest.mark.parametrize("verb", [verb for verb in Verb if verb not in ALWAYS])
def test_the_helper_refuses_an_unconfigured_storage_system(verb: Verb) -> None:
    """The agent asks for a storage system that is not configured. The privileged helper refuses and runs no command."""
    runner = Recorder()
    with pytest.raises(Untrusted, match="the probe's configuration names no"):
        ask(verb, runner, NOTHING)
    assert runner.commands == []


def test_the_helper_reports_a_command_that_failed_to_run() -> None:
    """The privileged helper tells the agent that vgs timed out or could not be started."""
    late = ask(Verb.LVM_GROUPS, Recorder(TimeoutError("last words")))
    missing = ask(Verb.LVM_GROUPS, Recorder(FileNotFoundError(errno.ENOENT, "no such file")))
    assert (late, missing) == (
        Answer(kind=Kind.TIMED_OUT, content="last words"),
        Answer(kind=Kind.NOT_STARTED, content=errno.ENOENT),
    )


def test_the_helper_returns_a_size_or_an_error_per_file_system() -> None:
    """The privileged helper returns the size of "/", and an error for a file system that does not exist."""
    facts = measured_of(json.loads(json.dumps(ask(Verb.FILE_SYSTEMS, Recorder()).content))).facts
    assert [found.path for found in facts.filesystems] == ["/"]
    assert facts.filesystems[0].size_bytes > 0
    assert facts.unread == (("/nowhere", "No such file or directory"),)


def test_the_helper_finds_no_guest_disks_without_a_folder() -> None:
    """nova's folder for instances does not exist. The privileged helper reports no guest disks and no error."""
    measured = measured_of(json.loads(json.dumps(ask(Verb.IMAGES, Recorder()).content)))
    assert (measured.facts.image_stores, measured.facts.unread, measured.guests_unread) == ((), (), "")


def test_the_helper_says_why_no_guest_disk_was_measured() -> None:
    """The privileged helper cannot connect to libvirt. It tells the agent why it measured no guest disks."""
    scope = dataclasses.replace(ALL, libvirt_uri="test:///nowhere.xml")
    measured = measured_of(json.loads(json.dumps(ask(Verb.IMAGES, Recorder(), scope).content)))
    assert measured.guests_unread == (
        "test:///nowhere.xml: the agent cannot open /nowhere.xml: No such file or directory"
    )


def test_the_helper_reports_unread_domain_capabilities() -> None:
    """The privileged helper cannot connect to libvirt. It tells the agent that the domain capabilities are unread."""
    scope = dataclasses.replace(ALL, libvirt_uri="test:///nowhere.xml")
    assert ask(Verb.DOMAIN_CAPABILITIES, Recorder(), scope).kind is Kind.UNREAD


def test_the_helper_returns_the_error_code_of_libvirt() -> None:
    """libvirt's test driver has no domain capabilities. The privileged helper returns the error code of libvirt."""
    answers = ask(Verb.DOMAIN_CAPABILITIES, Recorder()).content["answers"]
    assert [answer["code"] for answer in answers] == [libvirt.VIR_ERR_NO_SUPPORT]
