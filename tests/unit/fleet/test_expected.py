"""The file with the expected hosts: a host a line, and its group."""

import pytest

from agent.errors import SourceInconsistent
from agent.fleet.expected import ExpectedHost, hosts_from_text


def test_an_expected_host_may_have_a_group():
    """Each line of the file of expected hosts contains a host name and, if wanted, the name of its group."""
    text = "compute-2\track-1\n\n  # a comment\ncompute-1   # without a group\r\ncompute-3 rack-2"
    assert hosts_from_text(text) == (
        ExpectedHost(host="compute-1"),
        ExpectedHost(host="compute-2", group="rack-1"),
        ExpectedHost(host="compute-3", group="rack-2"),
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a\nb rack 7", "line 2 must be one host name, or a host name and a group"),
        ("a\na rack-1", "line 2 names a a second time"),
        ("x" * 256, "line 1 must be one host name, or a host name and a group"),
    ],
)
def test_an_invalid_line_of_expected_hosts_is_rejected(text, problem):
    """`stocktake watch` rejects a file of expected hosts with an invalid line, and the error shows the line number."""
    with pytest.raises(SourceInconsistent, match=problem):
        hosts_from_text(text)


def test_control_characters_in_expected_hosts_are_escaped():
    """Control characters in the file of expected hosts are escaped, so they cannot change the operator's terminal."""
    assert hosts_from_text("a\x1b[2J b\x07") == (ExpectedHost(host="a\\u001b[2J", group="b\\u0007"),)


def test_an_empty_expected_host_list_expects_no_host():
    assert hosts_from_text("\n# nobody\n") == ()
