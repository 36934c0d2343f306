"""The client against a service in this process that returns object versions not yet released, and odd responses."""

import contextlib
import datetime
import itertools

import oslo_messaging
import pytest

from agent.bus.options import BusOptions
from agent.bus.transport import Bus
from agent.conductor import client as client_module
from agent.conductor.client import ConductorClient, context
from agent.conductor.complaints import RemoteFailure
from agent.conductor.manifest import MANIFEST
from agent.errors import SourceInconsistent
from agent.ports import Deadline
from tests.rigs.conductor_primitives import INSTANCE, listed

_numbers = itertools.count()


class Conductor:
    """A service that answers every class action with ``answer`` and backports it to ``older`` on request."""

    target = oslo_messaging.Target(version="3.0")

    def __init__(self, answer=None, older=None):
        self.answer = answer
        self.older = older
        self.asked = []

    def object_class_action_versions(self, ctxt, objname, objmethod, object_versions, args, kwargs):
        self.asked.append((ctxt, objname, objmethod, object_versions, args, kwargs))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def object_backport_versions(self, ctxt, objinst, object_versions):
        self.asked.append(("backport", objinst, object_versions))
        return self.older

    def object_action(self, ctxt, objinst, objmethod, args, kwargs):
        return self.answer


class BaseApi:
    """The methods that every nova service answers."""

    target = oslo_messaging.Target(namespace="baseapi", version="1.0")

    def ping(self, ctxt, arg):
        return {"service": "conductor", "arg": arg}


@contextlib.contextmanager
def serving(endpoint, monkeypatch):
    """Yield a client of that endpoint, over a transport in this process that serialises everything as JSON."""
    exchange = f"nova{next(_numbers)}"
    monkeypatch.setattr(client_module, "EXCHANGE", exchange)
    options = BusOptions(url="kombu+memory://", response_timeout_s=20)
    served, asking = Bus(options), Bus(options)
    target = oslo_messaging.Target(exchange=exchange, topic="conductor", server="here")
    server = oslo_messaging.get_rpc_server(served.rpc, target, [endpoint, BaseApi()])
    client = ConductorClient(asking)
    server.start()
    try:
        yield client
    finally:
        client.close()
        server.stop()
        server.wait()
        served.close()


def ask(client, **how):
    return client.class_action("InstanceList", "get_by_host", ["cmp1"], {"x": 1}, Deadline.after(20), **how)


def of_version(version):
    return listed("InstanceList", "2.6", {**INSTANCE, "nova_object.version": version})


def test_a_conductor_request_has_an_admin_context(monkeypatch):
    """A request to nova-conductor contains the method, its arguments, the object versions and an admin context."""
    endpoint = Conductor(of_version("2.8"))
    with serving(endpoint, monkeypatch) as client:
        assert ask(client, deleted="only") == of_version("2.8")

    [(ctxt, objname, method, versions, args, kwargs)] = endpoint.asked
    assert (objname, method, args, kwargs) == ("InstanceList", "get_by_host", ["cmp1"], {"x": 1})
    assert versions == dict(MANIFEST)
    assert (ctxt["read_deleted"], ctxt["is_admin"], ctxt["roles"]) == ("only", True, [])


def test_the_client_asks_for_a_readable_object_version(monkeypatch):
    """If nova-conductor sends an object of a newer major version, the agent asks for one that it can read."""
    endpoint = Conductor(of_version("3.0"), of_version("2.8"))
    with serving(endpoint, monkeypatch) as client:
        assert ask(client) == of_version("2.8")

    assert endpoint.asked[1] == ("backport", of_version("3.0"), dict(MANIFEST))


def test_a_second_unreadable_object_version_is_rejected(monkeypatch):
    """If nova-conductor sends an unreadable object version twice, the agent rejects the second answer."""
    with (
        serving(Conductor(of_version("3.0"), of_version("3.1")), monkeypatch) as client,
        pytest.raises(SourceInconsistent, match=r"Instance 3\.1, but this agent reads only 2\.8"),
    ):
        ask(client)


@pytest.mark.parametrize(
    ("raised", "kind"), [(ValueError("no good"), "ValueError"), (KeyError("cur"), "KeyError"), (OSError(5), "OSError")]
)
def test_a_conductor_exception_has_no_traceback(monkeypatch, raised, kind):
    """A Python exception in nova-conductor becomes an error with its type and message, without the traceback."""
    with serving(Conductor(raised), monkeypatch) as client, pytest.raises(RemoteFailure) as caught:
        ask(client)

    assert caught.value.kind == kind
    assert str(raised) in caught.value.words
    assert "Traceback" not in str(caught.value)


def test_a_malformed_object_action_result_is_rejected(monkeypatch):
    """nova-conductor must answer `object_action` with a pair; the agent rejects every other answer."""
    endpoint = Conductor()
    with serving(endpoint, monkeypatch) as client:
        for endpoint.answer in (None, [], [{}], [None, None], {"a": 1}, [{}, {}, {}]):
            with pytest.raises(SourceInconsistent, match="did not return a pair"):
                client.object_action({}, "save", [], Deadline.after(20))


def test_object_action_returns_changed_fields_and_result(monkeypatch):
    """`object_action` of nova-conductor answers with the object's changed fields and the method's result."""
    with serving(Conductor([{"updated_at": None}, 7]), monkeypatch) as client:
        assert client.object_action({}, "save", [], Deadline.after(20)) == ({"updated_at": None}, 7)


def test_the_request_timestamp_has_no_time_zone():
    """The context of a request to nova-conductor has a timestamp without a time zone and a new request id."""
    moment = datetime.datetime(2026, 11, 21, 10, 58, 5, tzinfo=datetime.UTC)
    first, second = context("no", lambda: moment), context("no", lambda: moment)

    assert first["timestamp"] == "2026-11-21T10:58:05.000000"
    assert first["request_id"] != second["request_id"]
    assert first["request_id"].startswith("req-")
