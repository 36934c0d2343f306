"""Build the remedies of a finding: what the operator can do, each with a command that can be pasted into a shell.

Commands are built from values, and each value is quoted for the shell. If a value is unknown (None), there is no
command: an operator must never paste a command that still needs editing.

From osc-placement 3.0 on, ``openstack resource provider`` negotiates the microversion, up to 1.29. So a command names a
microversion only if it needs a higher one. At 1.29, ``allocation unset`` sends the consumer's generation, so the
command never overwrites what nova has written in between.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from agent.findings.base import AuditFacts
from agent.model.finding import Remedy, RemedyKind
from agent.model.settings import Role

_UNIT = "stocktake-agent"
# A pattern for systemctl, because distributions name the unit either nova-compute or openstack-nova-compute.
_NOVA_COMPUTE = "*nova-compute.service"
#: When an operator may remove data of an instance from this host; look_for_instance shows whether this holds.
IF_NOT_NEEDED_HERE = "if the instance is deleted, or another host has the instance and its disk"


def heal(words: str) -> Remedy:
    """Return a remedy by ``stocktake heal``.

    ``Rule.finding`` adds the command. It leaves the remedy out if heal does not make this repair in the agent's role.
    """
    return Remedy(kind=RemedyKind.HEAL, words=words)


def inspect(words: str, command: str | None = None) -> Remedy:
    """Return a remedy that changes nothing: its command only shows facts, so that the operator can decide."""
    return Remedy(kind=RemedyKind.INSPECT, words=words, command=command)


def look_for_instance(uuid: str) -> Remedy:
    """Return a remedy that shows whether IF_NOT_NEEDED_HERE holds for the instance."""
    words = "check that the instance is deleted, or that another host has the instance and its disk"
    return inspect(words, show_server(uuid))


def by_hand(words: str, command: str | None = None) -> Remedy:
    """Return a remedy by which the operator changes something, outside of ``stocktake heal``."""
    return Remedy(kind=RemedyKind.HAND, words=words, command=command)


def wait(words: str) -> Remedy:
    """Return a remedy that needs no action: a program corrects the difference by itself."""
    return Remedy(kind=RemedyKind.WAIT, words=words)


def line(*words: str | None) -> str | None:
    """Return the words, each quoted, as one shell command; None if a word is not known."""
    known = [word for word in words if word]
    return shlex.join(known) if len(known) == len(words) else None


def openstack(*words: str | None) -> str | None:
    """Return the command ``openstack`` with these words; None if a word is not known."""
    return line("openstack", *words)


def virsh(audit: AuditFacts, *words: str | None) -> str | None:
    """Return a ``virsh`` command with these arguments; None if an argument is unknown.

    The command connects to the libvirt of this host.
    """
    return line("virsh", "-c", audit.settings.access.libvirt_uri, *words)


def unset(consumer: str | None, providers: Iterable[str | None]) -> str | None:
    """Return the command that removes the consumer's allocations on these providers and keeps its other allocations.

    Return None if there are no providers, or if a uuid is not known.
    """
    options = [word for provider in providers for word in ("--provider", provider)]
    return openstack("resource", "provider", "allocation", "unset", *options, consumer) if options else None


def delete_allocations(consumer: str | None) -> str | None:
    """Return the command that removes the consumer's allocations on every provider; None if the consumer is unknown."""
    return openstack("resource", "provider", "allocation", "delete", consumer)


def show_allocations(consumer: str | None) -> str | None:
    """Return the command that lists all allocations of the consumer; None if the consumer is unknown."""
    return openstack("resource", "provider", "allocation", "show", consumer)


def show_server(instance: str | None) -> str | None:
    """Return the command that shows the instance's host, state and flavor; None if the instance is unknown."""
    return openstack("server", "show", instance)


def show_provider(provider: str | None) -> str | None:
    """Return the command that shows the provider and all allocations on it; None if the provider is unknown."""
    return openstack("resource", "provider", "show", "--allocations", provider)


def explain(what: str | None) -> Remedy:
    """Return the remedy ``stocktake explain``. ``what`` is the resource class or the consumer to explain."""
    return inspect("see which consumers use how much, and why", line("stocktake", "explain", what))


def reload_agent(words: str) -> Remedy:
    """Return the remedy that makes the agent read its configuration again, after the operator has changed it."""
    return by_hand(f"{words} (SIGHUP)", line("systemctl", "reload", _UNIT))


def restart_nova_compute(words: str) -> Remedy:
    """Return the remedy that restarts nova-compute of this host."""
    return by_hand(words, line("systemctl", "restart", _NOVA_COMPUTE))


def by_nova_compute(audit: AuditFacts, words: str) -> tuple[Remedy, ...]:
    """Return a remedy that says to wait, because nova-compute of this host corrects the difference.

    Return an empty tuple in role owner: in this role no nova-compute runs on the host.
    """
    return () if audit.settings.role is Role.OWNER else (wait(words),)
