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


def test_a_log_line_shows_the_kind_name_and_uuid_of_a_consumer():
    assert subject(ledger=(row("instance", "billing"),)) == f"instance billing {UUID}"


def test_a_consumer_that_has_a_name_in_nova_is_logged_as_an_instance():
    assert subject(names=(ConsumerName("billing", UUID),)) == f"instance billing {UUID}"


def test_an_unknown_consumer_is_logged_with_its_uuid_alone():
    assert subject(ledger=(row("unknown", ""),)) == f"consumer {UUID}"


def test_the_log_omits_a_consumer_name_that_equals_the_uuid():
    assert subject(ledger=(row("instance", UUID),)) == f"instance {UUID}"


def test_a_log_line_without_a_consumer_names_the_data_source_or_provider():
    assert subject(seen(unavailable("lvm", "no answer"))) == "lvm"
    about_the_root = seen(replace(unavailable("", "no answer")))
    assert subject(about_the_root) == f"provider node-1 {ROOT}"
    assert subject(seen(replace(about_the_root.finding, provider_uuid=None))) == "host-1"


def test_an_ended_finding_is_logged_with_the_last_known_consumer_name():
    before = subjects_of(report_of(LEAK, ledger=(row("instance", "billing"),)))
    ended = gone(LEAK, GoneReason.HEALED, "changed as planned")
    assert subjects_of(report_of(gone=(ended,)), before)[LEAK.finding.id] == f"instance billing {UUID}"
