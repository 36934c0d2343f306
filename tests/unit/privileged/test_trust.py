"""Which configuration files stocktake-probe reads, and whom it answers."""

import os
import pathlib
import socket

import pytest

from agent.privileged.trust import Untrusted, check_files, check_peer, check_uri

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: files of several owners")


@pytest.fixture
def conf(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "etc" / "stocktake.conf"
    path.parent.mkdir(mode=0o755)
    path.write_text("")
    path.chmod(0o640)
    return path


def test_a_configuration_file_writable_by_root_is_trusted(conf: pathlib.Path) -> None:
    """The privileged helper stocktake-probe accepts a configuration file that only root may write."""
    check_files([str(conf)])


@pytest.mark.parametrize("mode", [0o660, 0o646])
def test_a_configuration_file_that_others_may_write_is_refused(conf: pathlib.Path, mode: int) -> None:
    """The helper stocktake-probe refuses a configuration file that users other than root may write."""
    conf.chmod(mode)
    with pytest.raises(Untrusted, match=f"a user other than root may write {conf}"):
        check_files([str(conf)])


def test_a_configuration_file_of_another_owner_is_refused(conf: pathlib.Path) -> None:
    """The privileged helper stocktake-probe refuses a configuration file that root does not own."""
    os.chown(conf, 65534, 65534)
    with pytest.raises(Untrusted, match=f"a user other than root may write {conf}"):
        check_files([str(conf)])


@pytest.mark.parametrize("change", [lambda folder: folder.chmod(0o777), lambda folder: os.chown(folder, 65534, 0)])
def test_a_configuration_file_in_a_writable_folder_is_refused(conf: pathlib.Path, change) -> None:
    """The helper stocktake-probe refuses a configuration file if users other than root may write its folder."""
    change(conf.parent)
    with pytest.raises(Untrusted, match=f"a user other than root may write {conf.parent}$"):
        check_files([str(conf)])


def test_a_symlink_in_a_writable_folder_is_refused(conf: pathlib.Path, tmp_path: pathlib.Path) -> None:
    """A symlink to the configuration is in a folder that any user may write. The helper stocktake-probe refuses it."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "link.conf").symlink_to(conf)
    with pytest.raises(Untrusted, match=f"a user other than root may write {folder}$"):
        check_files([str(folder / "link.conf")])


def test_root_may_always_use_the_privileged_helper() -> None:
    """The privileged helper stocktake-probe answers a process of root, whatever user its configuration allows."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        check_peer(ours, "no-such-user")


@pytest.mark.parametrize(
    "uri",
    ["qemu:///system", "lxc:///system", "test:///default", "qemu+unix:///system?socket=/run/libvirt/libvirt-sock"],
)
def test_a_libvirt_uri_of_this_host_is_trusted(uri: str) -> None:
    """The privileged helper stocktake-probe accepts a libvirt URI such as qemu:///system that leads to this host."""
    check_uri(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "qemu+ext:///system?command=/tmp/program",
        "qemu+ssh://host/system",
        "qemu+unix:///system?socket=/s&command=/tmp/program",
        "qemu://host/system",
        "qemu+tls:///system",
        "qemu+libssh:///system",
        "system",
    ],
)
def test_a_libvirt_uri_without_a_local_socket_is_refused(uri: str) -> None:
    """The helper stocktake-probe refuses a libvirt URI that does not lead to a socket of this host."""
    with pytest.raises(Untrusted, match="does not lead to a socket of this host"):
        check_uri(uri)
