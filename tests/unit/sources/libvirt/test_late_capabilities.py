"""Answers that arrive after the audit that requested them: each is a reason to audit while a listener is registered."""

from __future__ import annotations

from agent.sources.libvirt.late_capabilities import LateAnswers


def test_late_libvirt_answers_trigger_an_audit():
    """A late answer from libvirt triggers an audit, but not before the daemon starts or after it stops."""
    late, reasons = LateAnswers(), []
    late.report("before")
    late.start(reasons.append)
    late.report("libvirt-capabilities")
    late.stop()
    late.report("after")
    assert reasons == ["libvirt-capabilities"]
