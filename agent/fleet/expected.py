"""Parse the text of a file that lists the expected hosts: the hosts that should send messages. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from agent.errors import SourceInconsistent
from agent.text.wording import printable

MOST_WORDS = 2
MOST_NAME = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedHost:
    """A host that should send messages. ``disabled``: the host's nova-compute service is disabled in nova."""

    host: str
    group: str = ""
    disabled: bool = False


def hosts_from_text(text: str) -> tuple[ExpectedHost, ...]:
    """Return the hosts, sorted. A line has one host, and optionally its group as the second word; # begins a comment.

    Raises SourceInconsistent, which names the line's number, if a line has more than two words or a word above 255
    characters, or if two lines name the same host.
    """
    found: dict[str, ExpectedHost] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) > MOST_WORDS or any(len(word) > MOST_NAME for word in words):
            raise SourceInconsistent(
                "expected",
                f"line {number} must be one host name, or a host name and a group name (each at most {MOST_NAME} "
                f"characters): {line!r:.80}",
            )
        host, group = printable(words[0]), printable(" ".join(words[1:]))
        if host in found:
            raise SourceInconsistent("expected", f"line {number} names {host} a second time")
        found[host] = ExpectedHost(host=host, group=group)
    return sorted_hosts(found.values())


def sorted_hosts(hosts: Iterable[ExpectedHost]) -> tuple[ExpectedHost, ...]:
    """Return the hosts, sorted by name."""
    return tuple(sorted(hosts, key=lambda each: each.host))
