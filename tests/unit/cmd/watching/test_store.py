"""The last message of each host, and the senders of messages that cannot be read."""

from agent.cmd.watching import store as module
from agent.cmd.watching.store import HostStore
from tests.rigs.fleet_hosts import broken, clean


def outcomes(store: HostStore) -> dict[str, str]:
    return {seen.host: seen.outcome for seen in store.hosts()}


def test_the_last_message_of_each_host_is_kept():
    store = HostStore()
    for at, document in enumerate((clean("a"), clean("b"), broken("a"))):
        store.receive(float(at), document)
    assert outcomes(store) == {"a": "findings", "b": "clean"}
    assert len(store) == 2


def test_an_older_message_of_a_host_does_not_replace_a_newer_message():
    store = HostStore()
    store.receive(2.0, broken("a"))
    store.receive(1.0, clean("a"))
    assert outcomes(store) == {"a": "findings"}


def test_an_audit_outcome_begins_with_the_first_message_that_contained_it():
    store = HostStore()
    for at in (1.0, 2.0, 3.0):
        store.receive(at, clean("a", outcome="crashed"))
    (seen,) = store.hosts()
    assert (seen.outcome_since, seen.received_at) == (1.0, 3.0)


def test_an_unreadable_message_is_reported_only_once_for_each_sender():
    complaints = []
    store = HostStore(complain=complaints.append)
    for document in ({"host": "a", "schema_version": 9}, {"host": "a"}, 7, None, clean("a", interval_s="x")):
        store.receive(0.0, document)
    assert [each.partition(":")[0] for each in complaints] == ["a", "an unknown sender"]
    assert list(store.odd) == ["a", "an unknown sender"]
    assert outcomes(store) == {}


def test_each_valid_message_is_passed_to_the_listener_unchanged():
    heard = []
    store = HostStore(listen=lambda document, seen: heard.append((document, seen.host)))
    document = clean("a", key_of_a_newer_agent=[1])
    store.receive(0.0, document)
    store.receive(0.0, {"schema_version": 9})
    assert heard == [(document, "a")]


def test_new_hosts_are_only_counted_after_the_maximum_number_of_hosts(monkeypatch):
    monkeypatch.setattr(module, "MOST_HOSTS", 2)
    store = HostStore()
    for host in ("a", "b", "c", "c", "d"):
        store.receive(0.0, clean(host))
    store.receive(1.0, broken("a"))
    assert outcomes(store) == {"a": "findings", "b": "clean"}
    assert store.left_out == 2
