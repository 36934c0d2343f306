"""The file with the expected hosts: a host a line, and its group."""

import pytest

from agent.errors import SourceInconsistent
from agent.fleet.expected import ExpectedHost, hosts_from_text


def test_each_line_of_the_expected_host_list_has_a_host_and_optionally_a_group():
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
def test_an_invalid_line_of_the_expected_host_list_is_rejected_with_line_number(text, problem):
    with pytest.raises(SourceInconsistent, match=problem):
        hosts_from_text(text)


def test_control_characters_in_the_expected_host_list_are_escaped():
    assert hosts_from_text("a\x1b[2J b\x07") == (ExpectedHost(host="a\\u001b[2J", group="b\\u0007"),)


def test_an_empty_expected_host_list_expects_no_host():
    assert hosts_from_text("\n# nobody\n") == ()
