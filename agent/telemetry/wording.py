"""How amounts and verdicts are written for people: every number with its unit, every verdict as a sentence. Pure."""

from __future__ import annotations

from agent.model.report import Verdict

_UNITS = {"MEMORY_MB": "MiB", "DISK_GB": "GiB"}

MEANINGS = {
    Verdict.AGREED: "the cloud, the host and Placement agree",
    Verdict.SETTLING: "a build, a task or a move is in progress: nothing is concluded",
    Verdict.UNKNOWN: "a book that this needs could not be read, or nobody here decides this class",
    Verdict.UNMANAGED: "the cloud does not know it: counted as unmanaged use",
    Verdict.RESERVED: "kept back for the host by configuration",
    Verdict.ALLOCATION_DIFFERS: "Placement records another amount than the cloud promised",
    Verdict.ALLOCATION_MISSING: "the cloud promised it, and Placement records nothing",
    Verdict.GUEST_MISSING: "the cloud promised it, and libvirt has no such guest",
    Verdict.GUEST_UNKNOWN: "libvirt has the guest, and the cloud does not expect it here",
    Verdict.ALLOCATION_LEAKED: "the instance is deleted, and Placement still counts it",
    Verdict.ALLOCATION_STALE_MOVE: "it lives elsewhere or its move is over, and Placement still counts it here",
    Verdict.CONSUMER_UNKNOWN: "Placement counts a consumer that the cloud does not know",
}


def unit_of(resource_class: str) -> str:
    """MiB, GiB, or the class itself where it counts things."""
    return _UNITS.get(resource_class, resource_class)


def printable(text: str) -> str:
    """Without control characters: a tenant chooses the names of instances, and a terminal obeys what it is sent."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def number(value: float) -> str:
    """Without needless decimals: 192, 19.5."""
    return str(int(value)) if value == int(value) else str(round(value, 3))


def amount(resource_class: str, value: float | None) -> str:
    """``8 VCPU``, ``4096 MiB``; ``unknown`` for None."""
    return "unknown" if value is None else f"{number(value)} {unit_of(resource_class)}"
