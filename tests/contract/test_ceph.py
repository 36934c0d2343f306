"""The Ceph source through a real process: a cluster that answers, refuses, hangs or does not exist."""

import pathlib
import time

import pytest

from agent.errors import SourceInconsistent, SourceUnavailable
from agent.model.settings import CephAccess
from agent.ports import Deadline
from agent.sources.storage.ceph import Ceph
from agent.sources.storage.lvm import Runner, SubprocessRunner
from tests.rigs import ceph as rigs
from tests.rigs.wait import until


def read(runner: Runner, pool: str = "vms", deadline_s: float = 20.0, **options: str):
    return Ceph(CephAccess(pool=pool, **options), runner=runner).read(Deadline.after(deadline_s)).ceph_pools


def test_the_agent_reads_cluster_size_and_available_bytes(tmp_path: pathlib.Path) -> None:
    """The agent takes the cluster's size and a pool's available bytes from the output of `ceph df`."""
    (pool,) = read(rigs.printing(tmp_path / "bin", rigs.REEF))
    assert (pool.name, pool.cluster_bytes, pool.available_bytes) == ("vms", 64424509440, 20212629504)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({}, "df --format=json"),
        ({"user": "cinder"}, "df --format=json --id cinder"),
        ({"user": "cinder", "conf": "/etc/ceph/b.conf"}, "df --format=json --id cinder --conf /etc/ceph/b.conf"),
    ],
    ids=["plain", "user", "user and conf"],
)
def test_ceph_df_gets_the_configured_user_and_conf_file(
    tmp_path: pathlib.Path, options: dict[str, str], arguments: str
) -> None:
    read(rigs.printing(tmp_path / "bin", rigs.NAUTILUS), **options)
    assert (tmp_path / "bin" / "calls").read_text() == f"{arguments}\n"


REFUSED = "echo '[errno 13] RADOS permission denied (error connecting to the cluster)' >&2; exit 13"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (REFUSED, r"ceph df ended with status 13: \[errno 13\] RADOS permission denied"),
        ("exit 1", "ceph df ended with status 1: nothing on stderr"),
        ("kill -SEGV $$", "ceph df ended with signal 11"),
    ],
    ids=["refused", "silent", "crashed"],
)
def test_the_error_of_a_failed_ceph_df_shows_status_and_stderr(tmp_path: pathlib.Path, body: str, said: str) -> None:
    """The agent's error shows the exit status or the signal of `ceph df`, and its text on stderr."""
    with pytest.raises(SourceUnavailable, match=said):
        read(rigs.ceph(tmp_path / "bin", body))


def test_empty_output_of_ceph_df_is_invalid_json(tmp_path: pathlib.Path) -> None:
    """The command `ceph df --format=json` exits with 0 and prints nothing, and the agent raises an error."""
    with pytest.raises(SourceInconsistent, match="the report of ceph df is not JSON"):
        read(rigs.ceph(tmp_path / "bin", "exit 0"))


def test_the_error_shows_the_name_of_a_missing_ceph_pool(tmp_path: pathlib.Path) -> None:
    with pytest.raises(SourceInconsistent, match="ceph: pool images is not among"):
        read(rigs.printing(tmp_path / "bin", rigs.REEF), pool="images")


def test_ceph_df_is_killed_at_the_deadline(tmp_path: pathlib.Path) -> None:
    """The Ceph monitors do not answer. The agent kills its `ceph df` process and shows the process's stderr."""
    folder = tmp_path / "bin"
    runner = rigs.ceph(
        folder, f"echo $$ > {folder}/pid\necho 'monclient(hunting): authenticate timed out' >&2\nsleep 60"
    )
    began = time.monotonic()
    with pytest.raises(
        SourceUnavailable, match=r"did not answer within [0-3]\.\d s and was killed; .* authenticate timed out"
    ):
        read(runner, deadline_s=3.0)
    assert time.monotonic() - began < 50
    pid = (folder / "pid").read_text().strip()
    until(lambda: not pathlib.Path(f"/proc/{pid}").exists(), 60, "the killed ceph to be gone")


def test_a_missing_ceph_command_is_reported_as_not_installed(tmp_path: pathlib.Path) -> None:
    nothing = tmp_path / "bin"
    nothing.mkdir()
    with pytest.raises(SourceUnavailable, match=r"ceph is not installed \(ceph-common\)"):
        read(SubprocessRunner(environment={"PATH": str(nothing)}))
