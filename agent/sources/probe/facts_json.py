"""Turn the values that stocktake-probe reads without a command into JSON and back, with every type checked.

The agent trusts no answer: a value of a wrong type, a missing key or an additional key makes the whole answer unusable.
Pure: no I/O.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Sequence
from typing import Any, TypeVar

from agent.model.host.storage import StorageFacts
from agent.sources.libvirt.capability_questions import DomainAnswer, MachineQuestion
from agent.sources.probe.protocol import BadMessage

T = TypeVar("T")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the probe measured.

    ``guests_unread`` says why the probe does not know the disk files of guests; "" if the probe knows these files.
    """

    facts: StorageFacts
    guests_unread: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """One DomainAnswer as the probe sends it, without the machine type's names, because the agent has them."""

    emulator: str | None
    arch: str
    machine: str | None
    xml: str | None
    code: int | None
    why: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Answers:
    virt_type: str
    answers: tuple[_Answer, ...]


def measured_object(measured: Measured) -> dict[str, Any]:
    """Return the JSON object of a measurement."""
    return dataclasses.asdict(measured)


def measured_of(document: dict[str, Any]) -> Measured:
    """Turn a JSON object from stocktake-probe into a measurement. Raises BadMessage."""
    return _value(Measured, document)


def answers_object(virt_type: str, answers: Sequence[DomainAnswer]) -> dict[str, Any]:
    """Return libvirt's answers as a JSON object. The answers are domain capabilities for ``virt_type``."""
    found = tuple(
        _Answer(
            emulator=one.question.emulator,
            arch=one.question.arch,
            machine=one.question.machine,
            xml=one.xml,
            code=one.code,
            why=one.why,
        )
        for one in answers
    )
    return dataclasses.asdict(_Answers(virt_type=virt_type, answers=found))


def answers_of(
    document: dict[str, Any], questions: Sequence[MachineQuestion], virt_type: str
) -> tuple[DomainAnswer, ...]:
    """Return the answers that the probe sent in ``document``, in the order of ``questions``. Raises BadMessage.

    The result may be shorter than ``questions``: if libvirt's error would be the same for every further question, the
    probe asks no more questions.
    """
    sent = _value(_Answers, document)
    if sent.virt_type != virt_type:
        raise BadMessage(
            f"virt_type is {sent.virt_type!r} in the probe's configuration, but not in the agent's configuration"
        )
    known = {(one.emulator, one.arch, one.machine): one for one in sent.answers}
    pairs = ((question, known.get((question.emulator, question.arch, question.machine))) for question in questions)
    return tuple(
        DomainAnswer(question=question, xml=found.xml, code=found.code, why=found.why)
        for question, found in pairs
        if found is not None
    )


def _value(kind: type[T], document: Any) -> T:  # noqa: ANN401 - JSON of any kind
    """Return ``document`` as an instance of the dataclass ``kind``. Raises BadMessage."""
    fields = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if not isinstance(document, dict) or set(document) != fields:
        raise BadMessage(f"the object {kind.__name__!r} does not have the expected keys")
    hints = typing.get_type_hints(kind)
    return kind(**{name: _typed(hints[name], value) for name, value in document.items()})


def _typed(hint: Any, value: Any) -> Any:  # noqa: ANN401
    """Return ``value`` in the type of a dataclass field. ``hint`` is the field's annotation.

    Raises BadMessage if ``value`` has another type.
    """
    if dataclasses.is_dataclass(hint):
        return _value(hint, value)  # type: ignore[arg-type]
    if isinstance(hint, types.UnionType):
        (inner,) = (one for one in typing.get_args(hint) if one is not types.NoneType)
        return None if value is None else _typed(inner, value)
    if typing.get_origin(hint) is tuple:
        return _items(typing.get_args(hint), value)
    if type(value) is int and hint is float:
        return float(value)
    if type(value) is not hint:
        raise BadMessage(f"a value is not of the type {hint.__name__}")
    return value


def _items(hints: tuple[Any, ...], value: Any) -> tuple[Any, ...]:  # noqa: ANN401
    if not isinstance(value, list):
        raise BadMessage("a value is not a list")
    if hints[-1] is Ellipsis:
        return tuple(_typed(hints[0], one) for one in value)
    if len(value) != len(hints):
        raise BadMessage(f"a list does not have {len(hints)} values")
    return tuple(_typed(hint, one) for hint, one in zip(hints, value, strict=True))
