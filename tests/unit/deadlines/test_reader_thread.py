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


def test_every_read_runs_on_the_same_reader_thread(reader):
    """All reads of one source, such as the disk, run on one and the same thread of the agent."""
    names = {reader.call(lambda: threading.current_thread().name, Deadline.after(60)) for _ in range(3)}
    assert names == {"reader-disk"}


def test_an_exception_resets_the_count_of_timeouts(reader, gate):
    """A read that raises an exception has answered, so the count of timeouts returns to 0."""
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


def test_a_timeout_error_shows_the_source_and_the_deadline(reader, gate):
    """If a read hangs, the error message contains the source and the time limit: "disk: no answer within 0.02 s"."""
    assert miss(reader, gate) == "disk: no answer within 0.02 s"


def test_a_second_read_is_rejected_while_the_first_hangs(reader, gate):
    started = []
    miss(reader, gate)
    with pytest.raises(SourceUnavailable):
        reader.call(lambda: started.append(1), Deadline.after(60))
    assert (started, reader.misses) == ([], 2)


def test_all_timeout_errors_of_a_hung_read_are_equal(reader, gate):
    """While a read hangs, each further attempt fails with the same error text."""
    said = {miss(reader, gate), miss(reader, gate)}
    with pytest.raises(SourceUnavailable) as raised:
        reader.call(gate.wait, Deadline.after(60))
    assert said | {str(raised.value)} == {"disk: no answer within 0.02 s"}


def test_a_timeout_error_shows_the_whole_allowed_time(reader, gate):
    """If a read with a limit of 5 s starts late, its timeout error still says 5 s."""
    begun = Deadline(at=Deadline.after(0.02).at, allowed_s=5.0)
    with pytest.raises(SourceUnavailable, match=r"no answer within 5 s"):
        reader.call(gate.wait, begun)


def test_the_reader_recovers_after_a_hung_read_returns(reader, gate):
    """After a hung read has returned, the next read on the same thread succeeds and the count of timeouts is 0."""
    miss(reader, gate)
    gate.set()
    until(lambda: reader_is_free(reader), 60, "the hanging call returns")
    assert (reader.call(lambda: 42, Deadline.after(60)), reader.misses) == (42, 0)


def test_a_read_never_receives_the_result_of_an_earlier_read(reader, gate):
    """A hung read returns long after its deadline; the late result is dropped and not given to the next read."""
    with pytest.raises(SourceUnavailable):
        reader.call(lambda: gate.wait() and "late", Deadline.after(0.02))
    gate.set()
    until(lambda: reader_is_free(reader), 60, "the hanging call returns")
    assert reader.call(lambda: "own", Deadline.after(60)) == "own"


def test_a_read_runs_with_the_context_variables_of_its_caller(reader):
    """A read runs on another thread with the context variables of its caller, so its log lines have the audit's ID."""
    audit = contextvars.ContextVar("audit")
    audit.set("a1")
    assert reader.call(audit.get, Deadline.after(60)) == "a1"
    audit.set("a2")
    assert reader.call(audit.get, Deadline.after(60)) == "a2"


def test_a_stopped_reader_thread_rejects_further_reads(reader):
    """After the reader is stopped, its thread has ended, and a further read fails with the error "stopped"."""
    thread = reader.call(threading.current_thread, Deadline.after(60))
    assert reader.stop()
    assert not thread.is_alive()
    with pytest.raises(SourceUnavailable, match="stopped"):
        reader.call(lambda: 1, Deadline.after(60))


def test_stopping_the_reader_does_not_wait_for_a_hung_read(reader, gate):
    """The reader's stop() returns False at once while a read hangs, because the hung thread cannot be ended."""
    miss(reader, gate)
    done = threading.Event()
    ended = []
    threading.Thread(target=lambda: (ended.append(reader.stop()), done.set()), daemon=True).start()
    assert done.wait(30)
    assert ended == [False], "what hangs is still using what it reads"
