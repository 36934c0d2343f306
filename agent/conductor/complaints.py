"""Say in one sentence why nova-conductor gave no usable answer, and what an operator can do about it.

What a newcomer would get wrong: the library's own words quote the whole configuration of
the connection, time and again; here the broker is named without its password, and the same
trouble always gets the same words, because a finding is confirmed by equal words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from agent.bus.options import BusOptions
from agent.errors import SourceError, SourceInconsistent, SourceUnavailable
from agent.model.snapshot import STATE

_WORDS = 300
_VERSIONS = re.compile(
    r"Version (?P<asked>\S+) of (?P<name>\S+) is not supported, supported version is (?P<known>[0-9.]*[0-9])"
)
# oslo.db's names of what a database does that is away, and SQLAlchemy's own.
_DATABASE_AWAY = frozenset(
    {"DBConnectionError", "DBError", "CantStartEngineError", "OperationalError", "InterfaceError", "TimeoutError"}
)


class RemoteFailure(SourceUnavailable):
    """A method of nova's raised: ``kind`` is the class of its exception, ``words`` what it said."""

    def __init__(self, kind: str, words: str) -> None:
        super().__init__(STATE, f"nova-conductor: {kind}: {words}" if words else f"nova-conductor: {kind}")
        self.kind = kind
        self.words = words

    @property
    def is_weather(self) -> bool:
        """Whether conductor could not do its work just now, and did not refuse it."""
        return self.kind in _DATABASE_AWAY or self.kind.startswith("DBDeadlock")


class Complaints:
    """The sentences about one broker."""

    def __init__(self, options: BusOptions, topic: str) -> None:
        self._options = options
        self._topic = topic

    def nobody(self, allowed_s: float) -> SourceUnavailable:
        """The broker took the question, and no answer came."""
        return SourceUnavailable(
            STATE,
            f"nobody answered on topic {self._topic} of {self._options.shown} within {allowed_s:.3g} s:"
            " is nova-conductor running, and its database?",
        )

    def silent(self, error: SourceUnavailable) -> SourceUnavailable:
        """Not even the broker gave a sign in time; ``error`` is what the waiting thread said."""
        return SourceUnavailable(STATE, f"message broker {self._options.shown}: {error.message}")

    def undelivered(self, error: Exception) -> SourceUnavailable:
        """The question did not get to the broker."""
        text = str(error)
        if "ACCESS_REFUSED" in text or "Login was refused" in text:
            why = f"it refuses user {self._user()!r} (see [DEFAULT] transport_url)"
        elif "NOT_ALLOWED" in text:
            why = f"user {self._user()!r} may not use its virtual host (see [DEFAULT] transport_url)"
        else:
            why = f"it cannot be reached: {self._words(text)}"
        return SourceUnavailable(STATE, f"message broker {self._options.shown}: {why}")

    def other(self, error: Exception) -> SourceUnavailable:
        """Anything else that the library says."""
        words = f"{type(error).__name__}: {self._words(str(error))}"
        return SourceUnavailable(STATE, f"message broker {self._options.shown}: {words}")

    def remote(self, kind: str, value: str, manifest: Mapping[str, str], body: Mapping[str, object]) -> SourceError:
        """An exception of nova's own, by the name of its class."""
        words = self._words(value)
        if kind == "IncompatibleObjectVersion":
            return SourceInconsistent(STATE, _version_words(words, manifest, str(body.get("objname", "an object"))))
        if kind in {"UnsupportedObjectError", "UnsupportedVersion", "RPCVersionCapError", "NoSuchMethod"}:
            return SourceInconsistent(
                STATE, f"nova-conductor does not know what it is asked ({words}): it is too old for this agent"
            )
        return RemoteFailure(kind or "an error without a name", words)

    def _user(self) -> str:
        first = self._options.url.partition("://")[2].split(",")[0]
        return unquote(first.rpartition("@")[0].partition(":")[0])

    def _words(self, text: str) -> str:
        """What somebody else said, on one line, bounded, without the password."""
        for part in self._options.url.partition("://")[2].split(","):
            secret = part.rpartition("@")[0].partition(":")[2]
            for form in (secret, unquote(secret)):
                text = text.replace(form, "***") if form else text
        line = " ".join(text.split())
        return line if len(line) <= _WORDS else f"{line[: _WORDS - 3]}..."


def _version_words(words: str, manifest: Mapping[str, str], objname: str) -> str:
    found = _VERSIONS.search(words)
    name, asked, known = found.group("name", "asked", "known") if found else (objname, manifest.get(objname), None)
    supported = f"supports {known}" if known else "does not support it"
    return (
        f"nova-conductor is asked for {name} {asked} and {supported}: nova-conductor must be at least as new as"
        " this agent, so upgrade it, or use an older agent"
    )
