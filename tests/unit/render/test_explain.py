"""The text that explain prints for an operator: stories 1 and 5 of the README, written by hand."""

import dataclasses
import functools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.finding import Finding, SeenFinding, Severity
from agent.model.placement import ROOT, Inventory
from agent.model.plan import HeldBack, Plan
from agent.model.report import (
    AuditReport,
    EvacuationNote,
    InventoryRow,
    LedgerRow,
    Outcome,
    SourceStatus,
    Verdict,
)
from agent.render import explain
from agent.render.explain import canonical, is_class_name, known_classes, unread
from agent.render.explain_json import document as document_with_text
from agent.render.explain_text import Detail, explanation_blocks
from agent.resources import owned
from tests.rigs.screens import shown

explain_class = functools.partial(explain.explain_class, owned=owned)
explain_consumer = functools.partial(explain.explain_consumer, owned=owned)
totals = functools.partial(explain.totals, owned=owned)

PROVIDER = "00000000-0000-4000-8000-00000000c001"
GUESTS = tuple(f"11111111-0000-4000-8000-00000000000{n}" for n in range(1, 5))
MOVED = "22222222-0000-4000-8000-000000000001"
MIGRATION = "33333333-0000-4000-8000-000000000001"
NODE = "cmp1.example.org"
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def row(key, books, verdict=Verdict.AGREED, cause="instance", resource_class="VCPU", **changes):
    promised, held, recorded = books
    plain = LedgerRow(
        consumer_uuid=key,
        consumer_key=key,
        consumer_name="",
        consumer_kind="instance",
        cause=cause,
        provider=NODE,
        provider_uuid=PROVIDER,
        resource_class=resource_class,
        promised=promised,
        held=held,
        recorded=recorded,
        verdict=verdict,
        source=f"nova instances {key}",
    )
    return dataclasses.replace(plain, **changes)


def source(name, error=None):
    return SourceStatus(name=name, ok=error is None, age_s=0.0 if error is None else None, duration_ms=1.0, error=error)


def report(**changes):
    plain = AuditReport(
        audit_id="a1",
        host="cmp1",
        node=NODE,
        provider_uuid=PROVIDER,
        role="owner",
        reasons=("test",),
        started_at="2026-11-21T10:00:00.000Z",
        duration_ms=20.0,
        outcome=Outcome.FINDINGS,
        sources=tuple(source(name) for name in ("placement", "state", "libvirt", "lvm")),
    )
    return dataclasses.replace(plain, **changes)


VCPU = Inventory(resource_class="VCPU", total=48, max_unit=48, allocation_ratio=4.0)
STALE = SeenFinding(
    finding=Finding(
        code="allocation-stale-move",
        severity=Severity.ERROR,
        remedy="take this host's part away",
        expected="no allocation here: it lives on cmp2",
        actual="Placement records 8 VCPU on this host",
        provider_uuid=PROVIDER,
        consumer_uuid=MOVED,
        evidence=(
            Claim(
                consumer=Consumer(key=MOVED, kind="instance", uuid=MOVED),
                cause=Cause.RECORDED_ONLY,
                resource_class="VCPU",
                amount=8,
                provider_key=ROOT,
                source=Origin("placement", "allocations", MOVED),
            ),
        ),
    ),
    confirmed=True,
    first_seen_at="2026-11-21T09:59:00.000Z",
)
STORY_1 = report(
    ledger=(
        *(row(guest, (4, 4, 4), consumer_name=f"web-{n}") for n, guest in enumerate(GUESTS, start=1)),
        row(
            MOVED,
            (None, None, 8),
            Verdict.ALLOCATION_STALE_MOVE,
            "recorded-only",
            consumer_name="moved",
            source=f"placement allocations {MOVED}",
        ),
    ),
    inventory=(InventoryRow(provider=NODE, provider_uuid=PROVIDER, wanted=VCPU, recorded=VCPU, used=24),),
    findings=(STALE,),
    evacuations=(
        EvacuationNote(
            instance_uuid=MOVED,
            migration_uuid=MIGRATION,
            status="done",
            vcpus=8,
            memory_mib=8192,
            dest_host="cmp2",
        ),
    ),
)

STORY_1_TEXT = f"""\
VCPU on cmp1.example.org: recorded 24 of 192, promised 16, held 16 -> 8 recorded too much
     8  moved {MOVED}  allocation-stale-move  the instance lives on cmp2
    16  4 instances                                 agreed
promised 16, held 16:
    16  4 instances  agreed

evacuated from here, so counted as 0:
  0  instance {MOVED} (8 VCPU): evacuation to cmp2 is done; \
Placement still records 8 VCPU for it on this host

provider cmp1.example.org ({PROVIDER})
   48  total
    0  reserved
  192  capacity = (48 total - 0 reserved) x 4 ratio
  168  free = 192 capacity - 24 recorded
   48  max_unit: the largest amount in one request, whatever the ratio (min_unit 1, step_size 1)
  Placement records these values

ERROR  allocation-stale-move  moved {MOVED}  seen, 60 s  [{STALE.finding.id[:8]}]
       Placement records 8 VCPU on this host.
  how: take this host's part away
 docs: stocktake explain allocation-stale-move
""".splitlines()
STORY_1_SOURCES = [
    "consumers:",
    *(
        text
        for number, guest in enumerate(GUESTS, start=1)
        for text in (
            f"  web-{number} {guest}: recorded 4, promised 4, held 4: instance, agreed",
            f"    from nova instances {guest}",
        )
    ),
    f"  moved {MOVED}: recorded 8: recorded-only, allocation-stale-move",
    f"    from placement allocations {MOVED}",
]
STORY_1_CONSUMER = f"""\
moved {MOVED} on cmp1.example.org: instance, 1 finding
RECORDED  PROMISED  HELD  CLASS  VERDICT                CAUSE
       8                  VCPU   allocation-stale-move  recorded-only
allocation-stale-move: the instance is not on this host: it moved away, or its move to this host failed. \
Placement still counts this amount here
evacuation to cmp2 is done, so the agent counts 0 on this host
  from migration {MIGRATION} in nova's database

ERROR  allocation-stale-move  moved {MOVED}  seen, 60 s  [{STALE.finding.id[:8]}]
       Placement records 8 VCPU on this host.
  how: take this host's part away
 docs: stocktake explain allocation-stale-move
""".splitlines()


def text_of(found, detail=Detail.BRIEF):
    return shown(explanation_blocks(found, detail))


def document(found):
    return document_with_text(found, text_of(found))


def test_explain_shows_the_vcpu_of_an_evacuated_instance():
    """After an evacuation, `stocktake explain VCPU` shows that Placement still counts the instance's VCPU here."""
    assert text_of(explain_class(STORY_1, "VCPU")) == STORY_1_TEXT


def test_explain_verbose_shows_the_source_of_each_amount():
    """With `--verbose`, `stocktake explain VCPU` also lists each consumer and the source of its amounts."""
    said = text_of(explain_class(STORY_1, "VCPU"), Detail.SOURCES)
    first = said.index("consumers:")
    assert said[first : first + len(STORY_1_SOURCES)] == STORY_1_SOURCES
    assert f"  from migration {MIGRATION} in nova's database" in said
    assert [line for line in said if line not in STORY_1_TEXT] == [
        f"  from migration {MIGRATION} in nova's database",
        *STORY_1_SOURCES,
    ]


@pytest.mark.parametrize("detail", Detail)
@pytest.mark.parametrize("width", [60, 80, 120, None])
def test_explain_prints_at_most_one_uuid_per_line(detail, width):
    for found in (explain_class(STORY_1, "VCPU"), explain_consumer(STORY_1, MOVED)):
        assert [line for line in shown(explanation_blocks(found, detail), width) if len(UUID.findall(line)) > 1] == []


def test_explain_describes_an_evacuated_instance():
    """For an evacuated instance, `stocktake explain` shows its stale allocation and its migration to the new host."""
    assert text_of(explain_consumer(STORY_1, MOVED)) == STORY_1_CONSUMER


def test_explain_sorts_findings_by_severity_and_code():
    """`stocktake explain` prints findings sorted by severity, then by finding code, then by consumer."""
    found = dataclasses.replace(STALE.finding, consumer_uuid=GUESTS[3], resource_class="VCPU")
    seen = [
        dataclasses.replace(STALE, finding=dataclasses.replace(found, **changes))
        for changes in (
            {"severity": Severity.INFO, "actual": "last"},
            {"severity": Severity.WARNING, "actual": "fourth"},
            {"actual": "third"},
            {"actual": "second", "consumer_uuid": GUESTS[0]},
            {"actual": "first", "code": "a-code"},
        )
    ]
    said = text_of(explain_class(dataclasses.replace(STORY_1, findings=tuple(seen)), "VCPU"))
    sentences = ("first", "second", "third", "fourth", "last")
    assert [line.strip(" .") for line in said if line.strip(" .") in sentences] == list(sentences)


def test_explain_shows_amount_0_for_an_evacuated_instance():
    """`stocktake explain` shows amount 0 for an instance that was evacuated to another host."""
    clean = dataclasses.replace(STORY_1, ledger=STORY_1.ledger[:4])
    said = text_of(explain_class(clean, "VCPU"))
    assert f"  0  instance {MOVED} (8 VCPU): evacuation to cmp2 is done" in said
    assert "no amount of this consumer was found in nova's database, on this host or in Placement" in text_of(
        explain_consumer(clean, MIGRATION)
    )


def test_explain_shows_the_memory_of_an_evacuated_instance():
    """`stocktake explain MEMORY_MB` shows the memory size of an instance that was evacuated from this host."""
    done = "evacuation to cmp2 is done"
    assert f"  0  instance {MOVED} (8192 MiB): {done}" in text_of(explain_class(STORY_1, "MEMORY_MB"))
    assert f"  0  instance {MOVED}: {done}" in text_of(explain_class(STORY_1, "DISK_GB"))


def capacity_text(**changes):
    plain = {"provider": NODE, "provider_uuid": PROVIDER, "recorded": None, "used": 0, "wanted": None}
    inventory = InventoryRow(**{**plain, **changes})
    resource_class = (inventory.wanted or inventory.recorded).resource_class
    said = text_of(explain_class(report(inventory=(inventory,)), resource_class))
    return [line.strip() for line in said[said.index(f"provider {NODE} ({PROVIDER})") + 1 :]]


def test_explain_says_what_a_negative_free_amount_means():
    """If a free amount is negative, `stocktake explain` says that Placement records more than the host offers."""
    # Story 5: 30 CPUs, ratio 1, 73 recorded.
    wanted = Inventory(resource_class="VCPU", total=30, max_unit=30)
    assert "-43  free = 30 capacity - 73 recorded; negative: more is recorded than this host offers" in (
        capacity_text(wanted=wanted, recorded=wanted, used=73)
    )


def test_explain_lists_the_parts_of_the_reserved_amount():
    """`stocktake explain DISK_GB` lists the parts of `reserved`, for example reserved_host_disk_mb."""
    disk = Inventory(resource_class="DISK_GB", total=100, reserved=100, max_unit=100)
    terms = (("reserved_host_disk_mb", 20), ("foreign-volume", 90))
    made_of = "20 (reserved_host_disk_mb) + 90 (foreign-volume) - 10 (because reserved cannot exceed the total)"
    assert f"100 GiB  reserved = {made_of}" in capacity_text(wanted=disk, recorded=disk, terms=terms)


def test_explain_compares_the_inventory_with_placement():
    """`stocktake explain` shows where Placement's inventory differs from the inventory that the agent wants."""
    there = dataclasses.replace(VCPU, reserved=2, allocation_ratio=1.5)
    assert "Placement records reserved 2 (the agent wants 0), allocation_ratio 1.5 (the agent wants 4)" in (
        capacity_text(wanted=VCPU, recorded=there)
    )
    assert "Placement has no inventory of this class on this provider yet" in capacity_text(wanted=VCPU)
    assert capacity_text(recorded=VCPU)[0] == "the agent wants no VCPU on this provider; Placement records:"


def test_explain_shows_unknown_free_amounts_without_placement():
    """If Placement could not be read, `stocktake explain` says that the free amount is not known, and why."""
    found = explain_class(
        report(
            sources=(source("placement", "placement: refused (HTTP 503)"), source("state"), source("libvirt")),
            ledger=(row(GUESTS[0], (4, 4, None), Verdict.UNKNOWN),),
            inventory=(InventoryRow(provider=NODE, provider_uuid=PROVIDER, wanted=VCPU, recorded=None, used=None),),
        ),
        "VCPU",
    )
    said = text_of(found)
    assert "not read: placement: refused (HTTP 503)" in said
    assert said[0] == f"VCPU on {NODE}: recorded not known, promised 4, held 4"
    instance = f"    4  {GUESTS[0]}  not-compared  one of the sources to compare could not be read"
    why = "(1 instance; not compared, Placement was not read)"
    assert said[2:5] == [f"VCPU promised 4 {why}", f"VCPU held 4 {why}", instance]
    assert "    -  the free amount is not known: Placement's allocations could not be read" in said
    assert "  Placement could not be read" in said
    assert document(found)["books"]["recorded"]["amount"] is None


def test_explain_shows_no_promised_amount_without_libvirt():
    """Without libvirt, the agent cannot find this host in nova, so explain shows no promised amount."""
    # Without the node's name or the database, the agent cannot know the promised amount here either.
    found = explain_class(report(sources=(source("placement"), source("state"), source("libvirt", "down"))), "VCPU")
    assert [book.amount for book in found.books] == [0, None, None]
    kept = dataclasses.replace(found.scope, ledger=(row(GUESTS[0], (4, None, 4)),))
    assert [book.amount for book in explain_class(kept, "VCPU").books] == [4, 4, None]


def test_explain_shows_a_minimum_if_lvm_was_not_read():
    """If LVM was not read, `stocktake explain DISK_GB` shows the disk use of guests as "at least 20 GiB"."""
    sources = (source("placement"), source("state"), source("libvirt"), source("lvm", "vgs: timed out"))
    rows = (row(GUESTS[0], (20, 20, 20), resource_class="DISK_GB"),)
    said = text_of(explain_class(report(sources=sources, ledger=rows), "DISK_GB"))
    assert said[0] == f"DISK_GB on {NODE}: recorded 20 GiB, promised 20 GiB, held at least 20 GiB"
    assert "not read: lvm: vgs: timed out" in said


def test_explain_shows_unknown_disk_use_of_a_guest():
    """If LVM was not read, `stocktake explain` shows a dash as the disk use of a guest and says why."""
    sources = (source("placement"), source("state"), source("libvirt"), source("lvm", "vgs: timed out"))
    rows = tuple(row(GUESTS[0], (20, None, 20), resource_class=name) for name in ("DISK_GB", "VCPU"))
    found = explain_consumer(report(sources=sources, ledger=rows), GUESTS[0])
    assert [line.split() for line in text_of(found)[3:5]] == [
        ["20", "GiB", "20", "GiB", "-", "DISK_GB", "agreed", "instance"],
        ["20", "20", "VCPU", "agreed", "instance"],
    ]
    assert "- in column held: not known, because sources were not read (lvm)" in text_of(found)
    assert [each["unread_books"] for each in document(found)["rows"]] == [{"held": ["lvm"]}, {}]


def test_explain_says_why_a_column_is_unknown():
    """If a consumer's amounts in a column are all unknown, `stocktake explain` prints which source was not read."""
    sources = (source("placement"), source("state"), source("libvirt", "down"))
    ledger = (row(GUESTS[0], (None, None, 4)), row(GUESTS[1], (4, None, 4)))
    not_known = "- in column promised: not known, because sources were not read (libvirt)"
    assert not_known not in text_of(explain_consumer(report(sources=sources, ledger=ledger), GUESTS[0]))
    alone = text_of(explain_consumer(report(sources=sources, ledger=ledger[:1]), GUESTS[0]))
    assert not_known in alone


def test_explain_shows_the_exact_size_of_a_volume():
    """`stocktake explain vg0/scratch` shows the size of this LVM volume in bytes, not only rounded up to GiB."""
    volume = row(
        "vg0/scratch",
        (None, 8, None),
        Verdict.UNMANAGED,
        "foreign-volume",
        resource_class="DISK_GB",
        consumer_uuid=None,
        consumer_kind="volume",
        size_bytes=8_053_063_680,
    )
    found = report(ledger=(volume,))
    assert not is_class_name("vg0/scratch", found)
    assert "exact size of DISK_GB: 8053063680 bytes" in text_of(explain_consumer(found, "vg0/scratch"))
    said = text_of(explain_class(found, "DISK_GB"))
    assert any(line.startswith("    8 GiB  vg0/scratch  unmanaged  ") for line in said)
    exactly = "the exact size is 7.500 GiB (8053063680 bytes); each consumer's amount is rounded up to whole GiB"
    assert f"held: {exactly}" in said


def disk_row(key, held, **changes):
    of_disk = {"resource_class": "DISK_GB", "consumer_uuid": None}
    return row(key, (None, held, None), Verdict.UNMANAGED, "foreign-volume", **of_disk, **changes)


def test_explain_shows_bytes_beside_rounded_gib():
    """Ten volumes of 300 MiB count as 10 GiB. `stocktake explain DISK_GB` also shows their exact size in bytes."""
    mib_300 = 300 * 1024**2
    volumes = tuple(disk_row(f"vg0/v{number}", 1, size_bytes=mib_300) for number in range(10))
    rounded = "    10 GiB  10 foreign-volume: vg0/v0, vg0/v1, vg0/v2 and 7 more  unmanaged  "
    exactly = f"the exact size is 2.930 GiB ({10 * mib_300} bytes); each consumer's amount is rounded up to whole GiB"
    found = explain_class(report(ledger=volumes), "DISK_GB")
    said = text_of(found)
    assert any(line.startswith(rounded) for line in said)
    assert f"held: {exactly}" in said
    book = document(found)["books"]["held"]
    assert (book["amount"], book["rounded_up"], book["size_bytes"]) == (10, 10, 10 * mib_300)


def test_explain_adds_up_only_known_exact_sizes():
    """If some exact disk sizes are unknown, `stocktake explain` shows the sum of the known sizes in bytes."""
    reserve = row("reserved_host_disk_mb", (None, 4, None), Verdict.RESERVED, "host-reserved", resource_class="DISK_GB")
    promise = row(GUESTS[0], (20, None, 20), resource_class="DISK_GB", size_bytes=7)
    found = explain_class(report(ledger=(reserve, disk_row("vg0/v", 1, size_bytes=5), promise)), "DISK_GB")
    said = (
        "held: the exact size is known for only 1 GiB of this amount: 0.000 GiB (5 bytes); "
        "each consumer's amount is rounded up to whole GiB"
    )
    assert said in text_of(found)
    assert [book.exact is None for book in found.books] == [True, True, False]


CARD = Inventory(resource_class="VGPU", total=16, max_unit=16)
DEVICE = Inventory(resource_class="CUSTOM_PCI_10DE_1EB8", total=1, max_unit=1)


def child(name, inventory, used=0, **changes):
    plain = {"wanted": inventory, "recorded": inventory}
    return InventoryRow(provider=f"{NODE}_{name}", provider_uuid=f"uuid-{name}", used=used, **{**plain, **changes})


ON_CARD = row(
    GUESTS[0], (None, None, 2), Verdict.UNKNOWN, "recorded-only", resource_class="VGPU", provider=f"{NODE}_card",
    provider_uuid="uuid-card", source=f"placement allocations {GUESTS[0]}",
)  # fmt: skip
WITH_CARD = report(ledger=(ON_CARD,), inventory=(child("card", CARD, used=2),))
CHILDREN_SENTENCE = (
    "on child providers, the agent counts only what Placement records and what flavors request, not what guests use"
)


def test_explain_does_not_count_the_vgpus_that_guests_use():
    """`stocktake explain VGPU` shows Placement's amount and says that the use by guests is not counted."""
    said = text_of(explain_class(WITH_CARD, "VGPU"))
    assert said[:3] == [
        f"VGPU on {NODE}: recorded 2 of 16, promised not counted, held not counted",
        f"    2  {GUESTS[0]}  not-compared",
        f"VGPU: {CHILDREN_SENTENCE}",
    ]
    assert not any("the agent has no rule" in line for line in said)
    books = document(explain_class(WITH_CARD, "VGPU"))["books"]
    assert {name: (book["amount"], book["not_counted"]) for name, book in books.items()} == {
        "recorded": (2, None),
        "promised": (None, CHILDREN_SENTENCE),
        "held": (None, CHILDREN_SENTENCE),
    }


def test_explain_shows_the_vgpus_that_a_flavor_requests():
    """The flavor of an instance requests 2 VGPUs, and Placement has an allocation of 2 VGPUs.

    `stocktake explain VGPU` shows the requested amount and the allocated amount.
    """
    asked = dataclasses.replace(ON_CARD, promised=2, verdict=Verdict.AGREED)
    books = document(explain_class(dataclasses.replace(WITH_CARD, ledger=(asked,)), "VGPU"))["books"]
    assert {name: (book["amount"], book["not_counted"]) for name, book in books.items()} == {
        "recorded": (2, None),
        "promised": (2, None),
        "held": (None, CHILDREN_SENTENCE),
    }


def test_explain_says_that_a_vgpu_allocation_is_not_compared():
    """The agent does not see which VGPUs a guest uses, so `stocktake explain` shows the allocation as not compared."""
    found = explain_consumer(WITH_CARD, GUESTS[0])
    said = text_of(found)
    assert said[2].split() == ["2", "-", "-", "VGPU", "not-compared", "recorded-only", f"{NODE}_card"]
    assert said[3] == f"not-compared: {CHILDREN_SENTENCE}"
    (told,) = document(found)["rows"]
    assert (told["promised"], told["held"], told["verdict"]) == (None, None, "unknown")
    assert told["verdict_means"] == CHILDREN_SENTENCE


def test_explain_describes_a_leaked_vgpu_allocation():
    """If a deleted instance has a VGPU allocation, `stocktake explain` says that Placement still counts it."""
    leaked = dataclasses.replace(ON_CARD, verdict=Verdict.ALLOCATION_LEAKED)
    said = text_of(explain_consumer(dataclasses.replace(WITH_CARD, ledger=(leaked,)), GUESTS[0]))
    assert "allocation-leaked: the instance is deleted, and Placement still counts this amount" in said


@pytest.mark.parametrize("where", [PROVIDER, "uuid-card"])
def test_explain_says_that_the_agent_has_no_rule_for_a_class(where):
    """`stocktake explain` says that the agent has no rule for a custom resource class such as CUSTOM_LICENCE."""
    licence = dataclasses.replace(CARD, resource_class="CUSTOM_LICENCE")
    wanted = licence if where == PROVIDER else None
    there = InventoryRow(provider=NODE, provider_uuid=where, wanted=wanted, recorded=licence, used=1)
    used = dataclasses.replace(ON_CARD, resource_class="CUSTOM_LICENCE", provider_uuid=where)
    found = report(ledger=(used,), inventory=(there,))
    (told,) = document(explain_consumer(found, GUESTS[0]))["rows"]
    assert told["verdict_means"].startswith("the agent has no rule for this resource class, ")
    assert text_of(explain_class(found, "CUSTOM_LICENCE"))[0].endswith("held not counted")


def test_explain_explains_the_word_not_compared():
    """If a consumer's amounts could not be compared, `stocktake explain` says what "not-compared" means."""
    unsure = row(GUESTS[0], (None, 4, 4), Verdict.UNKNOWN)
    said = text_of(explain_consumer(report(ledger=(unsure,)), GUESTS[0]))
    means = "a source or a row that the comparison needs could not be read, or there is nothing to compare"
    assert f"not-compared: {means}" in said


def test_explain_groups_equal_child_providers():
    """`stocktake explain` prints the capacity of 42 child providers with equal values only once."""
    rows = tuple(child(number, DEVICE, used=int(number == 7)) for number in range(43))
    found = explain_class(report(inventory=rows), "CUSTOM_PCI_10DE_1EB8")
    said = text_of(found)
    names = f"{NODE}_0, {NODE}_1, {NODE}_2 and 39 more"
    first = said.index(f"42 providers with the same values (total 1, 0 used): {names}; for each of them:")
    assert said[first + 1 : first + 5] == [
        "  1  total",
        "  0  reserved",
        "  1  capacity = (1 total - 0 reserved) x 1 ratio",
        "  1  free = 1 capacity - 0 recorded",
    ]
    assert f"provider {NODE}_7 (uuid-7)" in said
    assert "  0  free = 1 capacity - 1 recorded" in said
    assert len(said) < 30
    assert len(document(found)["inventory"]) == 43


@pytest.mark.parametrize("count", [5, 6])
def test_explain_summarises_more_than_five_leaked_allocations(count):
    """`stocktake explain` lists up to five leaked allocations one by one, and six or more in a single line."""
    leaked = [f"44444444-0000-4000-8000-00000000000{n}" for n in range(count)]
    rows = tuple(row(key, (None, None, 2), Verdict.ALLOCATION_LEAKED, "recorded-only") for key in leaked)
    said = text_of(explain_class(report(ledger=rows), "VCPU"))
    assert said[0].endswith(f" -> {2 * count} recorded too much")
    few = [line for line in said if line.startswith("    2  44444444")]
    many = [line for line in said if line.startswith("    12  6 consumers  allocation-leaked")]
    assert (len(few), len(many)) == ((5, 0) if count == 5 else (0, 1))


def test_explain_says_why_vcpu_is_not_updated():
    """If the agent cannot update VCPU in Placement, `stocktake explain VCPU` shows the reason."""
    plan = Plan(
        held_back=(
            HeldBack(provider_uuid=PROVIDER, what="VCPU", why="libvirt could not be read"),
            HeldBack(provider_uuid=PROVIDER, what="DISK_GB", why="lvm could not be read"),
        )
    )
    said = text_of(explain_class(dataclasses.replace(STORY_1, plan=plan), "VCPU"))
    assert "  Placement's inventory stays unchanged: libvirt could not be read" in said
    assert not any("lvm" in line for line in said)


def test_explain_json_contains_amounts_and_text():
    """The JSON of `stocktake explain VCPU` contains the amount in Placement and the printed text."""
    found = document(explain_class(STORY_1, "VCPU"))
    assert (found["schema_version"], found["subject"], found["unit"]) == (1, "class", "VCPU")
    assert {name: book["amount"] for name, book in found["books"].items()} == {
        "recorded": 24,
        "promised": 16,
        "held": 16,
    }
    assert found["books"]["recorded"]["parts"][1] == {
        "amount": 8,
        "reason": "allocation-stale-move",
        "consumers": [MOVED],
    }
    assert found["evacuations"][0]["migration_uuid"] == MIGRATION
    assert (found["evacuations"][0]["amount"], found["evacuations"][0]["contributes"]) == (8, 0)
    assert (found["inventory"][0]["capacity"], found["inventory"][0]["free"]) == (192.0, 168.0)
    assert [consumer["consumer_uuid"] for consumer in found["consumers"]] == [*GUESTS, MOVED]
    assert found["text"] == STORY_1_TEXT


def test_explain_json_describes_an_allocation_in_words():
    """For a consumer with a stale allocation, the JSON of `stocktake explain` says that the instance moved away."""
    found = document(explain_consumer(STORY_1, MOVED.upper()))
    assert (found["subject"], found["consumer"]) == ("consumer", MOVED)
    assert found["rows"][0]["verdict"] == "allocation-stale-move"
    assert "moved away" in found["rows"][0]["verdict_means"]
    assert [finding["code"] for finding in found["findings"]] == ["allocation-stale-move"]


@pytest.mark.parametrize("unknown", ["VCPUS", "vcpu", "CUSTOM_NOBODY"])
def test_explain_rejects_an_unknown_resource_class(unknown):
    with pytest.raises(LookupError):
        explain_class(STORY_1, unknown)
    assert is_class_name(unknown, STORY_1)


def test_explain_rejects_an_unknown_consumer():
    with pytest.raises(LookupError):
        explain_consumer(STORY_1, "99999999-0000-4000-8000-000000000000")


def test_explain_says_that_a_host_offers_no_vgpu():
    """If the host has no inventory of VGPU, `stocktake explain VGPU` says that it offers no VGPU."""
    assert "no inventory of VGPU: this host offers no VGPU" in text_of(explain_class(STORY_1, "VGPU"))


def test_explain_says_that_the_host_has_no_known_provider():
    """If the resource provider of the host is unknown, `stocktake explain` says so and shows no inventory."""
    lines = text_of(explain_class(dataclasses.replace(STORY_1, provider_uuid=None, inventory=()), "VCPU"))
    assert "no inventory of VCPU: the provider of this host is unknown" in lines


def test_explain_accepts_a_custom_class_of_placement():
    """`stocktake explain` accepts a custom resource class that exists only in Placement's inventory of the host."""
    custom = dataclasses.replace(VCPU, resource_class="CUSTOM_LICENCE")
    known = report(
        inventory=(InventoryRow(provider=NODE, provider_uuid=PROVIDER, wanted=None, recorded=custom, used=0),)
    )
    assert "CUSTOM_LICENCE" in known_classes(known)


def test_explain_accepts_a_consumer_uuid_without_hyphens():
    bare = MOVED.replace("-", "")
    assert canonical(bare) == MOVED
    assert not is_class_name(bare, STORY_1)
    assert explain_consumer(STORY_1, bare).consumer == MOVED


def test_an_error_contains_the_name_of_its_source_only_once():
    """The error "placement: refused" already contains the name of the source. The agent does not add the name."""
    found = report(
        sources=(source("lvm", "vg0: not reported"), source("placement", "placement: refused"), source("state"))
    )
    assert unread(found) == ("lvm: vg0: not reported", "placement: refused")


amounts = st.none() | st.integers(min_value=0, max_value=1000)
rows = st.lists(
    st.builds(
        lambda key, books, verdict, cause: row(str(key), books, verdict, cause),
        st.uuids(),
        st.tuples(amounts, amounts, amounts),
        st.sampled_from(Verdict),
        st.sampled_from([cause.value for cause in Cause]),
    ),
    max_size=12,
)


@given(rows)
def test_explain_totals_equal_the_sum_of_the_rows(found):
    """For any amounts, each total of `stocktake explain` equals the sum of its consumers' amounts."""
    explained = explain_class(report(ledger=tuple(found)), "VCPU")
    for book in explained.books:
        there = [getattr(r, book.name) for r in found if getattr(r, book.name) is not None]
        assert book.amount == sum(part.amount for part in book.parts) == sum(there)
        assert sum(len(part.consumers) for part in book.parts) == len(there)


@given(rows, st.randoms())
def test_explain_totals_do_not_depend_on_row_order(found, random):
    shuffled = list(found)
    random.shuffle(shuffled)
    assert totals(report(ledger=tuple(found)), "VCPU") == totals(report(ledger=tuple(shuffled)), "VCPU")


def test_explain_totals_leave_out_a_sharing_provider():
    """A leaked allocation on a shared storage provider is not in the host's totals of `stocktake explain`."""
    on_nfs = {"provider": "nfs", "provider_uuid": "uuid-nfs", "outside_tree": True}
    cause = "recorded-only"
    left = row(GUESTS[0], (None, None, 5), Verdict.ALLOCATION_LEAKED, cause, "DISK_GB", **on_nfs)
    told = report(ledger=(left, row(GUESTS[1], (1, None, 1), resource_class="DISK_GB")))
    recorded, promised, _held = explain.totals(told, "DISK_GB", owned)
    assert (recorded.amount, promised.amount) == (1, 1)
    assert explain_consumer(told, GUESTS[0]).scope.ledger == (left,)


def over_capacity(*caused_by):
    found = Finding(
        code="over-capacity",
        severity=Severity.ERROR,
        remedy="",
        expected="",
        actual="192 VCPU used",
        provider_uuid=PROVIDER,
        resource_class="VCPU",
        evidence=STALE.finding.evidence,
    )
    return SeenFinding(finding=found, confirmed=True, first_seen_at=STALE.first_seen_at, caused_by=caused_by)


def codes_of(found, consumer=MOVED):
    return [seen.finding.code for seen in explain_consumer(found, consumer).scope.findings]


@pytest.mark.parametrize(("causes", "shown"), [((STALE.finding.id,), True), ((), True), (("another",), False)])
def test_explain_shows_over_capacity_with_a_stale_allocation(causes, shown):
    """If a stale allocation may be the cause of the finding over-capacity, `stocktake explain` shows both."""
    found = codes_of(dataclasses.replace(STORY_1, findings=(STALE, over_capacity(*causes))))
    assert ("over-capacity" in found) == shown


def test_over_capacity_is_not_shown_for_a_correct_allocation():
    """If a host is over capacity, `stocktake explain` does not show this for an instance with a correct allocation."""
    finding = over_capacity()
    claim = dataclasses.replace(finding.finding.evidence[0], consumer=Consumer(key=GUESTS[0], uuid=GUESTS[0], kind="i"))
    crowded = dataclasses.replace(finding, finding=dataclasses.replace(finding.finding, evidence=(claim,)))
    assert codes_of(dataclasses.replace(STORY_1, findings=(crowded,)), GUESTS[0]) == []


def test_explain_shows_the_nova_operation_in_progress():
    """During a live migration of an instance, `stocktake explain` shows the migration and its status."""
    moving = row(MOVED, (4, 4, 4), Verdict.SETTLING, settling="live-migration to cmp2 has status running")
    said = text_of(explain_consumer(report(ledger=(moving,)), MOVED))
    assert any("settling: live-migration to cmp2 has status running; the agent draws no conclusion" in t for t in said)
