"""How an audit is printed for people, on terminals of any width."""

import dataclasses

import pytest

from agent.model.finding import FindingState, Remedy, RemedyKind, Severity
from agent.model.placement import Inventory
from agent.model.plan import EMPTY_PLAN, CreateProvider, Plan, PutInventories, PutTraits
from agent.model.report import SourceStatus
from agent.render.audit_text import audit_blocks, gone_lines, head_lines, plan_lines, source_lines
from agent.render.documents import audit_document, finding_document
from agent.render.finding_text import finding_block, finding_blocks, finding_details
from tests.rigs.reports import CHILD, FINDING, PROVIDER, REPORT
from tests.rigs.screens import MANY_LEAKS, SCREEN, shown

CONSUMER = "22222222-0000-4000-8000-000000000009"
DOCUMENT = audit_document(REPORT)
NOW = "2026-11-21T10:00:00.000Z"


def head(document):
    return shown(head_lines(document, NOW))


def test_the_audit_text_begins_with_node_and_sources():
    """`stocktake audit` prints the node's name first, and then each source with its duration or with its error."""
    said = head(DOCUMENT)
    assert said[0] == "audit of compute-17.example.org at 2026-11-21T10:00:00.000Z: 1 finding"
    assert said[1] == f"provider {PROVIDER}, role owner, 4 of 4 writes done"
    assert "read: libvirt 3.2 ms" in said
    assert "state NOT READ (failed after 5000 ms, last read 61 s ago): state: timed out" in said


def source(**changes):
    """Return the line of an unread state source with these keys of the report; the value ``...`` removes a key."""
    keys = DOCUMENT["sources"][1] | {"name": "state", "ok": False, "error": "old"} | changes
    (said,) = shown(source_lines({"sources": [{key: value for key, value in keys.items() if value is not ...}]}))
    return said


def test_the_audit_text_marks_an_unchanged_source():
    """The agent only checked that nova's rows had not changed.

    The audit's text says "light read" for nova's database.
    """
    assert source(ok=True, read="light") == "read: state 5000 ms (light read)"
    assert source(ok=True, read="full") == source(ok=True, read=...) == "read: state 5000 ms"


def test_the_line_about_nova_shows_the_age_of_the_heartbeat():
    """The audit's text says that the newest heartbeat of nova's services is 70 s old."""
    assert source(behind_s=70.0).endswith(": old; the newest heartbeat of nova's services is 70 s old")


def test_the_line_about_nova_shows_a_heartbeat_in_the_future():
    """The clock of a nova service is fast. The audit's text says that the newest heartbeat is 70 s in the future."""
    assert source(behind_s=-70.0).endswith(": old; the newest heartbeat of nova's services is 70 s in the future")


def test_the_line_about_nova_omits_an_unknown_heartbeat_age():
    assert source(behind_s=...).endswith(": old")


def test_the_printed_audit_says_why_a_source_was_not_read():
    """nova's database was not read because libvirt was not read. The printed audit shows this reason."""
    assert source(asked=False, not_asked_because="libvirt is unread") == "state not asked: libvirt is unread"


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"writes_done": 0}, "nothing written, 4 writes planned"),
        ({"writes_done": 0, "plan": EMPTY_PLAN}, "nothing to write"),
        ({"writes_done": 2}, "2 of 4 writes done"),
    ],
)
def test_the_audit_text_shows_how_many_writes_were_done(changes, text):
    """The audit's text says "2 of 4 writes done" if two of the four planned writes to Placement succeeded."""
    assert head(audit_document(dataclasses.replace(REPORT, **changes)))[1].endswith(text)


def test_the_audit_text_says_that_placement_was_unread():
    """Placement answered none of the requests. The audit's text says "nothing written: Placement was not read"."""
    unread = SourceStatus(name="placement", ok=False, age_s=None, duration_ms=9.0, error="placement: refused")
    report = dataclasses.replace(REPORT, sources=(unread,), plan=EMPTY_PLAN, writes_done=0, requests=0, tried=12)
    said = head(audit_document(report))
    assert said[1].endswith("nothing written: Placement was not read")
    assert "Placement answered 0 of 12 requests" in said[2]


def test_the_audit_text_begins_with_the_number_of_findings():
    """The first line of the audit's text says how many findings there are, and how many separate causes they have."""
    said = head(audit_document(SCREEN))
    assert said[0].endswith(": 6 findings, 4 causes")
    assert [line for line in said if "cannot be checked" in line] == [
        "1 finding needs placement and cannot be checked now (last checked 0 s ago): allocation-missing"
    ]


@pytest.mark.parametrize("ago", ["2026-11-21T09:58:29.000Z", ""])
def test_the_audit_text_says_when_findings_were_last_checked(ago):
    """LVM cannot be read, so two findings cannot be checked. The audit's text says when they were last checked."""
    unknown = dataclasses.replace(
        FINDING, state=FindingState.UNKNOWN, unknown_because=("lvm", "state"), last_seen_at=ago
    )
    document = audit_document(dataclasses.replace(REPORT, findings=(unknown, unknown)))
    checked = " (last checked 91 s ago)" if ago else ""
    assert head(document)[1] == f"2 findings need lvm, state and cannot be checked now{checked}: volume-foreign"


def changed(**changes):
    """Return the document of the report's finding with these fields."""
    return finding_document(dataclasses.replace(FINDING, finding=dataclasses.replace(FINDING.finding, **changes)))


@pytest.mark.parametrize("width", [20, 60, 80, 120, 220, None])
def test_a_uuid_and_a_command_are_printed_on_one_line(width):
    """A terminal may be narrow. A printed finding still has each UUID and each command unbroken on one line."""
    command = f"openstack resource provider allocation unset --provider {PROVIDER} {CONSUMER}"
    remedies = (Remedy(kind=RemedyKind.HAND, words="by hand", command=command),)
    finding = changed(consumer_uuid=CONSUMER, actual="8053063680 bytes " * 20, remedies=remedies)
    said = shown(finding_block(finding, {CONSUMER: "vm"}, NOW), width)
    assert any(CONSUMER in line for line in said)
    assert f" hand: {command}" in said
    assert " ".join(said).count("8053063680 bytes") == 20
    limit = max(width or 1000, 7 + len(CONSUMER))
    assert all(len(line) <= limit for line in said if not line.startswith((" hand:", " docs:")))


def test_a_printed_finding_shows_its_commands():
    """A printed finding shows the commands that repair or inspect it, such as `stocktake heal`."""
    remedies = (
        Remedy(kind=RemedyKind.HEAL, words="repair", command="stocktake heal --finding 12345678"),
        Remedy(kind=RemedyKind.INSPECT, words="look", command="lvs guests/scratch"),
        Remedy(kind=RemedyKind.WAIT, words="the next audit decides", command=None),
        Remedy(kind=RemedyKind.HAND, words="list the volume in [lvm] foreign_volumes", command=None),
    )
    assert shown(finding_block(changed(remedies=remedies) | {"state": "confirmed"}, {}, NOW)) == [
        f"WARNING  volume-foreign  guests/scratch  confirmed, 60 min  [{FINDING.finding.id[:8]}]",
        "       8053063680 bytes.",
        "  fix: stocktake heal --finding 12345678",
        "inspect: lvs guests/scratch",
        " wait: the next audit decides",
        "  how: list the volume in [lvm] foreign_volumes",
        " docs: stocktake explain volume-foreign",
    ]


def test_a_finding_without_commands_shows_the_fix_as_text():
    finding = finding_document(FINDING) | {"remedies": []}
    assert "  how: lvremove guests/scratch, or set [lvm] foreign_volumes" in shown(finding_block(finding, {}, NOW))


@pytest.mark.parametrize("age", [("2026-11-21T10:00:00.000Z", ", new"), ("", ""), ("yesterday", "")])
def test_a_printed_finding_omits_an_unknown_age(age):
    """If the time when a finding was first seen is missing or invalid, the printed finding shows no age."""
    since, text = age
    said = shown(finding_block(finding_document(FINDING) | {"first_seen_at": since}, {}, NOW))
    assert f"  seen{text}  [" in said[0]


def test_a_finding_of_an_older_agent_is_printed():
    """An older agent wrote a finding without the field "state". The agent prints the finding as "seen"."""
    older = {key: value for key, value in finding_document(FINDING).items() if key not in ("state", "remedies")}
    assert "  seen, 60 min  [" in shown(finding_block(older | {"confirmed": False}, {}, NOW))[0]


def test_symptoms_are_printed_below_their_cause():
    """One finding is the reason for two others. The audit's text lists these two below it, on a line with "also:"."""
    said = shown(audit_blocks(audit_document(SCREEN), {}))
    symptoms = [line for line in said if "consumer-on-several-providers" in line]
    assert symptoms == [
        "       also: consumer-on-several-providers [6ac41386], migration-finished-but-counted [be024843]"
    ]
    assert sum(line.startswith(("ERROR", "WARNING", "INFO")) for line in said) == 4


def test_a_symptom_without_its_cause_is_printed_alone():
    """If the audit does not list the cause of a symptom, the symptom is printed as a separate finding."""
    symptom = finding_document(SCREEN.findings[1])
    assert shown(finding_blocks([symptom], {}, NOW))[1].startswith("WARNING  consumer-on-several-providers")


def test_the_most_severe_findings_are_printed_first():
    # In alphabetical order "info" would come between "error" and "warning".
    quiet = [
        changed(**changes)
        for changes in (
            {"severity": Severity.INFO, "code": "a"},
            {"severity": Severity.WARNING, "code": "c"},
            {"severity": Severity.WARNING, "code": "b", "resource_class": "VCPU", "subject": ""},
            {"severity": Severity.WARNING, "code": "b", "resource_class": "DISK_GB", "subject": ""},
            {"severity": Severity.ERROR, "code": "d"},
        )
    ]
    heads = [line for line in shown(finding_blocks(quiet, {}, NOW)) if line.startswith(("ERROR", "WARNING", "INFO"))]
    assert [line.split()[1] for line in heads] == ["d", "b", "b", "c", "a"]
    assert [line.split()[2] for line in heads[1:3]] == ["DISK_GB", "VCPU"]


def test_the_audit_text_says_why_a_finding_has_ended():
    """The audit's text shows the change that ended a finding, such as "no guest -> a running guest"."""
    said = shown(gone_lines(audit_document(SCREEN)))
    uuid = SCREEN.gone[0].seen.finding.consumer_uuid
    words = "host-changed: libvirt: no guest -> a running guest"
    assert said[1:] == [
        "findings that ended since the previous audit:",
        f"  guest-missing {uuid} [{_gone_id()}]: {words}",
    ]
    assert shown(gone_lines(DOCUMENT)) == []


def test_the_audit_text_shows_which_data_are_simulated():
    """The audit's text shows below its findings which data are simulated, such as the guests."""
    said = shown(audit_blocks({**audit_document(SCREEN), "simulated": ["guests: recorded"]}, {}))
    at = said.index("simulated: guests: recorded")
    assert at > max(number for number, text in enumerate(said) if text.startswith(" docs: "))


def test_the_audit_text_shows_no_reason_if_there_are_several():
    """If a finding ended for several reasons, the audit's text shows "gone: no longer found" and no reason."""
    (each,) = audit_document(SCREEN)["gone"]
    said = shown(gone_lines({"gone": [each | {"reason": "several", "words": "no longer found; before: 4 MiB"}]}))
    assert said[-1].endswith("]: gone: no longer found; before: 4 MiB")


def test_a_manual_fix_ends_with_the_advice_to_audit_again():
    """If a finding can only be repaired by hand, the printed finding ends with the command `stocktake audit`."""
    by_hand = Remedy(kind=RemedyKind.HAND, words="remove the volume", command="lvremove guests/scratch")
    fix = "  fix: heal on this host cannot repair this; see below"
    assert shown(finding_block(changed(remedies=(by_hand,)), {}, NOW))[2:-1] == [
        fix,
        "       remove the volume.",
        " hand: lvremove guests/scratch",
        " then: stocktake audit",
    ]
    repair = Remedy(kind=RemedyKind.HEAL, words="repair", command="stocktake heal --finding 12345678")
    said = shown(finding_block(changed(remedies=(repair, by_hand)), {}, NOW))
    assert fix not in said
    assert " then: stocktake audit" not in said


def _gone_id():
    return SCREEN.gone[0].seen.finding.id[:8]


def plan_text(plan, width=400):
    return [line for line in shown(plan_lines(plan), width) if line]


def test_the_printed_plan_shows_each_write():
    """The audit's text lists the planned writes with their amounts, and says why the agent holds a write back."""
    said = plan_text(DOCUMENT["plan"])
    assert said[0] == f"plan {REPORT.plan.digest[:12]}:"
    assert said[1:] == [
        f"  create-provider {CHILD}: named child",
        f"  put-inventories {PROVIDER}: DISK_GB total 500 GiB, reserved 8 GiB, max_unit 500, step_size 1, ratio 1;"
        " VCPU total 48, reserved 0, max_unit 48, step_size 1, ratio 4",
        f"  put-traits {PROVIDER}: +1 -0 traits (1 in all): +CUSTOM_OWNER_STOCKTAKE",
        f"  put-aggregates {PROVIDER}: none",
        "writes held back, and why:",
        f"  MEMORY_MB of {PROVIDER}: libvirt could not be read",
    ]


def planned(*writes, traits=()):
    return audit_document(dataclasses.replace(REPORT, plan=Plan(writes=writes), traits=traits))["plan"]


def recorded(*names):
    plain = REPORT.traits[0]
    return tuple(dataclasses.replace(plain, trait=name, recorded=True) for name in names)


def test_the_printed_plan_lists_only_changed_traits():
    """A provider has 100 traits, and 30 are new. The printed plan lists only the added and removed traits."""
    kept = tuple(f"COMPUTE_TRAIT_NUMBER_{number}" for number in range(100))
    new = tuple(f"HW_CPU_X86_NEW_{number}" for number in range(30))
    plan = planned(PutTraits(provider_uuid=PROVIDER, traits=(*kept, *new)), traits=recorded(*kept, "CUSTOM_OLD"))
    said = plan_text(plan, 100)[1:]
    assert said[0].startswith(f"  put-traits {PROVIDER}: +30 -1 traits (130 in all): +HW_CPU_X86_NEW_0,")
    assert max(map(len, said)) <= 100
    listed = " ".join(line.strip() for line in said).partition("in all): ")[2].split(", ")
    assert listed == [*(f"+{name}" for name in sorted(new)), "-CUSTOM_OLD"]
    (write,) = plan["writes"]
    assert (write["added"], write["removed"]) == (sorted(new), ["CUSTOM_OLD"])
    assert write["traits"] == [*kept, *new]


def children(count):
    """Yield the writes for that many equal devices that an audit finds for the first time."""
    device = Inventory(resource_class="CUSTOM_PCI_10DE_1EB8", total=1, max_unit=1)
    for number in range(count):
        uuid = f"11111111-0000-4000-8000-{number:012}"
        yield CreateProvider(provider_uuid=uuid, name=f"dev-{number}", parent_uuid=PROVIDER)
        yield PutInventories(provider_uuid=uuid, inventories=(device,))
        yield PutTraits(provider_uuid=uuid, traits=("CUSTOM_OWNER_STOCKTAKE",))


def test_equal_writes_to_many_providers_are_printed_together():
    """An audit creates 42 equal child providers. The printed plan has one line for each kind of write."""
    other = PutInventories(provider_uuid=CHILD, inventories=(Inventory(resource_class="VGPU", total=16, max_unit=16),))
    plan = planned(*children(42), other)
    few = "dev-0, dev-1, dev-2 and 39 more"
    assert plan_text(plan)[1:] == [
        f"  create-provider, 42 equal writes: {few}",
        f"  put-inventories, 42 equal writes: {few}:"
        " CUSTOM_PCI_10DE_1EB8 total 1, reserved 0, max_unit 1, step_size 1, ratio 1",
        f"  put-traits, 42 equal writes: {few}: +1 -0 traits (1 in all): +CUSTOM_OWNER_STOCKTAKE",
        f"  put-inventories {CHILD}: VGPU total 16, reserved 0, max_unit 16, step_size 1, ratio 1",
    ]
    assert len(plan["writes"]) == 127


def test_a_plan_for_few_providers_has_a_line_for_each_write():
    assert len(plan_text(planned(*children(5)))) == 1 + 15


def many_leaks(count):
    leaks = MANY_LEAKS.findings[:count]
    return [finding_document(seen) for seen in leaks]


def test_more_than_five_equal_findings_are_printed_together():
    """The audit's text prints seven equal findings as one block with one repair command for all."""
    said = shown(finding_blocks(many_leaks(7), {}, NOW))
    ids = [seen.finding.id[:8] for seen in MANY_LEAKS.findings[:7]]
    assert sum(line.startswith("ERROR  ") for line in said) == 1
    assert "  allocation-leaked  7 findings  seen" in said[1]
    (fix,) = (line for line in said if line.startswith("  fix: "))
    assert fix == "  fix: stocktake heal --code allocation-leaked"
    assert any("repeat this command" in line for line in said)
    assert sum(line.strip()[1:9] in ids for line in said) == 7


def test_up_to_five_equal_findings_are_printed_one_by_one():
    said = shown(finding_blocks(many_leaks(5), {}, NOW))
    assert sum(line.startswith("ERROR  ") for line in said) == 5


def test_each_finding_that_heal_cannot_repair_has_a_command():
    """`stocktake heal` cannot repair six equal findings. The audit's text shows an lvs command for each of them."""
    foreign = finding_document(MANY_LEAKS.findings[-1])
    found = [foreign | {"id": f"{n}0000000-0", "subject": f"vg0/x{n}"} for n in range(6)]
    said = shown(finding_blocks(found, {}, NOW))
    assert sum(line.startswith("WARNING  ") for line in said) == 1
    assert sum(line.startswith("inspect: lvs ") for line in said) == 6


PLANNED = DOCUMENT | {"published": False, "writes_done": 0, "error": None, "sources": []}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, True),
        ({"published": True}, False),
        ({"role": "observer"}, False),
        ({"outcome": "refused"}, False),
        ({"sources": [DOCUMENT["sources"][0] | {"name": "placement", "ok": False}]}, False),
        ({"plan": DOCUMENT["plan"] | {"writes": []}}, False),
    ],
    ids=["planned", "written", "observer", "refused", "placement unread", "nothing planned"],
)
def test_a_dry_run_says_how_to_publish_its_changes(changes, named):
    """The text of a dry run shows `stocktake audit --publish`, which makes the planned writes."""
    said = shown(audit_blocks(PLANNED | changes, {}))
    assert (" hand: stocktake audit --publish" in said) == named


def test_the_finding_source_unavailable_is_printed_first():
    """The finding `source-unavailable` is printed before other findings of the same severity."""
    lost = finding_document(MANY_LEAKS.findings[0]) | {"code": "source-unavailable", "id": "f0000000-0"}
    said = shown(finding_blocks([*many_leaks(2), lost], {}, NOW))
    assert next(line.split()[1] for line in said if line.startswith("ERROR")) == "source-unavailable"


def test_a_printed_finding_has_a_line_for_each_known_fact():
    """A printed finding shows a fact such as "Placement has no such provider" on a line that begins with "known:"."""
    found = changed() | {"known": ["the database has no instance on the node", "Placement has no such provider"]}
    said = shown(finding_block(found, {}, NOW))
    assert [line for line in said if line.startswith("known: ")] == [
        "known: the database has no instance on the node.",
        "known: Placement has no such provider.",
    ]


def test_the_details_of_a_finding_show_the_deletion_time():
    """The details of a finding about a deleted instance show when the instance was deleted."""
    found = changed() | {"began_at": "2026-11-20T08:00:00Z", "began_because": "the instance was deleted"}
    said = shown(finding_details(found, {}, NOW, {}))
    (since,) = [line for line in said if line.startswith("since: ")]
    assert since.startswith("since: first seen ")
    assert since.endswith("; the instance was deleted at 2026-11-20T08:00:00Z")


def test_the_plan_heading_says_if_all_writes_were_done():
    """If the agent has done all writes of a plan, the plan's heading ends with "all written:"."""
    plan = DOCUMENT["plan"]
    done = shown(plan_lines(plan, len(plan["writes"])))
    assert done[1] == f"plan {plan['digest'][:12]}, all written:"
    assert shown(plan_lines(plan, 0))[1] == f"plan {plan['digest'][:12]}:"
