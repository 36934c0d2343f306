"""What `stocktake watch` says about wrong arguments, before it looks for a broker."""

from __future__ import annotations

import pytest

from agent.cmd.shell import main


@pytest.mark.parametrize("seconds", ["x", "0", "-1", "nan", "inf", "86401"])
def test_a_time_that_is_none_is_named_in_words(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "--once", f"--timeout={seconds}"]) == 127
    said = f"argument --timeout: {seconds} is no number of seconds above 0, at most 86400"
    assert capsys.readouterr().err.splitlines()[-1].endswith(said)
