"""Running ndctl: the real program where it is installed, and scripts in its place for each kind of failure."""

from __future__ import annotations

import json
import pathlib
import shutil

import pytest

from agent.errors import SourceInconsistent, SourceUnavailable
from agent.model.host.storage import StorageFacts
from agent.model.snapshot import PMEM
from agent.ports import Deadline
from agent.sources.storage.lvm import SubprocessRunner
from agent.sources.storage.ndctl import Ndctl
from tests.rigs.lvm import script
from tests.rigs.ndctl import DEVDAX, EXPECTED


def read(folder: pathlib.Path, body: str, deadline_s: float = 10.0) -> StorageFacts:
    """Return what the source reads when ndctl is this shell script."""
    script(folder / "bin", "ndctl", body)
    return _read_in(folder / "bin", deadline_s)


def _read_in(path: pathlib.Path, deadline_s: float) -> StorageFacts:
    source = Ndctl(deadline_s, SubprocessRunner(environment={"PATH": f"{path}:/usr/bin:/bin"}))
    assert source.name == PMEM
    return source.read(Deadline.after(30.0))


def test_the_pmem_reader_calls_ndctl_list(tmp_path):
    """The agent reads the persistent-memory namespaces from the output of `ndctl list -X`."""
    (tmp_path / "report").write_text(json.dumps([DEVDAX]))
    facts = read(tmp_path, f'[ "$*" = "list -X" ] && cat {tmp_path}/report')
    assert facts == StorageFacts(pmem_namespaces=(EXPECTED,))


def test_empty_ndctl_output_returns_no_namespaces(tmp_path):
    assert read(tmp_path, "exit 0") == StorageFacts()


FAILURES = {
    "it fails": ("echo 'access denied' >&2; exit 1", SourceUnavailable, "ndctl list ended with code 1: access denied"),
    "it fails without a word": ("exit 3", SourceUnavailable, "ndctl list ended with code 3: nothing on stderr"),
    "a signal ends it": ("kill -SEGV $$", SourceUnavailable, "ndctl list ended with code -11: nothing on stderr"),
    "it prints something else": ("echo oops", SourceInconsistent, "ndctl list: the report is not JSON"),
}


@pytest.mark.parametrize(("body", "kind", "what"), FAILURES.values(), ids=FAILURES.keys())
def test_each_ndctl_failure_raises_an_error_with_a_reason(tmp_path, body, kind, what):
    """If ndctl fails or its output is not JSON, the error ends with the reason."""
    with pytest.raises(kind) as raised:
        read(tmp_path, body)
    assert str(raised.value).endswith(what)


def test_a_hung_ndctl_is_killed_at_the_deadline(tmp_path):
    with pytest.raises(SourceUnavailable, match=r"ndctl list did not answer within 0\.2 s and was killed"):
        read(tmp_path, "exec sleep 60", deadline_s=0.2)


def test_a_missing_ndctl_raises_source_unavailable(tmp_path):
    (tmp_path / "bin").mkdir()
    source = Ndctl(5.0, SubprocessRunner(environment={"PATH": str(tmp_path / "bin")}))
    with pytest.raises(SourceUnavailable, match="ndctl is not installed or not in PATH"):
        source.read(Deadline.after(30.0))


def test_a_broken_ndctl_program_raises_source_unavailable(tmp_path):
    """The agent raises SourceUnavailable if the file ndctl exists and the kernel cannot execute it."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ndctl").write_bytes(b"\x7fELF")
    (tmp_path / "bin" / "ndctl").chmod(0o755)
    source = Ndctl(5.0, SubprocessRunner(environment={"PATH": str(tmp_path / "bin")}))
    with pytest.raises(SourceUnavailable, match="ndctl cannot be started: Exec format error"):
        source.read(Deadline.after(30.0))


@pytest.mark.skipif(shutil.which("ndctl") is None, reason="ndctl is not installed")
def test_the_local_ndctl_lists_only_dax_devices():
    """Each persistent-memory namespace that the machine's own ndctl lists is read with a path below /dev/dax."""
    facts = Ndctl(10.0).read(Deadline.after(30.0))
    assert all(one.device_path.startswith("/dev/dax") for one in facts.pmem_namespaces)
