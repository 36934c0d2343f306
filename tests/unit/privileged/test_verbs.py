"""What each verb runs: the arguments come from the configuration alone."""

import errno

import pytest

from agent.model.settings import CephAccess
from agent.ports import Deadline
from agent.privileged.trust import Untrusted
from agent.privileged.verbs import Scope, answer
from agent.sources.probe.protocol import Answer, Kind, Verb
from agent.sources.storage.lvm import Completed
from tests.rigs.lvm import RECORDED

ALL = Scope(groups=("vg0", "gone"), ceph=CephAccess(pool="vms", user="nova", conf=""), has_pmem=True)
NOTHING = Scope(groups=(), ceph=None, has_pmem=False)
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
def test_a_verb_runs_the_command_of_its_source(verb: Verb, command: tuple[str, ...]) -> None:
    runner = Recorder(done("report"))
    assert ask(verb, runner).content == {"stdout": "report", "stderr": "", "returncode": 0}
    assert [argv[: len(command)] for argv in runner.commands] == [command]


def test_lvm_volumes_names_only_configured_groups_that_exist() -> None:
    runner = Recorder(done(VGS), done("volumes"))
    assert ask(Verb.LVM_VOLUMES, runner).content["stdout"] == "volumes"
    assert runner.commands[1][:2] == ("lvs", "-a")
    assert runner.commands[1][-2:] != ("vg0", "gone")
    assert runner.commands[1][-1] == "vg0"


@pytest.mark.parametrize("report", [done('{"report": [{"vg": []}]}'), done("nonsense")])
def test_lvm_volumes_is_refused_if_no_configured_group_is_reported(report: Completed) -> None:
    with pytest.raises(Untrusted, match="vgs"):
        ask(Verb.LVM_VOLUMES, Recorder(report))


def test_lvm_volumes_returns_the_failure_of_vgs() -> None:
    assert ask(Verb.LVM_VOLUMES, Recorder(done(returncode=5))).content["returncode"] == 5


@pytest.mark.parametrize("verb", list(Verb))
def test_every_verb_is_refused_if_the_configuration_names_no_such_source(verb: Verb) -> None:
    runner = Recorder()
    with pytest.raises(Untrusted, match="the probe's configuration names no"):
        ask(verb, runner, NOTHING)
    assert runner.commands == []


def test_a_command_that_times_out_or_does_not_start_is_an_answer() -> None:
    late = ask(Verb.LVM_GROUPS, Recorder(TimeoutError("last words")))
    missing = ask(Verb.LVM_GROUPS, Recorder(FileNotFoundError(errno.ENOENT, "no such file")))
    assert (late, missing) == (
        Answer(kind=Kind.TIMED_OUT, content="last words"),
        Answer(kind=Kind.NOT_STARTED, content=errno.ENOENT),
    )
