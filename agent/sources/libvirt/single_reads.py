"""Read libvirt for stocktake-probe: each function opens a connection, reads once and closes the connection."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import libvirt

from agent.errors import SourceError, SourceUnavailable
from agent.model.host.facts import Domain, DomainState
from agent.model.host.storage import GuestFile
from agent.model.snapshot import LIBVIRT
from agent.node_record.overcommit import files_of
from agent.sources.libvirt import connection as libvirt_connection
from agent.sources.libvirt.capabilities_xml import capabilities_document, guests
from agent.sources.libvirt.capability_questions import DomainAnswer, GuestChoice, machine_questions
from agent.sources.libvirt.domain_answers import ask_libvirt, reason
from agent.sources.libvirt.xml import parse_domain


def guest_disks(uri: str) -> frozenset[GuestFile]:
    """Return the files that are disks of defined domains. Raises SourceUnavailable with the URI."""
    with _errors_of(uri), _read_only(uri) as connection:
        return files_of(tuple(_domains(connection)))


def domain_answers(uri: str, choice: GuestChoice) -> tuple[DomainAnswer, ...]:
    """Return the domain capabilities of every machine type that ``choice`` asks for. Raises SourceUnavailable."""
    with _errors_of(uri):
        with _read_only(uri) as connection:
            kinds = guests(capabilities_document(connection.getCapabilities()))
        return ask_libvirt(uri, machine_questions(kinds, choice), choice.virt_type)


@contextlib.contextmanager
def _errors_of(uri: str) -> Iterator[None]:
    try:
        yield
    except (libvirt.libvirtError, SourceError) as error:
        raise SourceUnavailable(LIBVIRT, f"{uri}: {reason(error)}") from error


@contextlib.contextmanager
def _read_only(uri: str) -> Iterator[libvirt.virConnect]:
    connection = libvirt_connection.open_read_only(uri)
    try:
        yield connection
    finally:
        libvirt_connection.close_quietly(connection)


def _domains(connection: libvirt.virConnect) -> Iterator[Domain]:
    """Yield the defined domains. Like the daemon, leave out a domain that vanishes or cannot be parsed."""
    for handle in connection.listAllDomains():
        try:
            # The caller needs only the disks of the domain, so the state passed here does not matter.
            yield parse_domain(handle.XMLDesc(0), DomainState.NO_STATE)
        except SourceError:
            continue
        except libvirt.libvirtError as error:
            if libvirt_connection.means_lost(error):
                raise
