"""The last message of each host, and the senders of messages that cannot be read."""

from agent.cmd.watching import store as module
from agent.cmd.watching.store import HostStore
from tests.rigs.fleet_hosts import broken, clean


def outcomes(store: HostStore) -> dict[str, str]:
    return {seen.host: seen.outcome for seen in store.hosts()}


def test_the_last_message_of_each_host_is_kept():
    """`stocktake watch` keeps one message of each host: the last one."""
    store = HostStore()
    for at, document in enumerate((clean("a"), clean("b"), broken("a"))):
        store.receive(float(at), document)
    assert outcomes(store) == {"a": "findings", "b": "clean"}
    assert len(store) == 2


def test_an_older_message_does_not_replace_a_newer_one():
    """`stocktake watch` keeps the newer message of a host if an older message arrives after it."""
    store = HostStore()
    store.receive(2.0, broken("a"))
    store.receive(1.0, clean("a"))
    assert outcomes(store) == {"a": "findings"}


def test_a_repeated_outcome_keeps_its_start_time():
    """If a host sends the same outcome three times, the outcome's start time is the time of the first message."""
    store = HostStore()
    for at in (1.0, 2.0, 3.0):
        store.receive(at, clean("a", outcome="crashed"))
    (seen,) = store.hosts()
    assert (seen.outcome_since, seen.received_at) == (1.0, 3.0)


def test_watch_reports_a_sender_of_unreadable_messages_once():
    """A host sends several messages that `stocktake watch` cannot read.

    The command reports this host only once and ignores the messages.
    """
    complaints = []
    store = HostStore(complain=complaints.append)
    for document in ({"host": "a", "schema_version": 9}, {"host": "a"}, 7, None, clean("a", interval_s="x")):
        store.receive(0.0, document)
    assert [each.partition(":")[0] for each in complaints] == ["a", "an unknown sender"]
    assert list(store.odd) == ["a", "an unknown sender"]
    assert outcomes(store) == {}


def test_each_valid_message_reaches_the_listener_unchanged():
    """A listener receives each valid message of a host with all its keys, even keys that this version does not know."""
    heard = []
    store = HostStore(listen=lambda document, seen: heard.append((document, seen.host)))
    document = clean("a", key_of_a_newer_agent=[1])
    store.receive(0.0, document)
    store.receive(0.0, {"schema_version": 9})
    assert heard == [(document, "a")]


def test_the_number_of_stored_hosts_is_limited(monkeypatch):
    """At the maximum number of hosts, `stocktake watch` stores no message of a further host."""
    monkeypatch.setattr(module, "MOST_HOSTS", 2)
    store = HostStore()
    for host in ("a", "b", "c", "c", "d"):
        store.receive(0.0, clean(host))
    store.receive(1.0, broken("a"))
    assert outcomes(store) == {"a": "findings", "b": "clean"}
    assert store.left_out == 2
