"""All that is known of one host, and the commands to run there."""

import pytest

from agent.fleet.details import commands, details
from agent.fleet.expected import ExpectedHost
from tests.rigs.fleet_hosts import AT, NOW, broken, cell, clean, expected, seen, view


def row(document=None, age_s: float = 0.0, **changes):
    hosts = () if document is None else (seen(document, age_s),)
    return view(cell(*hosts, **changes)).rows[0]


def told(of) -> dict[str, str]:
    return dict(details(of, AT))


def test_the_host_details_show_findings_and_amounts():
    """`stocktake watch` shows, for one host, its findings, leaked amounts, unread sources and free resources."""
    found = told(
        row(
            broken(
                "a", number=3, confirmed={"allocation-leaked": 2}, unknown={"allocation-leaked": 1},
                unknown_since="2026-11-22T03:05:00.000Z", leaked={"VCPU": 8}, held_back=1,
                heal={"enabled": True, "waiting": 1}, sources_lost=["placement"], error="placement: refused",
            ),
            age_s=12,
        )
    )  # fmt: skip
    assert found["findings"] == "3 allocation-leaked"
    assert found["confirmed"] == "2 allocation-leaked"
    assert found["not known"] == "1 allocation-leaked, last checked at 03:05"
    assert found["oldest"] == "first seen 12m ago"
    assert (found["leaked"], found["missing"], found["held back"]) == ("8 VCPU", "nothing", "1 writes")
    assert found["heal"] == "the daemon makes repairs by itself; 1 findings wait for a repair"
    assert found["not read"] == "placement"
    assert found["outcome"] == "findings: placement: refused"
    assert found["VCPU"] == "free 12, used 4, total 48, reserved 0, ratio 4 (VCPU)"
    assert found["message"].startswith("12s ago, due every 60 s")


def test_values_missing_from_a_message_are_shown_as_unknown():
    """`stocktake watch` shows `?` for each value that an older agent does not send."""
    older = clean(
        severities=None, confirmed=None, unknown=None, leaked=None, missing=None, held_back=None, heal=None,
        guests=None, findings=None, resources=None,
    )  # fmt: skip
    found = told(row(older))
    names = (
        "findings",
        "confirmed",
        "not known",
        "oldest",
        "leaked",
        "missing",
        "held back",
        "heal",
        "guests",
        "resources",
    )
    assert {found[name] for name in names} == {"?"}


def test_a_host_without_messages_has_details():
    """`stocktake watch` shows the cell and group of an expected host that has sent no message yet."""
    found = told(row(expected=expected(ExpectedHost(host="a", group="rack-1", disabled=True)), name="cell-1"))
    assert (found["cell"], found["group"]) == ("cell-1", "rack-1")
    assert found["nova"] == "the nova-compute service is disabled"
    assert "message" not in found


def test_the_host_details_mark_an_unexpected_host():
    """The details of a host show `expected: no` if it sends messages and is not in the list of expected hosts."""
    listed = view(cell(seen(clean("stranger")), expected=expected("a"), began_at=NOW)).rows[1]
    assert told(listed)["expected"].startswith("no: ")


@pytest.mark.parametrize(
    ("document", "age_s", "first"),
    [
        (None, 0, "systemctl status stocktake-agent"),
        (clean(), 999, "systemctl status stocktake-agent"),
        (clean(outcome="crashed"), 0, "journalctl -u stocktake-agent -n 50"),
        (clean(outcome="partial"), 0, "stocktake status"),
        (broken(), 0, "stocktake status"),
        (clean(), 0, "stocktake status"),
    ],
)
def test_the_first_suggested_command_fits_the_host_condition(document, age_s, first):
    """For a silent host `stocktake watch` suggests `systemctl status` first, and for a crashed audit `journalctl`."""
    assert commands(row(document, age_s, expected=expected("compute-1")))[0] == first


def test_watch_suggests_explaining_the_worst_finding():
    """`stocktake watch` suggests `stocktake explain` with the code of the host's worst finding."""
    assert commands(row(broken()))[-1] == "stocktake explain allocation-leaked"


@pytest.mark.parametrize("code", ["x; rm -rf /", "$(reboot)", "a b", "`id`", "", "é"])
def test_suggested_commands_omit_an_invalid_finding_code(code):
    """A message may contain shell code as a finding code. `stocktake watch` never puts it into a suggested command."""
    assert not any(code and code in command for command in commands(row(broken(code=code))))
    assert all(command.replace("-", "").replace(" ", "").isalnum() for command in commands(row(broken(code=code))))
