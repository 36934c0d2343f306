"""Query libvirt for the capabilities of the host's CPU and of the host's emulators.

domain_answers.py asks for the domain capabilities, which libvirt refuses on a read-only connection. Each call may take
seconds after libvirtd's start, so the caller runs all queries on a separate thread.

A part that cannot be read becomes a MissingPart with libvirt's reason, and the other parts stay valid. Only a lost
connection fails the whole query. If libvirt rejects an emulator, the host cannot run that emulator. But if libvirt
rejects every emulator of the host's own architecture, KVM is not available yet: a MissingPart then makes the agent
query again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar
from xml.etree import ElementTree as ET

import libvirt

from agent.errors import SourceError
from agent.model.host.capabilities import Capabilities, DomainCapabilities, HostCpu, MissingPart, Part
from agent.sources.libvirt import connection as libvirt_connection
from agent.sources.libvirt.capabilities_xml import (
    Guest,
    expanded_features,
    guests,
    host_cpu,
    host_question,
    model_question,
)
from agent.sources.libvirt.capability_questions import DomainAnswer, GuestChoice, machine_questions, models_to_ask
from agent.sources.libvirt.domain_answers import DomainAsker, ask_libvirt, is_denied, reason
from agent.sources.libvirt.domain_capabilities_xml import parse_domain_capabilities

# These libvirt drivers lack getDomainCapabilities, so the agent does not try this call. The call would need a second
# connection, and the test driver reads the file of test:///path for every connection (1 s for 1000 guests).
_WITHOUT_DOMAIN_CAPABILITIES = frozenset({"TEST"})
# libvirt's errors for an architecture, machine or domain type that the emulator does not support (such as KVM for a
# foreign CPU). Any other error may be temporary, such as a QEMU that cannot be started.
_CANNOT_RUN = frozenset({libvirt.VIR_ERR_INVALID_ARG, libvirt.VIR_ERR_CONFIG_UNSUPPORTED})

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """What a query needs: a connection, the URI for a read-write connection, and the operator's guest configuration.

    ``domain`` is the function that asks for the domain capabilities. If it is None, this process asks libvirt at
    ``uri`` by itself.
    """

    connection: libvirt.virConnect
    driver: str
    uri: str
    choice: GuestChoice
    domain: DomainAsker | None = None


class _Missing:
    """Collects the parts of libvirt's capabilities that could not be read.

    ``refused`` has, by architecture, the reason why libvirt rejects the QEMU emulator.
    """

    def __init__(self) -> None:
        self.parts: list[MissingPart] = []
        self.refused: dict[str, str] = {}

    def ask(self, part: Part, question: Callable[[], T], detail: str = "") -> T | None:
        """Call ``question`` and return its result. If the call fails, return None and note ``part`` as missing.

        Raises libvirtError on a lost connection.
        """
        try:
            return question()
        except (libvirt.libvirtError, SourceError) as error:
            if libvirt_connection.means_lost(error):
                raise
            self.add(part, reason(error), detail)
        return None

    def add(self, part: Part, why: str, detail: str = "", *, passing: bool = False) -> None:
        self.parts.append(MissingPart(part=part, why=why, detail=detail, passing=passing))


def read_version(connection: libvirt.virConnect) -> tuple[int, tuple[MissingPart, ...]]:
    """Return the hypervisor's version; if libvirt does not tell it, return 0, and a MissingPart with the reason.

    Raises libvirt.libvirtError on a lost connection.
    """
    missing = _Missing()
    version = missing.ask(Part.VERSION, lambda: int(connection.getVersion()))
    return version or 0, tuple(missing.parts)


def read_capabilities(document: ET.Element, asker: Asker) -> Capabilities:
    """Return all capabilities, from ``document`` and from further queries. Raises libvirtError on a lost connection."""
    missing = _Missing()
    cpu = _host_cpu(document, asker, missing)
    kinds = missing.ask(Part.GUESTS, lambda: guests(document))
    domain = None if kinds is None else _domain(kinds, asker, missing)
    _note_no_emulator_of_its_own(cpu.arch, domain, missing)
    return Capabilities(
        host_cpu=cpu,
        guests=tuple(guest.kind for guest in kinds or ()),
        domain=domain,
        model_features=_model_features(document, cpu.arch, asker, missing),
        missing=tuple(missing.parts),
    )


def _host_cpu(document: ET.Element, asker: Asker, missing: _Missing) -> HostCpu:
    """Return the host's CPU, with all features of its model. The architecture is empty if the CPU is unknown."""
    cpu = missing.ask(Part.HOST_CPU, lambda: host_cpu(document))
    if cpu is None:
        return HostCpu(arch="")
    # On aarch64, baselineCPU returns no features at all. So the agent does not call it and keeps the features of the
    # document.
    if cpu.model is None or cpu.arch == "aarch64":
        return cpu
    return replace(cpu, features=missing.ask(Part.HOST_FEATURES, lambda: _host_features(document, cpu, asker)))


def _host_features(document: ET.Element, cpu: HostCpu, asker: Asker) -> frozenset[str]:
    """Return all features of the host's CPU; only those in ``document`` if the driver lacks baselineCPU."""
    try:
        return _expanded(asker, host_question(document))
    except libvirt.libvirtError as error:
        if libvirt_connection.is_unsupported(error) and cpu.features:
            return cpu.features
        raise


def _expanded(asker: Asker, question: str) -> frozenset[str]:
    answer = asker.connection.baselineCPU([question], libvirt.VIR_CONNECT_BASELINE_CPU_EXPAND_FEATURES)
    return expanded_features(answer)


def _model_features(
    document: ET.Element, arch: str, asker: Asker, missing: _Missing
) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return (model name, features) for each CPU model that nova gives to guests, if libvirt can expand the model."""
    models = models_to_ask(arch, asker.choice)
    if not models:
        return ()
    names = _model_names(asker.connection, arch)
    # The query uses libvirt's spelling of the model. nova accepts a model's name in any letter case, but libvirt does
    # not.
    questions = {model: model_question(document, names.get(model.lower(), model)) for model in models}
    answers = (
        (model, missing.ask(Part.MODEL_FEATURES, functools.partial(_expanded, asker, question), model))
        for model, question in questions.items()
    )
    return tuple((model, features) for model, features in answers if features is not None)


def _model_names(connection: libvirt.virConnect, arch: str) -> dict[str, str]:
    """Return libvirt's spelling of each model by its lower-case name; {} if libvirt lists none, as for aarch64."""
    try:
        listed = connection.getCPUModelNames(arch, 0)
    except libvirt.libvirtError as error:
        if libvirt_connection.means_lost(error):
            raise
        return {}
    return {name.lower(): name for name in listed or ()}


def _note_no_emulator_of_its_own(arch: str, domain: tuple[DomainCapabilities, ...] | None, missing: _Missing) -> None:
    why = missing.refused.get(arch)
    if why is not None and domain is not None and not any(answer.arch == arch for answer in domain):
        missing.add(Part.MACHINE, why, arch)


def _domain(kinds: tuple[Guest, ...], asker: Asker, missing: _Missing) -> tuple[DomainCapabilities, ...] | None:
    if asker.driver in _WITHOUT_DOMAIN_CAPABILITIES:
        return None
    questions = machine_questions(kinds, asker.choice)
    ask = asker.domain or functools.partial(ask_libvirt, asker.uri)
    try:
        return _parsed(ask(questions, asker.choice.virt_type), missing)
    except SourceError as error:
        missing.add(Part.DOMAIN, error.message, passing=asker.domain is not None)
        return None


def _parsed(answers: tuple[DomainAnswer, ...], missing: _Missing) -> tuple[DomainCapabilities, ...] | None:
    """Return the parsed domain capabilities, sorted.

    Return None if the driver lacks getDomainCapabilities, or if libvirt denies the call.
    """
    found = []
    for answer in answers:
        arch, machine = answer.question.arch, answer.question.machine
        detail = f"{arch} {machine or 'default machine'}"
        if answer.code == libvirt.VIR_ERR_NO_SUPPORT:
            return None
        if is_denied(answer):
            missing.add(Part.DOMAIN, answer.why)
            return None
        if answer.code in _CANNOT_RUN:
            missing.refused.setdefault(arch, answer.why)
        elif answer.xml is None:
            missing.add(Part.MACHINE, answer.why, detail)
        else:
            try:
                found.append(parse_domain_capabilities(answer.xml, answer.question.names))
            except SourceError as error:
                missing.add(Part.MACHINE, reason(error), detail)
    return tuple(sorted(found, key=lambda one: (one.arch, one.machines)))
