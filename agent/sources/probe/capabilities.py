"""Ask for domain capabilities through stocktake-probe, which has the read-write connection that libvirt requires."""

from __future__ import annotations

from dataclasses import dataclass

from agent.errors import SourceUnavailable
from agent.model.snapshot import LIBVIRT
from agent.ports import Deadline
from agent.sources.libvirt.capability_questions import DomainAnswer, MachineQuestion
from agent.sources.libvirt.domain_answers import ENDS_ALL
from agent.sources.probe.client import ask_facts
from agent.sources.probe.facts_json import answers_of
from agent.sources.probe.protocol import LONGEST_DEADLINE_S, BadMessage, Verb


@dataclass(frozen=True, slots=True)
class ProbeDomainAsker:
    """Asks stocktake-probe for libvirt's domain capabilities. ``path`` is the probe's socket."""

    path: str

    def __call__(self, questions: tuple[MachineQuestion, ...], virt_type: str) -> tuple[DomainAnswer, ...]:
        """Return the answers that the probe got from libvirt.

        Raises SourceUnavailable if the probe gives no usable answer or leaves out a question, or if the probe's
        configured ``virt_type`` differs from the argument ``virt_type``.
        """
        # Before libvirt answers, it may probe every QEMU binary of the host, which takes long. So stocktake-probe gets
        # the longest deadline.
        document = ask_facts(self.path, LIBVIRT, Verb.DOMAIN_CAPABILITIES, Deadline.after(LONGEST_DEADLINE_S))
        try:
            answers = answers_of(document, questions, virt_type)
        except BadMessage as error:
            raise SourceUnavailable(LIBVIRT, f"stocktake-probe ({self.path}) gave no usable answer: {error}") from error
        if len(answers) < len(questions) and not any(answer.code in ENDS_ALL for answer in answers):
            why = (
                "gave no answer about some machine types. If the configuration has changed, restart the agent: "
                "the running agent still uses the old configuration"
            )
            raise SourceUnavailable(LIBVIRT, f"stocktake-probe ({self.path}) {why}")
        return answers
