"""Call methods of nova's objects on nova-conductor, as nova-compute does, without importing nova.

The time-out of an RPC call does not limit how long the connection to the broker takes. oslo.messaging opens the reply
connection without any time limit, so a call to an unreachable broker hangs until the broker is back (measured).
Therefore every call runs on the client's own thread, and the caller waits for that thread only until the deadline.

Before its first call, and again after each call that did not reach the broker, the client sends a cast (a message
without a reply). oslo.messaging does limit the connect time of a cast, and reports why the connect fails.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import oslo_messaging

from agent.bus.transport import TRIES, Bus, PlainSerializer
from agent.conductor.complaints import Complaints
from agent.conductor.manifest import MANIFEST, other_major
from agent.deadlines.reader_thread import ReaderThread
from agent.errors import SourceInconsistent, SourceUnavailable
from agent.model.snapshot import STATE
from agent.ports import Deadline

EXCHANGE = "nova"
TOPIC = "conductor"
VERSION = "3.0"
PING_NAMESPACE = "baseapi"
PING_VERSION = "1.0"
# oslo.messaging raises the connection errors of these packages unchanged, not as exceptions of its own.
_DRIVERS = frozenset({"amqp", "kombu"})
# An RPC call times out this many seconds before the caller's deadline. At the deadline ReaderThread would raise an
# error of its own, which says less than oslo.messaging's error.
_MARGIN_S = 0.25
_SUFFIX = "_Remote"
_TRACEBACK = "Traceback (most recent call last)"

Deleted = Literal["no", "yes", "only"]


class ConductorClient:
    """Calls remote methods of nova's objects, for one caller at a time. The client connects at the first call."""

    def __init__(self, bus: Bus, manifest: Mapping[str, str] = MANIFEST) -> None:
        self._bus = bus
        self._manifest = manifest
        self._complaints = Complaints(bus.options, TOPIC)
        self._thread = ReaderThread(STATE)
        self._client: oslo_messaging.RPCClient | None = None
        self._reached = False

    def class_action(
        self,
        objname: str,
        method: str,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        deadline: Deadline,
        *,
        deleted: Deleted = "no",
    ) -> object:
        """Call a class method of nova's class ``objname``; return its result: a serialized object or a plain value.

        ``deleted``: whether the method sees soft-deleted rows. Raises SourceUnavailable if the broker or conductor does
        not answer, and RemoteFailure if nova's method failed. Raises SourceInconsistent if conductor does not support
        the requested version, or if the agent cannot read the version of the answer.
        """
        call = {"objname": objname, "objmethod": method, "args": list(args), "kwargs": dict(kwargs)}
        body = {**call, "object_versions": dict(self._manifest)}
        answer = self._call("object_class_action_versions", body, deadline, deleted)
        return self._readable(answer, deadline)

    def object_action(
        self, primitive: Mapping[str, object], method: str, args: Sequence[object], deadline: Deadline
    ) -> tuple[dict[str, object], object]:
        """Call a method of the object ``primitive`` and return (changed fields, result).

        Raises the same errors as ``class_action``.
        """
        body = {"objinst": dict(primitive), "objmethod": method, "args": list(args), "kwargs": {}}
        answer = self._call("object_action", body, deadline, "no")
        if not (isinstance(answer, list | tuple) and len(answer) == 2 and isinstance(answer[0], dict)):
            raise SourceInconsistent(STATE, f"nova-conductor: object_action {method} did not return a pair of values")
        return answer[0], answer[1]

    def backport(self, primitive: object, deadline: Deadline) -> object:
        """Return the object after conductor has backported it to the manifest's versions.

        Raises the same errors as ``class_action``.
        """
        body = {"objinst": primitive, "object_versions": dict(self._manifest)}
        return self._call("object_backport_versions", body, deadline, "no")

    def close(self) -> None:
        """Stop the thread and close the connections, without waiting for a call that hangs."""
        self._thread.stop()
        self._bus.close()

    def _readable(self, answer: object, deadline: Deadline) -> object:
        if other_major(answer, self._manifest) is None:
            return answer
        older = self.backport(answer, deadline)
        still = other_major(older, self._manifest)
        if still is not None:
            name = still.partition(" ")[0]
            raise SourceInconsistent(
                STATE,
                f"nova-conductor answers with {still}, but this agent reads only {self._manifest[name]};"
                " the agent is too old for this cloud: upgrade the agent",
            )
        return older

    def _call(self, method: str, body: Mapping[str, object], deadline: Deadline, deleted: Deleted) -> object:
        try:
            return self._thread.call(lambda: self._ask(method, body, deadline, deleted), deadline)
        except oslo_messaging.MessagingTimeout as error:
            allowed_s = min(deadline.allowed_s, self._bus.options.response_timeout_s)
            raise self._complaints.unanswered(allowed_s) from error
        except SourceUnavailable as error:
            raise self._complaints.silent(error) from error
        except Exception as error:
            if (remote := _remote(error)) is not None:
                raise self._complaints.remote(*remote, self._manifest, body) from error
            if _is_undelivered(error):
                raise self._complaints.undelivered(error) from error
            if isinstance(error, oslo_messaging.MessagingException):
                raise self._complaints.other(error) from error
            raise

    def _ask(self, method: str, body: Mapping[str, object], deadline: Deadline, deleted: Deleted) -> object:
        """Make one call within the time left until the deadline. Runs on the client's thread."""
        client = self._opened()
        if not self._reached:
            knock = client.prepare(namespace=PING_NAMESPACE, version=PING_VERSION, retry=TRIES)
            knock.cast(context("no"), "ping", arg="stocktake")
            self._reached = True
        left_s = min(deadline.left_s() - _MARGIN_S, self._bus.options.response_timeout_s)
        if left_s <= 0:
            raise oslo_messaging.MessagingTimeout("nova-conductor did not answer in time")
        try:
            return client.prepare(timeout=left_s, retry=TRIES).call(context(deleted), method, **body)
        except Exception as error:
            self._reached = _remote(error) is not None or not _is_undelivered(error)
            raise

    def _opened(self) -> oslo_messaging.RPCClient:
        if self._client is None:
            target = oslo_messaging.Target(exchange=EXCHANGE, topic=TOPIC, version=VERSION)
            self._client = oslo_messaging.get_rpc_client(self._bus.rpc, target, serializer=PlainSerializer())
        return self._client


def _remote(error: Exception) -> tuple[str, str] | None:
    """Return (class name, message) of an exception raised on the conductor; None if ``error`` arose in this process.

    If the exception on the conductor has a built-in class, oslo.messaging raises the same class in this process. The
    remote traceback in the text of ``error`` shows that the exception was raised on the conductor.
    """
    if isinstance(error, oslo_messaging.RemoteError):
        return error.exc_type or "", error.value or ""
    name = type(error).__name__
    words, traceback, _ = (str(error.args[0]) if error.args else "").partition(_TRACEBACK)
    if name.endswith(_SUFFIX) or traceback:
        return name.removesuffix(_SUFFIX), words.strip()
    return None


def _is_undelivered(error: Exception) -> bool:
    if isinstance(error, oslo_messaging.MessageDeliveryFailure | OSError):
        return True
    return type(error).__module__.partition(".")[0] in _DRIVERS


def context(deleted: Deleted, now: Callable[[], datetime.datetime] | None = None) -> dict[str, object]:
    """Return a serialized nova request context with administrator rights; it names no user and no project."""
    moment = now() if now else datetime.datetime.now(datetime.UTC)
    empty = (
        "user", "user_id", "user_name", "user_domain", "project_id", "project_name", "project_domain", "tenant",
        "domain", "domain_id", "system_scope", "auth_token", "service_user_id", "global_request_id", "remote_address",
        "quota_class", "resource_uuid",
    )  # fmt: skip
    return {
        **dict.fromkeys(empty),
        "is_admin": True,
        "is_admin_project": True,
        "read_only": False,
        "show_deleted": False,
        "read_deleted": deleted,
        "roles": [],
        "service_roles": [],
        "service_catalog": [],
        "request_id": f"req-{uuid.uuid4()}",
        "timestamp": moment.replace(tzinfo=None).isoformat(timespec="microseconds"),
    }
