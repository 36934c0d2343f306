"""A call that cannot be cancelled: the caller waits until the deadline, and two calls never run at once."""

import contextvars
import threading

import pytest

from agent.deadlines.reader_thread import ReaderThread
from agent.errors import SourceUnavailable
from agent.ports import Deadline
from tests.rigs.wait import until


@pytest.fixture
def reader():
    thread = ReaderThread("disk")
    yield thread
    thread.stop()


@pytest.fixture
def gate():
    event = threading.Event()
    yield event
    event.set()


def miss(reader, gate):
    with pytest.raises(SourceUnavailable) as raised:
        reader.call(gate.wait, Deadline.after(0.02))
    return str(raised.value)


def test_every_call_runs_on_the_same_reader_thread(reader):
    names = {reader.call(lambda: threading.current_thread().name, Deadline.after(60)) for _ in range(3)}
    assert names == {"reader-disk"}


def test_an_exception_of_a_call_is_raised_and_resets_the_timeout_count(reader, gate):
    miss(reader, gate)
    gate.set()
    until(lambda: reader_is_free(reader), 60, "the hanging call returns")
    with pytest.raises(ZeroDivisionError):
        reader.call(lambda: 1 // 0, Deadline.after(60))
    assert reader.misses == 0


def reader_is_free(reader):
    try:
        return reader.call(lambda: True, Deadline.after(60))
    except SourceUnavailable:
        return False


def test_a_timeout_error_names_the_source_and_the_deadline(reader, gate):
    assert miss(reader, gate) == "disk: no answer within 0.02 s"


def test_a_second_call_is_rejected_while_the_first_call_hangs(reader, gate):
    started = []
    miss(reader, gate)
    with pytest.raises(SourceUnavailable):
        reader.call(lambda: started.append(1), Deadline.after(60))
    assert (started, reader.misses) == ([], 2)


def test_all_timeout_errors_of_one_hung_call_have_the_same_message(reader, gate):
    """A finding is confirmed only if its text is equal in two audits."""
    said = {miss(reader, gate), miss(reader, gate)}
    with pytest.raises(SourceUnavailable) as raised:
        reader.call(gate.wait, Deadline.after(60))
    assert said | {str(raised.value)} == {"disk: no answer within 0.02 s"}


def test_a_timeout_error_states_the_whole_time_that_was_allowed(reader, gate):
    begun = Deadline(at=Deadline.after(0.02).at, allowed_s=5.0)
    with pytest.raises(SourceUnavailable, match=r"no answer within 5 s"):
        reader.call(gate.wait, begun)


def test_the_reader_works_again_after_the_hung_call_returns(reader, gate):
    miss(reader, gate)
    gate.set()
    until(lambda: reader_is_free(reader), 60, "the hanging call returns")
    assert (reader.call(lambda: 42, Deadline.after(60)), reader.misses) == (42, 0)


def test_a_call_never_receives_the_late_result_of_an_earlier_call(reader, gate):
    with pytest.raises(SourceUnavailable):
        reader.call(lambda: gate.wait() and "late", Deadline.after(0.02))
    gate.set()
    until(lambda: reader_is_free(reader), 60, "the hanging call returns")
    assert reader.call(lambda: "own", Deadline.after(60)) == "own"


def test_a_call_runs_with_the_context_variables_of_its_caller(reader):
    """The lines that the call logs have the audit's id."""
    audit = contextvars.ContextVar("audit")
    audit.set("a1")
    assert reader.call(audit.get, Deadline.after(60)) == "a1"
    audit.set("a2")
    assert reader.call(audit.get, Deadline.after(60)) == "a2"


def test_stopping_the_reader_ends_its_thread_and_rejects_further_calls(reader):
    thread = reader.call(threading.current_thread, Deadline.after(60))
    assert reader.stop()
    assert not thread.is_alive()
    with pytest.raises(SourceUnavailable, match="stopped"):
        reader.call(lambda: 1, Deadline.after(60))


def test_stopping_the_reader_returns_false_at_once_while_a_call_hangs(reader, gate):
    miss(reader, gate)
    done = threading.Event()
    ended = []
    threading.Thread(target=lambda: (ended.append(reader.stop()), done.set()), daemon=True).start()
    assert done.wait(30)
    assert ended == [False], "what hangs is still using what it reads"
