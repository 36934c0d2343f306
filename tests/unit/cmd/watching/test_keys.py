"""The keys in the bytes of a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.cmd.watching.keys import keys_in, rest_key


@pytest.mark.parametrize(
    ("data", "keys"),
    [
        (b"sfq", ["s", "f", "q"]),
        (b"\x1b[A\x1b[B\x1bOA\x1bOB", ["up", "down", "up", "down"]),
        (b"\x1b[5~\x1b[6~", ["page-up", "page-down"]),
        (b"\x1b[H\x1b[F\x1b[1~\x1b[4~\x1bOH\x1bOF", ["home", "end"] * 3),
        (b"\r\n", ["enter", "enter"]),
        (b"\x7f\x08\x15", ["backspace", "backspace", "clear"]),
        (b"\x1b[1;5C\x1b[200~q", ["q"]),
        (b"\x1bx", ["x"]),
        ("é".encode(), ["é"]),
        (b"\x00\x01\x1f", []),
        (b"\xffa\xc3\x1b[A", ["\ufffd", "a", "\ufffd", "up"]),
    ],
)
def test_terminal_bytes_become_key_names(data, keys):
    """Letters, arrow keys and other keys are recognised in the bytes that the terminal sends."""
    assert keys_in(data) == (keys, b"")


@pytest.mark.parametrize("rest", [b"\x1b", b"\x1b[", b"\x1b[1", b"\x1bO", "é".encode()[:1]])
def test_an_incomplete_escape_sequence_is_kept(rest):
    """If the bytes of a key arrive only in part, the first bytes are kept until the rest arrives."""
    assert keys_in(b"s" + rest) == (["s"], rest)


def test_a_single_escape_byte_is_the_escape_key():
    assert (rest_key(b"\x1b"), rest_key(b"\x1b[")) == (["escape"], [])


@given(st.binary(max_size=40), st.integers(0, 40))
def test_split_input_gives_the_same_keys(data, at):
    """The same keys are recognised wherever the terminal's bytes are split between two reads."""
    whole, rest = keys_in(data)
    first, between = keys_in(data[:at])
    second, end = keys_in(between + data[at:])
    assert (first + second, end) == (whole, rest)
