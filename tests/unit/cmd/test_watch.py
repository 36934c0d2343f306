"""What `stocktake watch` reports about wrong arguments before it connects to a broker."""

from __future__ import annotations

import pytest

from tests.rigs.commands import stocktake_here


@pytest.mark.parametrize("seconds", ["x", "0", "-1", "nan", "inf", "86401"])
def test_the_watch_command_rejects_an_invalid_timeout_with_a_message(seconds: str) -> None:
    done = stocktake_here("watch", "--once", f"--timeout={seconds}")
    said = f"argument --timeout: {seconds} is not a number of seconds above 0 and at most 86400"
    assert (done.code, done.stdout) == (127, "")
    assert done.stderr == f"stocktake: {said} (see stocktake watch --help)\n"
