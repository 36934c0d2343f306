"""The messages between the agent and stocktake-probe: a round trip, and any bytes at all."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.probe.protocol import (
    LONGEST_DEADLINE_S,
    MOST_ANSWER_BYTES,
    MOST_REQUEST_BYTES,
    Answer,
    BadMessage,
    Kind,
    Request,
    Verb,
    answer_line,
    parse_answer,
    parse_request,
    request_line,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
COMPLETED = st.fixed_dictionaries(
    {"stdout": st.text(), "stderr": st.text(), "returncode": st.integers(min_value=-64, max_value=255)}
)
ANSWERS = st.one_of(
    st.builds(Answer, kind=st.just(Kind.COMPLETED), content=COMPLETED),
    st.builds(Answer, kind=st.sampled_from((Kind.TIMED_OUT, Kind.REFUSED)), content=st.text()),
    st.builds(Answer, kind=st.just(Kind.NOT_STARTED), content=st.integers(0, 133)),
)
SECONDS = st.floats(min_value=0, max_value=LONGEST_DEADLINE_S, exclude_min=True)


@given(st.builds(Request, verb=st.sampled_from(Verb), deadline_s=SECONDS))
def test_a_probe_request_survives_encoding_and_decoding(request_sent: Request) -> None:
    """Any request of the agent to stocktake-probe is equal after it was encoded and decoded."""
    assert parse_request(request_line(request_sent)) == request_sent


@given(ANSWERS)
def test_a_probe_answer_survives_encoding_and_decoding(answer: Answer) -> None:
    """Any answer of stocktake-probe is encoded as one line and is equal after it was decoded."""
    line = answer_line(answer)
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    assert parse_answer(line) == answer


@given(st.binary() | st.binary().map(lambda raw: raw + b"\n") | JSON.map(lambda doc: json.dumps(doc).encode() + b"\n"))
def test_random_bytes_are_rejected_as_a_probe_request(line: bytes) -> None:
    """Random bytes or JSON as a request to stocktake-probe raise BadMessage and no other error."""
    with pytest.raises(BadMessage):
        parse_request(line)


KINDS = st.dictionaries(st.sampled_from([kind.value for kind in Kind]), JSON, max_size=2)


@given(st.binary() | (JSON | KINDS).map(lambda doc: json.dumps(doc).encode() + b"\n"))
def test_random_probe_answers_are_decoded_or_rejected(line: bytes) -> None:
    """Random bytes as an answer of stocktake-probe are decoded or raise BadMessage. They cause no other error."""
    try:
        answer = parse_answer(line)
    except BadMessage:
        return
    assert parse_answer(answer_line(answer)) == answer


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "ends without a line feed"),
        (b'{"verb": "lvm-groups", "deadline_s": 1}', "ends without a line feed"),
        (b" " * MOST_REQUEST_BYTES + b"\n", "longer than 4096 bytes"),
        (b'{"verb": "lvm-remove", "deadline_s": 1}\n', "the verb is unknown"),
        (b'{"verb": ["lvm-groups"], "deadline_s": 1}\n', "the verb is unknown"),
        (b'{"verb": "lvm-groups", "deadline_s": 1, "path": "/etc/shadow"}\n', "no other key"),
        (b'{"verb": "lvm-groups"}\n', "must have the keys"),
        (b'{"verb": "lvm-groups", "deadline_s": true}\n', "not a number"),
        (b'{"verb": "lvm-groups", "deadline_s": "1"}\n', "not a number"),
        (b'{"verb": "lvm-groups", "deadline_s": NaN}\n', "not between 0 and 60"),
        (b'{"verb": "lvm-groups", "deadline_s": 0}\n', "not between 0 and 60"),
        (b'{"verb": "lvm-groups", "deadline_s": 1e999}\n', "not between 0 and 60"),
        (b'{"verb": "lvm-groups", "deadline_s": ' + b"9" * 400 + b"}\n", "not between 0 and 60"),
        (b"[" * 4000 + b"\n", "not JSON"),
        (b"[]\n", "not a JSON object"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_error_for_an_invalid_probe_request_says_why(line: bytes, why: str) -> None:
    """If a request to stocktake-probe is invalid, the error says why, for example that the verb is unknown."""
    with pytest.raises(BadMessage, match=why):
        parse_request(line)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"", "without an answer"),
        (b'{"refused": "wh', "in the middle of its answer"),
        (b"hello\n", "not JSON"),
        (b"\xff\xfe\n", "not JSON"),
        (b"{}\n", "no known kind"),
        (b'{"completed": {}, "refused": ""}\n', "no known kind"),
        (b'{"removed": ""}\n', "no known kind"),
        (b'{"completed": {"stdout": "", "stderr": ""}}\n', "expected content"),
        (b'{"completed": {"stdout": "", "stderr": "", "returncode": true}}\n', "expected content"),
        (b'{"not_started": "ENOENT"}\n', "expected content"),
        (b'{"timed_out": 1}\n', "expected content"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_error_for_an_invalid_probe_answer_says_why(line: bytes, why: str) -> None:
    """If an answer of stocktake-probe is invalid, the error says why, for example that the answer is not JSON."""
    with pytest.raises(BadMessage, match=why):
        parse_answer(line)


def test_a_probe_answer_above_16_mib_is_rejected() -> None:
    """The probe refuses to send an answer of more than 16 MiB, and the agent refuses to read one."""
    content = {"stdout": "x" * MOST_ANSWER_BYTES, "stderr": "", "returncode": 0}
    with pytest.raises(BadMessage, match="longer than 16 MiB"):
        answer_line(Answer(kind=Kind.COMPLETED, content=content))
    with pytest.raises(BadMessage, match="longer than 16 MiB"):
        parse_answer(b"x" * (MOST_ANSWER_BYTES + 1))
