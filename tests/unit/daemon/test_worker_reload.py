"""What the worker forgets at a reload: an operator reloads to say that the world outside has changed."""

from __future__ import annotations

import queue
from types import SimpleNamespace

import pytest

from agent.daemon.audit_queue import AuditQueue, Pacing
from agent.daemon.worker import Configured, Current, Worker
from agent.model.audit import AuditMemory, AuditResult, FullState, Publish, WrittenProvider
from tests.rigs.facts import settings, state
from tests.rigs.reports import REPORT

LEFT = AuditMemory(
    node_name="cmp1",
    written=WrittenProvider(provider_uuid="u", inventories=(), strikes=2),
    unknown_traits=frozenset({"HW_NEW"}),
    full_state=FullState(
        state=state(), sign=None, consumers=frozenset(), node_uuid=None, domains=None, allocations=None
    ),
)


class Forgetful:
    """A part that caches, and counts the calls of forget()."""

    def __init__(self):
        self.times = 0

    def forget(self):
        self.times += 1


class Silent:
    """A publisher that publishes nothing; ``bugs`` has the bugs reported to it."""

    def __init__(self):
        self.bugs = []

    def publish(self, report, configured):
        pass

    def bug(self, where, error):
        self.bugs.append((where, error))


def configured(parts):
    return Configured(
        settings=settings(),
        parts=parts,
        publish=Publish.BY_ROLE,
        pacing=Pacing(),
        interval_s=None,
        summary_interval_s=600.0,
    )


@pytest.fixture
def running():
    """Yield the configuration, a function that runs an audit and returns the memory it began with, and the parts."""
    parts = SimpleNamespace(host=Forgetful(), reader=Forgetful(), images=Forgetful(), clock=SimpleNamespace(now=str))
    current, waiting, begun, publisher = Current(configured(parts)), AuditQueue(Pacing()), queue.SimpleQueue(), Silent()

    def audit(request, chosen, used, memory, cancelled):
        begun.put(memory)
        return AuditResult(report=REPORT, memory=LEFT)

    def audited():
        waiting.request_now("test")
        return begun.get(timeout=60)

    worker = Worker(waiting, current, audit, publisher, on_end=lambda code: None)
    worker.start()
    yield current, audited, parts
    worker.stop()
    waiting.close()
    assert worker.join(60)
    assert publisher.bugs == []


def test_what_an_audit_learns_is_passed_to_the_next_audit(running):
    """What an audit has learned, such as the name of the node, is passed to the next audit."""
    _current, audited, parts = running
    assert [audited(), audited()] == [AuditMemory(), LEFT]
    assert parts.reader.times == 0


def test_the_first_audit_after_a_reload_uses_no_cached_data(running):
    """A reload of the configuration drops what the agent has cached about the host, Placement and the images."""
    current, audited, parts = running
    audited()
    current.replace(configured(parts))
    memory = audited()
    assert (memory.node_name, memory.written, memory.unknown_traits) == ("cmp1", None, frozenset())
    assert memory.full_state is None
    assert (parts.host.times, parts.reader.times, parts.images.times) == (1, 1, 1)
