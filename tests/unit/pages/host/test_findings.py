"""The findings of a host as blocks: causes only, the most urgent first, with commands to copy."""

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.pages.blocks import FindingBlock, Meaning, Paragraph
from agent.pages.host.amounts import impact_of
from agent.pages.host.findings import MOST_BLOCKS, findings
from tests.rigs.pages import CHANGES, dead, facts
from tests.rigs.screens import FOREIGN, LOST, MANY_LEAKS, SCREEN, STALE, UNREAD


def blocks_of(report, **changes):
    return findings(facts(report, **changes)).blocks


def test_a_finding_and_its_consequence_share_one_block():
    """If one finding has caused another finding, the host page shows both in one block."""
    blocks = blocks_of(SCREEN)
    assert [block.code for block in blocks] == [
        "allocation-leaked",
        "allocation-missing",
        "allocation-stale-move",
        "volume-foreign",
    ]
    assert blocks[2].also.startswith("also caused: consumer-on-several-providers [")


def test_a_finding_is_shown_with_impact_age_and_command():
    """For a leaked allocation, the host page shows the impact, the age and a `stocktake heal` command."""
    block = blocks_of(SCREEN)[0]
    assert (block.severity, block.meaning, block.who.split()[0]) == ("error", Meaning.WRONG, "old-shop")
    assert block.impact == "4 VCPU, 8 GiB RAM of this host are wasted. The scheduler refuses instances."
    assert block.state == "seen; first seen 2026-11-22 03:07:00 UTC (5 min before this page was made)"
    assert [command.label for command in block.commands] == ["fix", "by hand", "docs"]
    assert block.commands[0].line == f"stocktake heal --finding {block.short_id}"


def test_an_unchecked_finding_shows_the_unread_source():
    """If a finding was not checked because Placement was not read, the host page says so."""
    missing = next(block for block in blocks_of(UNREAD) if block.code == "allocation-missing")
    assert missing.state == (
        "not known now, because placement was not read, last checked 2026-11-22 03:09:36 UTC (2 min before this page "
        "was made); first seen 2026-11-22 03:07:00 UTC (5 min before this page was made)"
    )


def test_findings_of_the_same_kind_share_one_block():
    """For seven leaked allocations, the host page has one block with one `stocktake heal` command for all."""
    blocks = blocks_of(MANY_LEAKS)
    assert [(block.code, block.who) for block in blocks] == [
        ("allocation-leaked", "7 findings"),
        ("volume-foreign", "guests/backup-by-hand"),
    ]
    assert len(blocks[0].members) == 7
    assert blocks[0].commands[0].line == "stocktake heal --code allocation-leaked"


def test_errors_and_older_findings_come_first():
    """The host page shows errors before warnings, and among findings of equal severity the oldest one first."""
    old = dataclasses.replace(SCREEN.findings[3], first_seen_at="2026-11-20T00:00:00Z")
    blocks = blocks_of(dataclasses.replace(SCREEN, findings=(*SCREEN.findings[:3], old, *SCREEN.findings[4:])))
    assert blocks[0].short_id == old.finding.id[:8]
    severities = [block.severity for block in blocks]
    assert severities == sorted(severities, key=[each.value for each in Severity].index)


def test_the_host_page_describes_only_the_first_findings():
    """Of 50 findings, the host page describes 40 and says that `stocktake findings` lists 10 more."""
    seen = SCREEN.findings[-1]
    many = tuple(
        dataclasses.replace(seen, finding=dataclasses.replace(seen.finding, subject=f"v{n}", code=f"code-{n}"))
        for n in range(50)
    )
    blocks = blocks_of(dataclasses.replace(SCREEN, findings=many))
    assert len(blocks) == MOST_BLOCKS + 1
    assert blocks[-1] == Paragraph(text="and 10 more; this command lists them all: stocktake findings")


def test_an_empty_list_of_findings_says_what_was_not_read():
    """Without findings, the host page says which sources were not read, because there may be unknown findings."""
    assert blocks_of(dead())[0].text == (
        "No findings are known. There may be some, because placement, state, libvirt and lvm were not read."
    )
    assert blocks_of(dataclasses.replace(SCREEN, findings=()))[0].text == "No findings."


def test_every_finding_block_of_a_page_has_a_unique_id():
    ids = [block.id for block in blocks_of(SCREEN) if isinstance(block, FindingBlock)]
    assert len(set(ids)) == len(ids) == 4


def test_the_host_page_shows_a_repair_and_its_undo():
    """If `stocktake undo` has undone a repair, the host page shows the times of the repair and of the undo."""
    (block,) = [each for each in findings(facts(SCREEN)).blocks if each.code == "allocation-leaked"]
    assert block.history == (
        "A repair made at 2026-11-22 03:08:00 UTC (4 min before this page was made) (entry 9a11aa55) was undone by "
        "stocktake undo at 2026-11-22 03:09:00 UTC (3 min before this page was made) (entry 9b22aa55). So the "
        "finding is here again.",
    )
    assert all(each.history == () for each in findings(facts(SCREEN)).blocks if each.code != "allocation-leaked")


def test_the_host_page_says_if_a_repair_did_not_help():
    """If an audit after a repair still sees the finding, the host page says that the finding is still there."""
    done = (dataclasses.replace(CHANGES[0], undone_by=()),)
    (block,) = [each for each in findings(facts(changes=done)).blocks if each.code == "allocation-leaked"]
    assert block.history[0].endswith(
        "was not undone. This page shows an audit from after that repair, and the finding is still there."
    )


def test_the_host_page_says_that_a_repair_came_after_the_audit():
    """If a finding was repaired after the audit, the host page says that its data are from before the repair."""
    late = (dataclasses.replace(CHANGES[0], undone_by=(), at="2026-11-22T03:11:30Z"),)
    (block,) = [each for each in findings(facts(changes=late)).blocks if each.code == "allocation-leaked"]
    assert block.history[0].endswith(
        "This page shows an audit from before that repair. The next audit shows if the finding is gone."
    )


@pytest.mark.parametrize(
    ("seen", "impact"),
    [
        (STALE, "8 VCPU, 16 GiB RAM of this host are wasted."),
        (LOST, "2 VCPU of this host can be sold twice: promised by nova, but still free in Placement."),
        (FOREIGN, "120 GiB disk of this host are used, but unknown to the cloud. Placement already counts all of this "
                  "use, as reserved or as allocated."),
    ],
    ids=lambda each: each.finding.code if not isinstance(each, str) else "",
)  # fmt: skip
def test_the_impact_of_a_finding_begins_with_its_amounts(seen, impact):
    """The host page describes the impact of a finding by its amounts, such as "8 VCPU of this host are wasted"."""
    assert impact_of(SCREEN, [seen]) == impact


def test_the_host_page_shows_used_disk_that_counts_as_free():
    """For a volume unknown to nova, the host page shows how much used disk space Placement counts as free."""
    offers = tuple(
        dataclasses.replace(row, recorded=dataclasses.replace(row.wanted, reserved=20)) for row in SCREEN.inventory
    )
    report = dataclasses.replace(SCREEN, inventory=offers)
    assert impact_of(report, [FOREIGN]).endswith(
        "Placement counts 100 GiB disk as free, although guests or volumes unknown to nova use these amounts."
    )


def test_an_orphaned_compute_node_is_shown_with_its_capacity():
    """The host page shows how much VCPU, RAM and disk nova's database counts for an orphaned compute node."""
    facts_of_row = (("vcpus", 48), ("memory_mib", 196_608), ("local_gib", 400))
    finding = dataclasses.replace(FOREIGN.finding, code="compute-node-orphaned", facts=facts_of_row)
    text = impact_of(SCREEN, [dataclasses.replace(FOREIGN, finding=finding)])
    assert (
        text
        == "No host has these 48 VCPU, 192 GiB RAM, 400 GiB disk, but nova's database still contains these amounts."
    )


def test_each_repair_command_shows_the_options_that_confirm_it():
    """For each repair command, the host page shows the options that confirm the repair: --plan DIGEST --yes."""
    texts = [
        command.words
        for block in findings(facts()).blocks
        for command in getattr(block, "commands", ())
        if command.label == "fix"
    ]
    assert texts
    assert all("--plan DIGEST --yes" in text for text in texts)
