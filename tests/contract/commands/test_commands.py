"""Every command against a real Placement, a real libvirt (test driver) and a real cell: both forms, exit codes."""

import csv
import io
import json
import os

import pytest

from agent.cmd.wiring import LOCK_FILE
from agent.demo import cell
from agent.host_files.lock import FileLock
from tests.rigs.commands import CPUS, MEMORY_MIB, SmallHost, small_host, stocktake
from tests.rigs.placement import Rest, running
from tests.rigs.releases import needs_all_traits

AUDIT_KEYS = [
    "schema_version", "audit_id", "host", "node", "provider_uuid", "role", "reasons", "started_at", "duration_ms",
    "outcome", "sources", "findings", "plan", "placement",
]  # fmt: skip
FINDING_KEYS = {
    "id", "code", "severity", "confirmed", "provider_uuid", "consumer_uuid", "resource_class", "expected", "actual",
    "evidence", "remedy", "first_seen_at",
}  # fmt: skip
LEDGER_KEYS = [
    "consumer_uuid", "consumer_name", "consumer_kind", "cause", "provider", "resource_class", "promised", "held",
    "recorded", "verdict", "source",
]  # fmt: skip
INVENTORY_KEYS = [
    "provider", "provider_uuid", "resource_class", "total", "reserved", "min_unit", "max_unit", "step_size",
    "allocation_ratio", "used", "free",
]  # fmt: skip


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    with running(tmp_path_factory.mktemp("placement")) as server:
        yield server


@pytest.fixture(scope="module")
def host(tmp_path_factory, rest: Rest) -> SmallHost:
    """A host for commands that only read."""
    return small_host(tmp_path_factory.mktemp("host"), rest)


@pytest.fixture
def own_host(tmp_path, rest: Rest) -> SmallHost:
    """A host for one test, which may change it."""
    return small_host(tmp_path, rest)


def codes(document):
    return sorted(finding["code"] for finding in document["findings"])


EXPECTED_CODES = ["allocation-leaked", "allocation-stale-move", "guest-unknown", "migration-finished-but-counted"]


def test_audit_json_lists_findings_sources_and_writes(host):
    """`stocktake audit -f json` lists the findings, the sources, and the planned writes to Placement."""
    code, document = host.json("audit")
    assert code == 3
    assert list(document)[: len(AUDIT_KEYS)] == AUDIT_KEYS
    assert codes(document) == EXPECTED_CODES
    assert all(set(finding) >= FINDING_KEYS for finding in document["findings"])
    assert (document["outcome"], document["node"], document["provider_uuid"]) == (
        "findings",
        host.agent.name,
        host.agent.provider_uuid,
    )
    assert [(source["name"], source["ok"]) for source in document["sources"]] == [
        (name, True) for name in ("placement", "state", "libvirt", "filesystem", "images")
    ]
    keys = {"name", "ok", "age_s", "duration_ms", "error", "denied", "behind_s", "read"}
    assert all(set(source) >= keys for source in document["sources"])
    assert {source["name"] for source in document["sources"] if source["behind_s"] is not None} == {"state"}
    assert set(document["placement"]) >= {"requests", "conflicts", "attempts", "conflict_kinds", "microversion"}
    assert [write["kind"] for write in document["plan"]["writes"]] == ["put-inventories", "put-traits"]


def test_the_audit_text_groups_findings_that_belong_together(host):
    """`stocktake audit` prints four findings in three groups: a finding that follows from another stands below it."""
    ended = host.run("audit")
    assert (ended.code, ended.stderr) == (3, "")
    assert ended.stdout.startswith(f"audit of {host.agent.name} at ")
    assert ": 4 findings, 3 causes\n" in ended.stdout
    heads = [line.split("  ")[:3] for line in ended.stdout.splitlines() if line.startswith(("ERROR", "WARNING"))]
    assert [(code, who.split()[-1]) for _, code, who in heads] == [
        ("allocation-leaked", host.leaked),
        ("allocation-stale-move", host.evacuated),
        ("guest-unknown", host.stranger),
    ]
    assert "       also: migration-finished-but-counted [" in ended.stdout
    assert "nothing written, 2 writes planned" in ended.stdout


@pytest.mark.parametrize("columns", ["80", "132"])
def test_the_audit_text_fits_the_terminal(host, columns):
    """In the output of `stocktake audit`, only lines with a command to copy are longer than the terminal is wide."""
    said = host.run_apart("audit", COLUMNS=columns).stdout.splitlines()
    whole = ("  fix: ", " hand: ", "inspect: ", " docs: ")
    assert [line for line in said if len(line) > int(columns) and not line.startswith(whole)] == []
    assert sum(line.startswith(" docs: stocktake explain ") for line in said) == 3


def listed(rows):
    return sorted(row["code"] for row in rows)


FINDING_COLUMNS = [
    "id", "severity", "code", "state", "confirmed", "subject", "consumer_uuid", "resource_class", "provider_uuid",
    "first_seen_at", "last_seen_at", "caused_by", "headline", "fix", "inspect", "hand",
]  # fmt: skip


def test_the_findings_command_lists_every_finding(host):
    """`stocktake findings` prints one line for each finding. With -f json it prints one object for each finding."""
    code, rows = host.json("findings")
    assert (code, listed(rows)) == (3, EXPECTED_CODES)
    assert {tuple(row) for row in rows} == {tuple(FINDING_COLUMNS)}
    by_code = {row["code"]: row for row in rows}
    leaked = by_code["allocation-leaked"]
    assert (leaked["consumer_uuid"], leaked["state"]) == (host.leaked, "seen")
    assert leaked["fix"] is None or leaked["fix"].startswith(f"stocktake heal --finding {leaked['id'][:8]}")
    assert by_code["migration-finished-but-counted"]["caused_by"] == [by_code["allocation-stale-move"]["id"]]
    people = host.run("findings").stdout.splitlines()
    assert people[0].split() == ["SEV", "CODE", "WHO", "STATE", "AGE", "ID"]
    assert people[-1] == "4 findings, 3 causes"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (("--causes",), ["allocation-leaked", "allocation-stale-move", "guest-unknown"]),
        (("--code", "guest-unknown", "--code", "allocation-leaked"), ["allocation-leaked", "guest-unknown"]),
        (("--severity", "info"), []),
        (("--state", "confirmed"), []),
        (("--confirmed",), []),
        (("--consumer", "LEAKED"), ["allocation-leaked"]),
        (("--consumer", "NAME", "--causes"), ["allocation-stale-move"]),
    ],
)
def test_findings_exits_3_if_a_finding_matches_all_filters(host, filters, found):
    """`stocktake findings` with filters lists only matching findings.

    It exits with 3, or with 0 if no finding matches.
    """
    known = {"LEAKED": host.leaked, "NAME": f"moved-{host.agent.name}"}
    code, rows = host.json("findings", *(known.get(word, word) for word in filters))
    assert (code, listed(rows)) == (3 if found else 0, found)


def test_findings_exits_2_if_placement_is_down(own_host):
    """If Placement is down, `stocktake findings --code source-unavailable` lists this finding and exits with 2."""
    own_host.agent.configure({"placement": {"endpoint_override": "http://127.0.0.1:1"}})
    code, rows = own_host.json("findings", "--code", "source-unavailable")
    assert (code, listed(rows)) == (2, ["source-unavailable"])


def test_findings_suggests_a_finding_after_a_typing_error(host):
    """`stocktake findings --code allocation-leak` exits with 127 and asks: did you mean allocation-leaked?"""
    ended = host.run("findings", "--code", "allocation-leak")
    assert (ended.code, ended.stdout) == (127, "")
    assert ended.stderr.endswith("unknown finding code allocation-leak: did you mean allocation-leaked?\n")


def test_read_only_commands_change_nothing(own_host, rest):
    """The commands audit, ledger, explain, inventory and traits change neither Placement nor the state directory."""
    before = rest.generation(own_host.agent.provider_uuid)
    for command in (("audit",), ("ledger",), ("explain", "VCPU"), ("inventory", "--diff"), ("traits",)):
        assert own_host.run(*command).code in (0, 3)
    assert rest.generation(own_host.agent.provider_uuid) == before
    assert list((own_host.agent.folder / "state").iterdir()) == []


@needs_all_traits()
def test_a_second_audit_writes_nothing_to_placement(own_host, rest):
    """`stocktake audit --publish` runs twice on an unchanged host, and only the first run writes to Placement."""
    code, document = own_host.json("audit", "--publish")
    assert (code, document["published"], document["writes_done"]) == (3, True, 2)
    vcpu = rest.inventories(own_host.agent.provider_uuid)["VCPU"]
    assert (vcpu["total"], vcpu["max_unit"], vcpu["allocation_ratio"]) == (CPUS, CPUS, 4.0)
    traits = rest.traits(own_host.agent.provider_uuid)
    assert traits >= {"COMPUTE_NODE", "COMPUTE_IMAGE_TYPE_RAW", "CUSTOM_OWNER_STOCKTAKE"}
    code, document = own_host.json("audit", "--publish")
    assert (code, document["writes_done"], document["plan"]["writes"]) == (3, 0, [])
    assert all(finding["confirmed"] for finding in document["findings"])
    assert own_host.json("inventory", "--diff")[1][0]["differs"] == ""
    assert "nothing differs" in own_host.run("inventory", "--diff").stdout
    assert own_host.json("traits", "--diff") == (0, [])


def test_audit_publish_writes_nothing_for_an_observer(own_host, rest):
    """`stocktake audit --publish` does not change Placement if [agent] role is observer."""
    own_host.agent.configure({"agent": {"role": "observer"}})
    before = rest.generation(own_host.agent.provider_uuid)
    code, document = own_host.json("audit", "--publish")
    assert (code, document["role"], document["published"]) == (3, "observer", False)
    assert rest.generation(own_host.agent.provider_uuid) == before


def by_class(rows, resource_class):
    return {row["consumer_uuid"]: row for row in rows if row["resource_class"] == resource_class}


def test_ledger_json_compares_the_three_sources(host):
    """Each row of `stocktake ledger -f json` has the amounts by nova's database, by the host and by Placement."""
    code, rows = host.json("ledger")
    assert code == 0
    assert list(rows[0])[: len(LEDGER_KEYS)] == LEDGER_KEYS
    vcpu = by_class(rows, "VCPU")
    books = {uuid: (row["promised"], row["held"], row["recorded"], row["verdict"]) for uuid, row in vcpu.items()}
    assert books == {
        host.running[0]: (4, 4, 4, "agreed"),
        host.running[1]: (4, 4, 4, "agreed"),
        host.evacuated: (None, None, 8, "allocation-stale-move"),
        host.leaked: (None, None, 4, "allocation-leaked"),
        host.stranger: (None, 2, None, "guest-unknown"),
    }


def test_the_ledger_ends_with_a_total_per_resource_class(host):
    """The last lines of `stocktake ledger` are, for each class, the sums by nova, by the host and by Placement."""
    ended = host.run("ledger")
    assert (ended.code, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-2:] == [
        "total MEMORY_MB: promised 2048 MiB, held 2816 MiB, recorded 5120 MiB",
        "total VCPU: promised 8, held 10, recorded 20",
    ]


def test_the_ledger_can_be_filtered_by_class_and_consumer(host):
    """`stocktake ledger` with --resource-class, --consumer or both prints only the rows that match."""
    assert {row["resource_class"] for row in host.json("ledger", "--resource-class", "VCPU")[1]} == {"VCPU"}
    rows = host.json("ledger", "--consumer", host.evacuated)[1]
    assert [(row["consumer_uuid"], row["resource_class"]) for row in rows] == [
        (host.evacuated, "MEMORY_MB"),
        (host.evacuated, "VCPU"),
    ]
    both = host.json("ledger", "--consumer", host.evacuated, "--resource-class", "VCPU")[1]
    assert [row["recorded"] for row in both] == [8]


def test_the_ledger_does_not_shorten_uuids_in_csv(host):
    """`stocktake ledger` prints whole UUIDs with -f csv or -f value, even if --max-width asks for 40 columns."""
    ended = host.run("ledger", "-f", "csv", "--max-width", "40")
    assert (ended.code, ended.stderr) == (0, "")
    read = list(csv.DictReader(io.StringIO(ended.stdout)))
    assert {row["consumer_uuid"] for row in read} >= {host.evacuated, host.leaked, host.stranger, *host.running}
    value = host.run("ledger", "-f", "value", "-c", "consumer_uuid", "-c", "recorded", "--resource-class", "VCPU")
    assert f"{host.evacuated} 8" in value.stdout.splitlines()
    table = host.run("ledger", "-c", "resource_class", "-c", "recorded", "--sort-column", "recorded")
    assert table.code == 0
    assert "recorded 20" in table.stdout


def test_a_narrow_ledger_table_leaves_out_columns(host):
    """At 80 columns, `stocktake ledger` leaves out some columns, says which, and does not break long words."""
    table = host.run("ledger", "--max-width", "80").stdout.splitlines()
    assert max(map(len, table)) <= 80
    assert "left out: consumer_uuid, cause, provider, source (-c shows them)" in table
    assert sum(line.endswith("  allocation-stale-move") for line in table) == 2
    chosen = host.run("ledger", "-c", "consumer_uuid", "-c", "source", "--max-width", "80").stdout
    assert host.evacuated[:8] in chosen


def test_the_ledger_says_how_many_rows_it_hides(host):
    """`stocktake ledger --only-differing` prints only rows with a difference, and the number of rows left out."""
    code, rows = host.json("ledger", "--only-differing")
    assert code == 0
    assert {row["verdict"] for row in rows} == {"allocation-leaked", "allocation-stale-move", "guest-unknown"}
    said = host.run("ledger", "--only-differing").stdout.splitlines()
    assert said[-1] == "5 rows left out: 4 agreed, 1 reserved"
    assert "total VCPU: promised 8, held 10, recorded 20" in said


def test_explain_shows_the_users_of_a_resource_class(host):
    """`stocktake explain VCPU` prints who uses VCPUs of the host, what is reserved, and how many are free."""
    ended = host.run("explain", "VCPU")
    assert (ended.code, ended.stderr) == (0, "")
    said = [line.strip() for line in ended.stdout.splitlines()]
    name = host.agent.name
    sums = "recorded 20 of 60, promised 8, held 10 -> 12 recorded too much"
    assert said[0] == f"VCPU on {name}: {sums}"
    moved = f"8  moved-{name} {host.evacuated}"
    assert any(
        line.startswith(moved) and line.endswith("allocation-stale-move  the instance lives on other") for line in said
    )
    assert any(line.startswith(f"4  gone-{name} {host.leaked}") and "allocation-leaked" in line for line in said)
    assert any(line.startswith(f"2  by-hand {host.stranger}") and "guest-unknown" in line for line in said)
    assert any(line.startswith("8  2 instances") for line in said)
    still = "evacuation to other is done; Placement still records 8 VCPU for it on this host"
    assert f"0  instance {host.evacuated} (8 VCPU): {still}" in said
    # Two vCPUs of an unknown guest at ratio 4 are ⌈2 ÷ 4⌉ = 1 CPU; (16 - 1) x 4 - 20 = 40.
    assert "1  reserved = 1 (foreign-guest)" in said
    assert "40  free = 60 capacity - 20 recorded" in said
    assert f"from placement allocations {host.evacuated}" not in said
    verbose = [line.strip() for line in host.run("explain", "VCPU", "-v").stdout.splitlines()]
    assert f"from placement allocations {host.evacuated}" in verbose


def test_explain_json_has_amounts_and_inventory(host):
    """`stocktake explain VCPU -f json` has the amounts by nova, host and Placement, and the inventory of VCPU."""
    code, document = host.json("explain", "VCPU")
    assert (code, document["schema_version"], document["resource_class"]) == (0, 1, "VCPU")
    assert {name: book["amount"] for name, book in document["books"].items()} == {
        "recorded": 20,
        "promised": 8,
        "held": 10,
    }
    assert [(e["migration_uuid"], e["contributes"]) for e in document["evacuations"]] == [(host.evacuation, 0)]
    (inventory,) = document["inventory"]
    assert (inventory["total"], inventory["free"], inventory["terms"]) == (
        CPUS,
        40.0,
        [{"name": "foreign-guest", "amount": 1}],
    )


def test_explain_lists_the_parts_of_reserved_memory(host):
    """Reserved memory includes guests unknown to nova. `stocktake explain MEMORY_MB` shows their amount separately."""
    code, document = host.json("explain", "MEMORY_MB")
    assert code == 0
    (inventory,) = document["inventory"]
    assert inventory["total"] == MEMORY_MIB
    assert inventory["terms"] == [
        {"name": "reserved_host_memory_mb", "amount": 512},
        {"name": "foreign-guest", "amount": 256},
    ]


def test_explain_shows_allocations_and_findings_of_a_consumer(host):
    """`stocktake explain UUID` prints what Placement records for an instance, and the findings about the instance."""
    code, document = host.json("explain", host.evacuated)
    assert (code, document["subject"], document["consumer"]) == (0, "consumer", host.evacuated)
    assert {row["resource_class"]: row["recorded"] for row in document["rows"]} == {"VCPU": 8, "MEMORY_MB": 2048}
    assert codes(document) == ["allocation-stale-move", "migration-finished-but-counted"]
    ended = host.run("explain", host.evacuated)
    assert ended.code == 0
    assert "\nallocation-stale-move: the instance is not on this host: it moved away" in ended.stdout


@pytest.mark.parametrize("command", [("explain",), ("ledger", "--resource-class")])
def test_commands_suggest_a_known_resource_class(host, command):
    """`stocktake explain VCPUS` and `stocktake ledger --resource-class VCPUS` exit with 127 and mention VCPU."""
    ended = host.run(*command, "VCPUS")
    assert (ended.code, ended.stdout) == (127, "")
    assert "VCPU, " in ended.stderr.partition("VCPUS")[2]


@pytest.mark.parametrize("command", [("explain",), ("ledger", "--consumer")])
def test_commands_exit_127_for_an_unknown_consumer(host, command):
    """`stocktake explain` and `stocktake ledger --consumer` exit with 127 if they do not find the consumer."""
    stray = "99999999-0000-4000-8000-000000000000"
    ended = host.run(*command, stray)
    assert (ended.code, ended.stdout) == (127, "")
    assert ended.stderr.startswith(f"stocktake: found no consumer {stray} on {host.agent.name}: none in Placement's")
    assert "libvirt" in ended.stderr


def test_inventory_prints_a_row_for_each_resource_class(host):
    """`stocktake inventory` prints a row for each resource class, with total, used and free amounts."""
    code, rows = host.json("inventory")
    assert code == 0
    assert [list(row) for row in rows] == [INVENTORY_KEYS] * 3
    vcpu = next(row for row in rows if row["resource_class"] == "VCPU")
    assert (vcpu["total"], vcpu["reserved"], vcpu["max_unit"], vcpu["used"], vcpu["free"]) == (16, 1, 16, 20, 40.0)
    ended = host.run("inventory")
    assert (ended.code, ended.stderr) == (0, "")
    assert "32768 MiB" in ended.stdout


def test_inventory_diff_shows_differences_from_placement(host):
    """`stocktake inventory --diff` exits with 3, and shows the agent's values beside those of Placement."""
    code, rows = host.json("inventory", "--diff")
    assert code == 3
    found = {row["resource_class"]: row for row in rows}
    assert found["DISK_GB"]["differs"] == "absent"
    assert found["DISK_GB"]["recorded_total"] is None
    assert found["VCPU"]["differs"] == "reserved,max_unit"
    assert (found["VCPU"]["reserved"], found["VCPU"]["recorded_reserved"]) == (1, 0)
    ended = host.run("inventory", "--diff")
    assert (ended.code, ended.stderr) == (3, "")
    assert "2147483647 -> 16" in ended.stdout


def test_the_traits_command_shows_the_owner_of_each_trait(own_host, rest):
    """`stocktake traits` marks a trait as the operator's or as the agent's.

    With --diff it omits the operator's traits.
    """
    rest.set_traits(own_host.agent.provider_uuid, "CUSTOM_GOLD")
    code, rows = own_host.json("traits")
    assert code == 0
    told = {(row["trait"], row["wanted"], row["recorded"], row["owner"]) for row in rows}
    assert ("CUSTOM_GOLD", True, True, "operator") in told
    ours = {row for row in told if row[0] != "CUSTOM_GOLD"}
    assert {row[1:] for row in ours} == {(True, False, "ours")}
    wanted = {row[0] for row in ours}
    assert wanted >= {"COMPUTE_NODE", "COMPUTE_SOUND_MODEL_USB", "CUSTOM_OWNER_STOCKTAKE"}
    assert {row["trait"] for row in own_host.json("traits", "--diff")[1]} == wanted
    ended = own_host.run("traits", "--diff")
    assert (ended.code, ended.stderr) == (3, "")
    assert "CUSTOM_GOLD" not in ended.stdout


@needs_all_traits()
def test_status_shows_the_last_report_of_the_agent(own_host):
    """`stocktake status` prints the findings and the free amounts that the agent's last audit reported."""
    ended = own_host.agent.agent("--once")
    assert ended.code == 3, ended.stderr
    code, document = own_host.json("status")
    assert code == 3
    assert codes(document) == EXPECTED_CODES
    assert (document["stale"], document["interval_s"]) == (False, 60.0)
    assert 0 <= document["age_s"] < 60
    assert {row["resource_class"]: row["free"] for row in document["free"]}["VCPU"] == 40.0
    ended = own_host.run("status")
    assert (ended.code, ended.stderr) == (3, "")
    assert [own_host.agent.name, "VCPU", "40", "20"] in [line.split() for line in ended.stdout.splitlines()]


def test_the_agent_writes_no_report_with_option_no_publish(own_host):
    """An agent that runs with --once --no-publish neither creates nor changes the report file."""
    assert own_host.agent.agent("--once", "--no-publish").code == 3
    assert not own_host.agent.report_file.exists()
    assert own_host.agent.agent("--once").code == 3
    before = own_host.agent.report_file.read_bytes()
    assert own_host.agent.agent("--once", "--no-publish").code == 3
    assert own_host.agent.report_file.read_bytes() == before


def test_status_exits_2_if_the_report_is_stale(own_host):
    """If the last report is older than three audit intervals, `stocktake status` exits with 2."""
    assert own_host.agent.agent("--once").code == 3
    report = json.loads(own_host.agent.report_file.read_text())
    report["audit"]["started_at"] = "2026-01-01T00:00:00.000Z"
    report["audit"]["outcome"] = "clean"
    own_host.agent.report_file.write_text(json.dumps(report))
    ended = own_host.run("status")
    assert ended.code == 2
    assert "more than 3 intervals of 60 s: is stocktake-agent running?" in ended.stderr
    assert own_host.json("status")[1]["stale"] is True


@pytest.fixture
def children(own_host, rest) -> SmallHost:
    """A host whose first guest has two VGPU of a card, and one of seven devices, on children of the root."""
    root, name = own_host.agent.provider_uuid, own_host.agent.name
    devices = [rest.make_provider(f"{name}_dev-{number}", parent=root) for number in range(7)]
    card = rest.make_provider(f"{name}_card", parent=root)
    rest.set_inventories(card, {"VGPU": {"total": 16}})
    for device in devices:
        rest.set_inventories(device, {"PGPU": {"total": 1}})
    rest.allocate(
        {root: {"VCPU": 4, "MEMORY_MB": 1024}, card: {"VGPU": 2}, devices[0]: {"PGPU": 1}}, own_host.running[0]
    )
    return own_host


def test_the_ledger_does_not_compare_child_providers(children):
    """For a GPU on a child provider, `stocktake ledger` prints Placement's amount and the word "not-compared"."""
    guest = children.running[0]
    said = children.run("ledger").stdout.splitlines()
    assert "total VGPU: promised not counted, held not counted, recorded 2" in said
    only_recorded = "PGPU, VGPU: on child providers, the agent counts only what Placement records"
    assert sum(line.startswith(only_recorded) for line in said) == 1
    (line,) = [line for line in said if line.startswith("web-1") and " VGPU " in line]
    assert line.split()[2:7] == ["VGPU", "-", "-", "2", "not-compared"]
    assert "the agent has no rule" not in children.run("explain", guest).stdout
    assert children.run("explain", "VGPU").stdout.splitlines()[:2] == [
        f"VGPU on {children.agent.name}: recorded 2 of 16, promised not counted, held not counted",
        f"    2  web-1-{children.agent.name} {guest}  not-compared",
    ]
    assert children.json("explain", "VGPU")[1]["books"]["held"]["amount"] is None
    (told,) = children.json("ledger", "--resource-class", "VGPU")[1]
    assert (told["promised"], told["held"], told["recorded"]) == (None, None, 2)


def test_explain_groups_child_providers_with_equal_values(children):
    """`stocktake explain PGPU` prints six providers with the same values in one line. Its JSON lists each provider."""
    said = children.run("explain", "PGPU").stdout.splitlines()
    (group,) = [line for line in said if "with the same values" in line]
    assert group.startswith(f"6 providers with the same values (total 1, 0 used): {children.agent.name}_dev-")
    assert sum("  capacity = " in line for line in said) == 2
    assert len(children.json("explain", "PGPU")[1]["inventory"]) == 7
    table = children.run("inventory").stdout
    assert "1 PGPU" not in table
    assert f"{children.agent.name}_dev-6" in table


LOOKS = [("audit",), ("ledger",), ("explain", "VCPU"), ("inventory",), ("inventory", "--diff"), ("traits",)]


@pytest.mark.parametrize("command", LOOKS)
def test_read_only_commands_exit_2_if_placement_is_down(own_host, command):
    """The commands report that Placement was not read.

    `stocktake ledger` still prints the amounts of nova's database.
    """
    own_host.agent.configure({"placement": {"endpoint_override": "http://127.0.0.1:1"}})
    ended = own_host.run(*command, "-f", "json")
    assert ended.code == 2
    (line,) = ended.stderr.splitlines()
    assert line.startswith("stocktake: some data could not be read: placement: ")
    document = json.loads(ended.stdout)
    if command == ("audit",):
        assert document["outcome"] == "partial"
        assert document["plan"]["writes"] == []
    if command == ("ledger",):
        assert {row["recorded"] for row in document} == {None}
        assert by_class(document, "VCPU")[own_host.running[0]]["promised"] == 4
    if command[0] == "explain":
        assert document["books"]["recorded"]["amount"] is None
        assert document["books"]["promised"]["amount"] == 8
    if command == ("inventory", "--diff"):
        assert {row["differs"] for row in document} == {"unknown"}


def test_a_consumer_search_exits_2_if_placement_is_down(own_host):
    """`stocktake explain` and `ledger` search for an unknown consumer, and say that not every source could be read."""
    own_host.agent.configure({"placement": {"endpoint_override": "http://127.0.0.1:1"}})
    stray = "99999999-0000-4000-8000-000000000000"
    for command in (("explain", stray), ("ledger", "--consumer", stray)):
        ended = own_host.run(*command)
        assert ended.code == 2
        assert "as far as the sources could be read" in ended.stderr


AWAY = {
    "placement": {"placement": {"endpoint_override": "http://127.0.0.1:1"}},
    "state": {"state": {"connection": "sqlite:////nowhere/cell.sqlite"}},
    "libvirt": {"libvirt": {"connection_uri": "test:///nowhere/node.xml"}},
}


@pytest.mark.parametrize(
    ("source", "unread"),
    [("placement", ["recorded"]), ("state", ["promised"]), ("libvirt", ["held", "promised"])],
)
def test_explain_shows_unread_amounts_as_not_known(own_host, source, unread):
    """If Placement, nova's database or libvirt is down, `stocktake explain` says which amounts are not known."""
    assert "not known" not in own_host.run("explain", own_host.running[0]).stdout
    own_host.agent.configure(AWAY[source])
    ended = own_host.run("explain", own_host.running[0])
    assert ended.code == 2
    said = [line for line in ended.stdout.splitlines() if line.startswith("- in ")]
    assert said == [f"- in column {book}: not known, because sources were not read ({source})" for book in unread]
    rows = own_host.json("explain", own_host.running[0])[1]["rows"]
    assert [sorted(row["unread_books"]) for row in rows] == [unread, unread]
    assert {row[book] for row in rows for book in unread} == {None}


def test_the_ledger_shows_unread_amounts_as_a_dash(own_host):
    """If Placement is down, `stocktake ledger` prints "-" for Placement's amounts, and says what "-" means."""
    own_host.agent.configure(AWAY["placement"])
    said = own_host.run("ledger").stdout.splitlines()
    rows = [line.split("  ") for line in said if own_host.running[0] in line]
    assert [[cell.strip() for cell in row if cell][2:7] for row in rows] == [
        ["MEMORY_MB", "1024 MiB", "1024 MiB", "-", "not-compared"],
        ["VCPU", "4", "4", "-", "not-compared"],
    ]
    assert sum(line.startswith('"-" means not known: placement: ') for line in said) == 1


def test_an_empty_ledger_mentions_unreadable_sources(own_host):
    """`stocktake ledger` finds no consumer. If Placement is down, it adds "as far as the sources could be read"."""
    ended = own_host.run("ledger", "--resource-class", "VGPU")
    assert ended.stdout.strip().endswith("no consumer was found in nova's database, on this host or in Placement")
    own_host.agent.configure(AWAY["placement"])
    ended = own_host.run("ledger", "--resource-class", "VGPU")
    assert ended.stdout.strip().endswith(
        "no consumer was found in nova's database, on this host or in Placement, as far as the sources could be read"
    )


def test_explain_lists_unread_sources_for_a_missing_consumer(own_host):
    """`stocktake explain UUID` finds no consumer while Placement is down, and says that Placement was not read."""
    own_host.agent.configure(AWAY["placement"])
    ended = own_host.run("explain", own_host.evacuated)
    assert ended.code == 2
    assert "do not contain this consumer; its recorded amounts are unknown (not read: placement)" in ended.stdout
    assert "no amount of this consumer was found" not in ended.stdout
    document = own_host.json("explain", own_host.evacuated)[1]
    assert (document["rows"], document["unread_books"]) == ([], {"recorded": ["placement"]})


@pytest.mark.parametrize("source", ["placement", "libvirt"])
def test_explain_says_that_an_unread_inventory_is_unknown(own_host, source):
    """If Placement is down, `stocktake explain VGPU` says: it is unknown whether this host offers any VGPU."""
    assert "no inventory of VGPU: this host offers no VGPU" in own_host.run("explain", "VGPU").stdout
    own_host.agent.configure(AWAY[source])
    said = own_host.run("explain", "VGPU").stdout.splitlines()
    why = f"it is unknown whether this host offers VGPU, because sources were not read ({source})"
    assert f"no inventory of VGPU: {why}" in said


def test_read_only_commands_exit_75_if_all_sources_are_down(own_host):
    """`stocktake audit`, ledger, explain, inventory and traits print an error that lists the unread sources."""
    own_host.agent.configure(
        {
            "placement": {"endpoint_override": "http://127.0.0.1:1"},
            "libvirt": {"connection_uri": "test:///nowhere/node.xml"},
            "state": {"connection": "sqlite:////nowhere/cell.sqlite"},
        }
    )
    for command in LOOKS:
        ended = own_host.run(*command, "-f", "json")
        assert (ended.code, ended.document["exit_code"], ended.document["error"]["kind"]) == (75, 75, "unavailable")
        # libxml2 itself writes a line to stderr when the test driver's file is missing.
        *said, last = [line for line in ended.stderr.splitlines() if not line.startswith("I/O warning")]
        named = [line.removeprefix("stocktake: some data could not be read: ").partition(":")[0] for line in said]
        assert named == ["placement", "state", "libvirt"]
        assert last == "stocktake: not enough sources could be read; unread: placement, state, libvirt"
        assert "Traceback" not in ended.stderr


def test_a_command_exits_78_if_two_compute_id_files_differ(own_host):
    """`stocktake audit` prints both UUIDs if two compute_id files disagree about the UUID of the host."""
    other = "12345678-0000-4000-8000-000000000000"
    (own_host.agent.folder / "state" / "compute_id").write_text(other)
    ended = own_host.run("audit")
    assert (ended.code, ended.stdout) == (78, "")
    (line,) = ended.stderr.splitlines()
    assert other in line
    assert own_host.agent.provider_uuid in line


def test_debug_logs_go_to_stderr_and_json_to_stdout(host):
    """`stocktake --debug audit -f json` prints only JSON to stdout, and its debug logs to stderr."""
    ended = stocktake("--debug", "--config-file", host.agent.config_file, "audit", "-f", "json")
    assert ended.code == 3
    assert json.loads(ended.stdout)["outcome"] == "findings"
    assert " DEBUG " in ended.stderr


def test_audit_exits_5_if_nova_compute_owns_the_provider(own_host, rest):
    """`stocktake audit --publish` writes nothing to a provider that has the trait OWNER_NOVA."""
    rest.set_traits(own_host.agent.provider_uuid, "OWNER_NOVA")
    before = rest.generation(own_host.agent.provider_uuid)
    code, document = own_host.json("audit", "--publish")
    assert (code, document["outcome"]) == (5, "refused")
    assert "rival-writer" in codes(document)
    assert own_host.json("ledger")[0] == 0
    assert rest.generation(own_host.agent.provider_uuid) == before


def test_audit_exits_2_if_another_process_has_the_lock(own_host, rest):
    """`stocktake audit --publish` writes nothing, and prints the id of the process that has the agent's lock file."""
    before = rest.generation(own_host.agent.provider_uuid)
    with FileLock(str(own_host.agent.folder / "state" / LOCK_FILE), str(own_host.agent.folder / "run")).hold():
        ended = own_host.run("audit", "--publish", "-f", "json")
    assert ended.code == 2
    assert f"is held by pid {os.getpid()} " in ended.stderr
    assert ended.document["writes_done"] == 0
    assert rest.generation(own_host.agent.provider_uuid) == before


NASTY = "evil\x1b[2J\nname"


def test_commands_print_no_control_characters_of_a_name(own_host):
    """An instance's name has an escape sequence and a line break; the commands' text output contains neither."""
    with own_host.agent.rows() as connection:
        cell.set_columns(connection, "instances", {"uuid": own_host.evacuated}, display_name=NASTY)
    for command in (("audit",), ("ledger",), ("ledger", "-f", "value"), ("ledger", "-c", "consumer_name"),
                    ("explain", "VCPU"), ("explain", own_host.evacuated)):  # fmt: skip
        ended = own_host.run(*command)
        assert ended.code == (3 if command == ("audit",) else 0)
        assert "evil" in ended.stdout
        assert "\x1b" not in ended.stdout
        assert "\nname" not in ended.stdout
    assert NASTY in {row["consumer_name"] for row in own_host.json("ledger")[1]}
