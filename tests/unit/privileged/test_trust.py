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


def test_a_configuration_file_that_only_root_may_write_is_trusted(conf: pathlib.Path) -> None:
    check_files([str(conf)])


@pytest.mark.parametrize("mode", [0o660, 0o646])
def test_a_configuration_file_is_refused_if_users_other_than_root_may_write_it(conf: pathlib.Path, mode: int) -> None:
    conf.chmod(mode)
    with pytest.raises(Untrusted, match=f"a user other than root may write {conf}"):
        check_files([str(conf)])


def test_a_configuration_file_that_root_does_not_own_is_refused(conf: pathlib.Path) -> None:
    os.chown(conf, 65534, 65534)
    with pytest.raises(Untrusted, match=f"a user other than root may write {conf}"):
        check_files([str(conf)])


@pytest.mark.parametrize("change", [lambda folder: folder.chmod(0o777), lambda folder: os.chown(folder, 65534, 0)])
def test_a_configuration_file_is_refused_if_others_may_write_its_folder(conf: pathlib.Path, change) -> None:
    change(conf.parent)
    with pytest.raises(Untrusted, match=f"a user other than root may write {conf.parent}$"):
        check_files([str(conf)])


def test_a_configuration_symlink_is_refused_if_others_may_write_its_folder(
    conf: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "link.conf").symlink_to(conf)
    with pytest.raises(Untrusted, match=f"a user other than root may write {folder}$"):
        check_files([str(folder / "link.conf")])


def test_root_may_use_the_privileged_helper_whatever_user_is_configured() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        check_peer(ours, "no-such-user")


@pytest.mark.parametrize(
    "uri",
    ["qemu:///system", "lxc:///system", "test:///default", "qemu+unix:///system?socket=/run/libvirt/libvirt-sock"],
)
def test_a_libvirt_uri_of_this_host_is_trusted(uri: str) -> None:
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
def test_a_libvirt_uri_that_names_a_program_or_a_host_is_refused(uri: str) -> None:
    with pytest.raises(Untrusted, match="does not lead to a socket of this host"):
        check_uri(uri)
