"""Small files of the kernel: what the agent reads, and that a missing file means unknown."""

import errno
import os
import resource
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host_files.kernel_files import load, module_parameters, tdx_capacity, uptime_s
from agent.model.host.facts import Unread

UNKNOWN = (("kvm_amd/sev", None), ("kvm_amd/sev_es", None), ("kvm_amd/sev_snp", None))


def test_the_parameters_of_a_loaded_kernel_module_are_read(tmp_path):
    """The agent reads parameters of the kernel module kvm_amd, such as sev. A parameter without a file is unknown."""
    folder = tmp_path / "module" / "kvm_amd" / "parameters"
    folder.mkdir(parents=True)
    (folder / "sev").write_text("Y\n")
    (folder / "sev_es").write_text("0\n")
    assert module_parameters(tmp_path) == (("kvm_amd/sev", "Y"), ("kvm_amd/sev_es", "0"), ("kvm_amd/sev_snp", None))


def test_the_parameters_of_an_unloaded_module_are_unknown(tmp_path):
    """If the kernel module kvm_amd is not loaded, the parameters sev, sev_es and sev_snp are unknown."""
    assert module_parameters(tmp_path) == UNKNOWN


@pytest.fixture
def no_descriptor():
    """Return a function that calls ``question`` without free descriptors and then restores them for pytest."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    def asked(question):
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            return question()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    return asked


def test_reading_a_kernel_parameter_needs_a_free_descriptor(tmp_path, no_descriptor):
    """If no file descriptor is free, the agent gets the error EMFILE instead of the kernel parameter's value."""
    folder = tmp_path / "module" / "kvm_amd" / "parameters"
    folder.mkdir(parents=True)
    (folder / "sev").write_text("Y\n")
    unread = Unread("EMFILE: Too many open files")
    assert no_descriptor(lambda: dict(module_parameters(tmp_path)))["kvm_amd/sev"] == unread
    assert dict(module_parameters(tmp_path))["kvm_amd/sev"] == "Y"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ENFILE, errno.EPERM, errno.ENOMEM])
def test_values_from_unreadable_kernel_files_are_unknown(tmp_path, monkeypatch, number):
    """If kernel files cannot be read, the host's uptime, load and TDX capacity are unknown."""

    def read_text(path, **kwargs):
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "read_text", read_text)
    unread = Unread(f"{errno.errorcode[number]}: {os.strerror(number)}")
    assert [text for _, text in module_parameters(tmp_path)] == [unread] * 3
    assert (tdx_capacity(tmp_path), uptime_s(tmp_path), load(tmp_path)) == (None, None, None)


def test_parameters_are_unknown_if_the_module_path_is_a_file(tmp_path):
    """If a file is in place of the folder /sys/module, the parameters of the kernel module kvm_amd are unknown."""
    (tmp_path / "module").write_text("")
    assert module_parameters(tmp_path) == UNKNOWN


def _with_capacity(tmp_path, content):
    folder = tmp_path / "fs" / "cgroup"
    folder.mkdir(parents=True)
    (folder / "misc.capacity").write_bytes(content)
    return tmp_path


# Lines as the kernel writes them (kernel/cgroup/misc.c): name, a space, a number, only for what the platform supports.
@pytest.mark.parametrize(
    ("content", "keys"), [(b"tdx 31\n", 31), (b"sev 410\nsev_es 99\ntdx 15\n", 15), (b"tdx 0\n", 0)]
)
def test_the_tdx_capacity_is_read_from_the_misc_cgroup_file(tmp_path, content, keys):
    """The agent reads from the kernel's file misc.capacity how many TDX guests the host can run."""
    assert tdx_capacity(_with_capacity(tmp_path, content)) == keys


@pytest.mark.parametrize(
    "content",
    [b"", b"sev 410\n", b"tdx\n", b"tdx max\n", b"tdx -1\n", b"tdx_x 3\n", b"xtdx 3\n", b"tdx 3 4\n", b"tdx \xb2\n"],
)
def test_tdx_capacity_is_unknown_for_an_invalid_misc_cgroup(tmp_path, content):
    """If the kernel's file misc.capacity has no valid tdx line, the number of TDX guests is unknown, not zero."""
    assert tdx_capacity(_with_capacity(tmp_path, content)) is None


def test_tdx_capacity_is_unknown_without_a_misc_cgroup(tmp_path):
    assert tdx_capacity(tmp_path) is None


def test_uptime_and_load_are_read_from_proc_files(tmp_path):
    (tmp_path / "uptime").write_text("12535.37 24801.11\n")
    (tmp_path / "loadavg").write_text("1.04 1.06 0.89 2/345 12345\n")
    assert uptime_s(tmp_path) == 12535.37
    assert load(tmp_path) == (1.04, 1.06, 0.89)


@pytest.mark.parametrize("text", [None, "", "1.0", "1.0 2.0 up", "1.0 -2.0 3.0", "nan 1 2", "1e400 1 2", "\xff 1 2"])
def test_load_is_unknown_if_the_file_loadavg_is_invalid(tmp_path, text):
    """If the kernel's file loadavg is missing or invalid, the load of the host is unknown, not zero."""
    if text is not None:
        (tmp_path / "loadavg").write_text(text, encoding="latin-1")
    assert load(tmp_path) is None


def test_uptime_is_unknown_if_the_uptime_file_is_a_folder(tmp_path):
    (tmp_path / "uptime").mkdir()
    assert uptime_s(tmp_path) is None


@given(st.binary(max_size=40))
def test_random_bytes_give_no_negative_uptime_or_load(tmp_path_factory, content):
    """For random bytes in the files uptime and loadavg, each value is at least 0 or unknown."""
    folder = tmp_path_factory.getbasetemp() / f"proc-{os.getpid()}"
    folder.mkdir(exist_ok=True)
    (folder / "uptime").write_bytes(content)
    (folder / "loadavg").write_bytes(content)
    assert uptime_s(folder) is None or uptime_s(folder) >= 0
    assert load(folder) is None or min(load(folder)) >= 0
