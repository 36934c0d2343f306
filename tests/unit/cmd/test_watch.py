"""What `stocktake watch` reports about wrong arguments before it connects to a broker."""

from __future__ import annotations

import pytest

from tests.rigs.commands import stocktake_here


@pytest.mark.parametrize("seconds", ["x", "0", "-1", "nan", "inf", "86401"])
def test_watch_rejects_an_invalid_timeout(seconds: str) -> None:
    """`stocktake watch --timeout` accepts only a number of seconds above 0 and at most 86400."""
    done = stocktake_here("watch", "--once", f"--timeout={seconds}")
    said = f"argument --timeout: {seconds} is not a number of seconds above 0 and at most 86400"
    assert (done.code, done.stdout) == (127, "")
    assert done.stderr == f"stocktake: {said} (see stocktake watch --help)\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--fail-on", "error"), "--fail-on needs --once"),
        (("--once", "--fail-on", "error,bad"), "unknown condition bad; known are error, warning, partial"),
        (("--cell", "a"), "a is not NAME=FILE"),
        (("--cell", "=x"), "=x is not NAME=FILE"),
        (("--cell", "a=x", "--config-file", "y"), "--cell names the configuration file"),
        (("--cell", "a=x", "--cell", "a=y"), "each --cell needs a name of its own"),
    ],
)
def test_watch_rejects_invalid_and_incompatible_options(arguments, message) -> None:
    """`stocktake watch` exits with 127 and a message, for example for `--fail-on` without `--once`."""
    done = stocktake_here("watch", *arguments)
    assert (done.code, done.stdout) == (127, "")
    assert message in done.stderr


def test_watch_exits_127_for_a_bad_list_of_hosts(tmp_path) -> None:
    """The file for `stocktake watch --expected` is missing, or one of its lines is not a host and a group."""
    config, hosts = tmp_path / "a.conf", tmp_path / "hosts"
    config.write_text("[DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1:1/\n[state]\nsource = none\n")
    hosts.write_text("compute-1\ncompute-2 rack 7\n")
    for path, message in (
        (hosts, "line 2 must be one host name, or a host name and a group"),
        (tmp_path / "none", "No such file"),
    ):
        done = stocktake_here("--config-file", config, "watch", "--expected", path)
        assert (done.code, done.stdout) == (127, "")
        assert message in done.stderr


def test_watch_expected_nova_exits_127_without_nova(tmp_path) -> None:
    """`stocktake watch --expected nova` needs access to nova, and the configuration has `[state] source = none`."""
    config = tmp_path / "a.conf"
    config.write_text("[DEFAULT]\ntransport_url = rabbit://u:p@127.0.0.1:1/\n[state]\nsource = none\n")
    done = stocktake_here("--config-file", config, "watch", "--expected", "nova")
    assert done.code == 127
    assert "no nova can list the hosts" in done.stderr
