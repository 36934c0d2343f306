"""Say in one sentence why nova-conductor returned no usable answer, and what the operator can do about this.

oslo.messaging's error texts repeat the whole connection configuration. The sentences of this module name the broker
without the password. The same failure always gets the same sentence, because a finding is confirmed only when two
audits report the finding with equal words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from agent.bus.options import BusOptions
from agent.errors import SourceDenied, SourceError, SourceInconsistent, SourceUnavailable
from agent.model.snapshot import STATE

_WORDS = 300
_VERSIONS = re.compile(
    r"Version (?P<asked>\S+) of (?P<name>\S+) is not supported, supported version is (?P<known>[0-9.]*[0-9])"
)
# Exception classes of oslo.db and SQLAlchemy that mean "the database is unreachable or failed".
_DATABASE_AWAY = frozenset(
    {"DBConnectionError", "DBError", "CantStartEngineError", "OperationalError", "InterfaceError", "TimeoutError"}
)


class RemoteFailure(SourceUnavailable):
    """A remote method of nova raised an exception: ``kind`` is the exception's class name, ``words`` its message."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(STATE, f"nova-conductor: {kind}: {words}" if words else f"nova-conductor: {kind}")
        self.kind = kind
        self.words = words

    @property
    def is_transient(self) -> bool:
        """Whether the failure is temporary (nova's database failed or deadlocked) and not a rejection by nova."""
        return self.kind in _DATABASE_AWAY or self.kind.startswith("DBDeadlock")


class Complaints:
    """Build the errors about one message broker, and about the nova-conductor that listens there on ``topic``."""

    def __init__(self, options: BusOptions, topic: str) -> None:
        self._options = options
        self._topic = topic

    def unanswered(self, allowed_s: float) -> SourceUnavailable:
        """Return the error for a call that the broker accepted but nova-conductor did not answer."""
        return SourceUnavailable(
            STATE,
            f"no answer on topic {self._topic} of broker {self._options.shown} within {allowed_s:.3g} s:"
            " check that nova-conductor and its database are running",
        )

    def silent(self, error: SourceUnavailable) -> SourceUnavailable:
        """Return the error for a broker that did not respond in time. Its text contains the message of ``error``."""
        return self._broker(error.message)

    def undelivered(self, error: Exception) -> SourceUnavailable:
        """Return the error for a call that did not reach the broker."""
        text = str(error)
        if "ACCESS_REFUSED" in text or "Login was refused" in text:
            return self._denied(f"the broker refuses user {self._user()!r} (see [DEFAULT] transport_url)")
        if "NOT_ALLOWED" in text:
            return self._denied(
                f"user {self._user()!r} may not use the virtual host that [DEFAULT] transport_url names"
            )
        return self._broker(f"the agent cannot reach the broker: {self._words(text)}")

    def other(self, error: Exception) -> SourceUnavailable:
        """Return the error for any other exception of oslo.messaging."""
        return self._broker(f"{type(error).__name__}: {self._words(str(error))}")

    def remote(self, kind: str, value: str, manifest: Mapping[str, str], body: Mapping[str, object]) -> SourceError:
        """Return the error for an exception that nova raised; ``kind`` is the exception's class name."""
        words = self._words(value)
        if kind == "IncompatibleObjectVersion":
            return SourceInconsistent(STATE, _version_words(words, manifest, str(body.get("objname", "an object"))))
        if kind in {"UnsupportedObjectError", "UnsupportedVersion", "RPCVersionCapError", "NoSuchMethod"}:
            return SourceInconsistent(
                STATE, f"nova-conductor is too old for the agent's request ({words}): upgrade nova-conductor"
            )
        return RemoteFailure(kind or "an exception without a class name", words)

    def _broker(self, why: str) -> SourceUnavailable:
        return SourceUnavailable(STATE, f"message broker {self._options.shown}: {why}")

    def _denied(self, why: str) -> SourceDenied:
        return SourceDenied(STATE, f"message broker {self._options.shown}: {why}")

    def _user(self) -> str:
        first = self._options.url.partition("://")[2].split(",")[0]
        return unquote(first.rpartition("@")[0].partition(":")[0])

    def _words(self, text: str) -> str:
        """Return another program's error text as one line of at most ``_WORDS`` characters, with passwords masked."""
        for part in self._options.url.partition("://")[2].split(","):
            secret = part.rpartition("@")[0].partition(":")[2]
            for form in (secret, unquote(secret)):
                text = text.replace(form, "***") if form else text
        line = " ".join(text.split())
        return line if len(line) <= _WORDS else f"{line[: _WORDS - 3]}..."


def _version_words(words: str, manifest: Mapping[str, str], objname: str) -> str:
    found = _VERSIONS.search(words)
    name, asked, known = found.group("name", "asked", "known") if found else (objname, manifest.get(objname), None)
    supported = f"nova-conductor supports only {known}" if known else "nova-conductor rejects the request"
    return (
        f"the agent asks nova-conductor for {name} {asked}; {supported}: upgrade nova-conductor, or use an older agent"
    )
