"""Ask libvirt for the domain capabilities of several machine types, in this process or through stocktake-probe.

libvirt refuses domain capabilities on a read-only connection, and a process with a read-write connection can do all
that root can. So an agent without privileges opens no such connection and asks stocktake-probe instead. stocktake-probe
itself also uses ``ask_libvirt`` of this module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libvirt

from agent.errors import SourceError, SourceUnavailable
from agent.model.snapshot import LIBVIRT
from agent.sources.libvirt import connection as libvirt_connection
from agent.sources.libvirt.capability_questions import DomainAnswer, MachineQuestion

_DENIED = frozenset({libvirt.VIR_ERR_OPERATION_DENIED, libvirt.VIR_ERR_ACCESS_DENIED, libvirt.VIR_ERR_AUTH_FAILED})
# The libvirt error codes after which every further question to libvirt would get the same error.
ENDS_ALL = frozenset({libvirt.VIR_ERR_NO_SUPPORT, *_DENIED})


#: A function that asks libvirt for domain capabilities, once for each question. Its arguments are the questions and the
#: option ``virt_type``. The answers have the order of the questions. After an error code in ENDS_ALL, the function asks
#: no further questions. It raises SourceError if libvirt cannot be asked, and libvirtError on a lost connection.
DomainAsker = Callable[[tuple[MachineQuestion, ...], str], tuple[DomainAnswer, ...]]


def ask_libvirt(uri: str, questions: tuple[MachineQuestion, ...], virt_type: str) -> tuple[DomainAnswer, ...]:
    """Return libvirt's answers to ``questions``. Raises SourceError or libvirtError.

    Opens and closes a read-write connection to ``uri``.
    """
    try:
        connection = libvirt_connection.open_read_write(uri)
    except (libvirt.libvirtError, SourceError) as error:
        why = f"the call needs a read-write connection, but the agent got none: {reason(error)}"
        raise SourceUnavailable(LIBVIRT, why) from error
    try:
        return tuple(_answers(connection, questions, virt_type))
    finally:
        libvirt_connection.close_quietly(connection)


def is_denied(answer: DomainAnswer) -> bool:
    """Return whether libvirt refused the call because this connection lacks the permission."""
    return answer.code in _DENIED


def reason(error: libvirt.libvirtError | SourceError) -> str:
    """Return the error's message."""
    return error.message if isinstance(error, SourceError) else error.get_error_message() or str(error)


def _answers(
    connection: libvirt.virConnect, questions: tuple[MachineQuestion, ...], virt_type: str
) -> Iterator[DomainAnswer]:
    for question in questions:
        try:
            xml = connection.getDomainCapabilities(question.emulator, question.arch, question.machine, virt_type, 0)
        except libvirt.libvirtError as error:
            if libvirt_connection.means_lost(error):
                raise
            yield DomainAnswer(question=question, code=error.get_error_code(), why=reason(error))
            if error.get_error_code() in ENDS_ALL:
                return
        else:
            yield DomainAnswer(question=question, xml=xml)
