"""What a finding is about: the name that people use, with the whole uuid."""

from dataclasses import replace

from agent.model.finding import GoneReason
from agent.model.report import ConsumerName, LedgerRow, Verdict
from agent.telemetry.subjects import subjects_of
from tests.rigs.log_days import ROOT, gone, leak, report_of, seen, unavailable

LEAK = seen(leak())
UUID = LEAK.finding.consumer_uuid


def row(kind: str, name: str) -> LedgerRow:
    return LedgerRow(
        consumer_uuid=UUID, consumer_key=UUID, consumer_name=name, consumer_kind=kind, cause="instance",
        provider="root", provider_uuid=ROOT, resource_class="VCPU", promised=None, held=None, recorded=8,
        verdict=Verdict.ALLOCATION_STALE_MOVE, source="placement",
    )  # fmt: skip


def subject(finding=LEAK, **changes):
    return subjects_of(report_of(finding, **changes))[finding.finding.id]


def test_a_finding_shows_its_consumer_with_name_and_uuid():
    """The log line of a finding about an allocation shows its consumer, for example "instance billing" and the UUID."""
    assert subject(ledger=(row("instance", "billing"),)) == f"instance billing {UUID}"


def test_a_consumer_with_a_name_in_nova_is_an_instance():
    """If nova has a name for the UUID of a consumer in Placement, the agent logs the consumer as an instance."""
    assert subject(names=(ConsumerName("billing", UUID),)) == f"instance billing {UUID}"


def test_a_consumer_without_a_name_is_logged_with_its_uuid():
    """If the agent knows no name for a consumer in Placement, it logs "consumer" and the UUID."""
    assert subject(ledger=(row("unknown", ""),)) == f"consumer {UUID}"


def test_the_log_omits_a_consumer_name_that_equals_the_uuid():
    assert subject(ledger=(row("instance", UUID),)) == f"instance {UUID}"


def test_a_finding_without_a_consumer_shows_its_source():
    """The log line of a finding without a consumer shows its data source, or else the provider, or else the host."""
    assert subject(seen(unavailable("lvm", "no answer"))) == "lvm"
    about_the_root = seen(replace(unavailable("", "no answer")))
    assert subject(about_the_root) == f"provider node-1 {ROOT}"
    assert subject(seen(replace(about_the_root.finding, provider_uuid=None))) == "host-1"


def test_a_gone_finding_keeps_its_consumer_name():
    """The agent logs a gone finding with the last known name of its consumer."""
    before = subjects_of(report_of(LEAK, ledger=(row("instance", "billing"),)))
    ended = gone(LEAK, GoneReason.HEALED, "changed as planned")
    assert subjects_of(report_of(gone=(ended,)), before)[LEAK.finding.id] == f"instance billing {UUID}"
