"""``stocktake why`` through its entry point, against a real Placement: it explains Placement's own answer in words."""

import dataclasses

import pytest

from agent.demo import cell
from agent.demo.placement import TOKEN
from tests.rigs.commands import CPUS, SMALL, SmallHost, small_host
from tests.rigs.placement import Rest, new_uuid, running

ROOT = "GET / 200"
KEYS = ["schema_version", "node", "provider_uuid", "request", "everywhere", "fits", "tree", "host", "cloud", "unknown"]


@pytest.fixture(scope="module")
def rest(tmp_path_factory):
    with running(tmp_path_factory.mktemp("placement")) as server:
        yield server


@pytest.fixture(scope="module")
def host(tmp_path_factory, rest: Rest) -> SmallHost:
    made = small_host(tmp_path_factory.mktemp("host"), rest)
    made.run("audit", "--publish")
    return made


def offered(rest, query):
    return set(rest.done("GET", f"/allocation_candidates?{query}", version="1.39")["provider_summaries"])


def document_of(host, *arguments):
    """Run ``why`` in this process and return exit code and document: a separate process takes more than a second."""
    ended = host.run("why", *arguments, "-f", "json")
    return ended.code, ended.document


def first(document):
    return document["tree"]["obstacles"][0]


def test_why_reports_max_unit_for_a_request_of_too_many_vcpus(host, rest):
    """A request has one VCPU more than the host has CPUs. `stocktake why` says that the limit max_unit is too low."""
    code, document = host.json("why", "--resource", f"VCPU={CPUS + 1}")
    assert list(document)[: len(KEYS)] == KEYS
    assert (code, document["fits"], document["everywhere"], document["cloud"]) == (3, False, False, None)
    assert (first(document)["constraint"], first(document)["wanted"], first(document)["available"]) == (
        "max-unit", CPUS + 1, CPUS
    )  # fmt: skip
    assert host.agent.provider_uuid not in offered(rest, f"resources=VCPU:{CPUS + 1}")


def test_why_exits_0_for_a_request_that_fits(host, rest):
    """`stocktake why` exits with 0 and prints "fits" if the host has room for the requested resources."""
    ended = host.run("why", "--resource", f"VCPU={CPUS}")
    assert (ended.code, ended.stderr) == (0, "")
    assert f"{host.agent.name}: fits" in ended.stdout
    assert host.agent.provider_uuid in offered(rest, f"resources=VCPU:{CPUS}")


def test_why_prints_an_obstacle_and_the_smallest_change(host):
    """If a request does not fit, `stocktake why` prints an obstacle and then the smallest change that helps."""
    ended = host.run_apart("why", "--resource", f"VCPU={CPUS + 1}", "--resource", "MEMORY_MB=999999", COLUMNS="200")
    assert (ended.code, ended.stderr) == (3, "")
    said = ended.stdout.splitlines()
    assert said[0] == f"asked: 999999 MiB of MEMORY_MB, {CPUS + 1} VCPU"
    assert said[1] == f"{host.agent.name}: does not fit"
    assert said[2].startswith("  blocked by max_unit: ")
    assert said[3].startswith("  smallest change: ")
    assert "  also blocked by capacity: " in ended.stdout or "  also blocked by max_unit: " in ended.stdout


def test_why_subtracts_the_existing_allocations(host, rest):
    """Of 60 VCPU, allocations in Placement take 52. `stocktake why` then refuses a request for 9 VCPU and accepts 8."""
    consumers = [rest.allocate({host.agent.provider_uuid: {"VCPU": 16}}) for _ in range(2)]
    try:
        code, document = document_of(host, "--resource", "VCPU=9")
        assert (code, first(document)["constraint"], first(document)["available"]) == (3, "capacity", 8)
        assert host.run("why", "--resource", "VCPU=8").code == 0
    finally:
        for consumer in consumers:
            rest.release(consumer)


def test_why_lists_vcpus_allocated_to_no_instance_here(host, rest):
    """If VCPU are short, `stocktake why` lists allocations in Placement that belong to no instance on this host."""
    stray = rest.allocate({host.agent.provider_uuid: {"VCPU": 16}})
    other = rest.allocate({host.agent.provider_uuid: {"VCPU": 16}})
    try:
        code, document = document_of(host, "--resource", "VCPU=9")
        ended = host.run_apart("why", "--resource", "VCPU=9", COLUMNS="500")
    finally:
        rest.release(stray)
        rest.release(other)
    held = document["host"]["findings"]
    assert (code, [(one["code"], one["amount"], one["findings"], one["healable"]) for one in held]) == (
        3,
        [
            ("allocation-leaked", 4, 1, True),
            ("allocation-stale-move", 8, 1, True),
            ("consumer-unknown", 32, 2, False),
            ("guest-unknown", 2, 1, False),
        ],
    )
    (line,) = [line for line in ended.stdout.splitlines() if "that belongs to no instance of this host: " in line]
    assert line.startswith(
        "  on this host, Placement counts VCPU that belongs to no instance of this host: "
        "allocation-leaked 4 (stocktake heal"
    )
    assert line.endswith("; see stocktake explain VCPU")
    # Findings do not matter if the request exceeds max_unit.
    assert document_of(host, "--resource", f"VCPU={CPUS + 1}")[1]["host"]["findings"] == []


def test_why_understands_several_request_groups(host):
    """`stocktake why --query` takes a query of Placement with numbered groups, and applies its group_policy."""
    query = "resources=VCPU:1&resources1=VCPU:1&resources2=VCPU:1&group_policy=isolate&root_required=COMPUTE_NODE"
    code, document = document_of(host, "--query", query)
    assert (code, first(document)["constraint"]) == (3, "group-policy")
    assert document["request"]["group_policy"] == "isolate"
    assert host.run("why", "--query", query.replace("isolate", "none")).code == 0


def test_why_can_use_the_flavor_of_an_instance(host):
    """`stocktake why --flavor-of UUID` requests the flavor of this instance.

    --resource replaces an amount of the flavor.
    """
    code, document = document_of(host, "--flavor-of", host.evacuated)
    assert (code, document["request"]["groups"][0]["resources"]) == (0, {"VCPU": 8, "MEMORY_MB": 2048})
    assert host.run("why", "--flavor-of", host.evacuated, "--resource", "VCPU=99").code == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--resource", "VCPUS=1"), "unknown resource class VCPUS: did you mean VCPU?"),
        (("--resource", "CUSTOM_NOBODYS=1"), "unknown resource class CUSTOM_NOBODYS"),
        (("--resource", "VCPU=1", "--required", "HW_CPU_X86_VMXX"), "VMXX: did you mean HW_CPU_X86_VMX?"),
        (("--resource", "VCPU=1", "--forbidden", "CUSTOM_OWNER_STOCKTAK"), "did you mean CUSTOM_OWNER_STOCKTAKE?"),
        (("--resource", "VCPU=0"), "VCPU=0: the amount must be between 1 and 2147483647"),
        (("--resource", "VCPU=1", "--member-of", "99999999-0000-4000-8000-000000000000"), "unknown aggregate 99999999"),
        (("--resource", "VCPU=1", "--in-tree", "99999999-0000-4000-8000-000000000000"), "unknown provider 99999999"),
        (("--flavor-of", "99999999-0000-4000-8000-000000000000"), "is not on this host, and has no migration"),
        (("--query", "resources=VCPU:1", "--query", "resources=VCPU:2"), "argument --query: is given twice"),
        (("--resource", "VCPU=1", "--page-size", "2048", "--page-size", "large"), "--page-size: is given twice"),
        (("--resource", "VCPU=1", "--forbidden", "in:COMPUTE_NODE"), 'in:COMPUTE_NODE: leave out the prefix "in:"'),
        (("--resource", "VCPU=1", "--numa-nodes", "0"), "0 is not a number of NUMA cells"),
        (("--resource", "VCPU=1", "--page-size", "huge"), "huge is not a page size"),
        ((), "nothing is asked for"),
    ],
)  # fmt: skip
def test_why_exits_127_for_invalid_arguments(host, arguments, said):
    """`stocktake why` prints an error, for example for an unknown resource class or an option given twice."""
    ended = host.run("why", *arguments)
    assert (ended.code, ended.stdout) == (127, "")
    assert said in ended.stderr


def test_why_suggests_a_provider_for_a_mistyped_uuid(host, rest):
    """If the uuid in --in-tree has a wrong digit, `stocktake why` exits with 127 and suggests the nearest provider."""
    uuid = rest.make_provider("the-near-one")
    nearly = uuid[:-1] + ("0" if uuid[-1] != "0" else "1")
    ended = host.run("why", "--resource", "VCPU=1", "--in-tree", nearly)
    assert (ended.code, f"did you mean {uuid} (the-near-one)?" in ended.stderr) == (127, True)
    assert host.run("why", "--resource", "VCPU=1", "--in-tree", uuid).code == 3
    assert host.run("why", "--resource", "VCPU=1", "--in-tree", uuid[:8]).code == 3
    assert host.run("why", "--resource", "VCPU=1", "--in-tree", "00000000").code == 127


def test_why_exits_3_for_a_host_outside_the_aggregate(host, rest):
    """`stocktake why --member-of AGGREGATE` refuses a host that is not in the requested aggregate."""
    aggregate = new_uuid()
    rest.set_aggregates(rest.make_provider(), aggregate)
    code, document = document_of(host, "--resource", "VCPU=1", "--member-of", aggregate)
    assert (code, first(document)["constraint"]) == (3, "member-of")
    assert host.run("why", "--resource", "VCPU=1", "--member-of", f"!{aggregate}").code == 0


def test_why_exits_127_for_an_aggregate_without_providers(tmp_path, rest):
    """No provider is in the --member-of aggregate; the error refers to `nova-manage placement sync_aggregates`."""
    own, aggregate = small_host(tmp_path, rest), new_uuid()
    own.run("audit", "--publish")
    rest.set_aggregates(own.agent.provider_uuid, aggregate)
    nearly = aggregate[:-1] + ("0" if aggregate[-1] != "0" else "1")
    said = {typed: own.run("why", "--resource", "VCPU=1", "--member-of", typed) for typed in (nearly, f"!{new_uuid()}")}
    assert [ended.code for ended in said.values()] == [127, 127]
    slip, other = (ended.stderr for ended in said.values())
    assert all("nova-manage placement sync_aggregates" in text for text in (slip, other))
    assert (f"(did you mean {aggregate}?)" in slip, "did you mean" in other) == (True, False)
    assert ("has the same result" in slip, "has the same result" in other) == (False, True)


def test_why_counts_the_inventory_of_a_sharing_provider(tmp_path, rest):
    """The host itself has no IPV4_ADDRESS.

    A sharing provider in the host's aggregate offers it, so the request fits.
    """
    own = small_host(tmp_path, rest)
    own.run("audit", "--publish")
    sharing, aggregate = rest.make_provider(), new_uuid()
    rest.set_traits(sharing, "MISC_SHARES_VIA_AGGREGATE")
    assert own.run("why", "--resource", "VCPU=1", "--resource", "IPV4_ADDRESS=1").code == 3
    rest.set_inventories(sharing, {"IPV4_ADDRESS": {"total": 100, "max_unit": 50}})
    for uuid in (sharing, own.agent.provider_uuid):
        rest.set_aggregates(uuid, aggregate)
    assert own.run("why", "--resource", "VCPU=1", "--resource", "IPV4_ADDRESS=50").code == 0
    code, document = document_of(own, "--resource", "VCPU=1", "--resource", "IPV4_ADDRESS=51")
    assert (code, first(document)["constraint"], first(document)["provider_uuid"]) == (3, "max-unit", sharing)


def test_a_host_without_numa_cells_refuses_numa_requests(host):
    """The host has no NUMA cells.

    `stocktake why --numa-nodes 1` exits with 3; a request without NUMA is not refused.
    """
    code, document = document_of(host, "--resource", "VCPU=1", "--numa-nodes", "1")
    assert (code, document["tree"]["fits"], document["fits"]) == (3, True, False)
    assert [obstacle["constraint"] for obstacle in document["host"]["obstacles"]] == ["numa-cell"]
    assert document_of(host, "--resource", "VCPU=1")[1]["host"]["obstacles"] == []


def test_numa_cells_are_checked_only_on_this_host(host, rest):
    """`stocktake why --everywhere` knows the NUMA cells of this host only. It refuses no other host for NUMA."""
    wanted = ("--resource", "VCPU=1", "--numa-nodes", "1", "--everywhere")
    rest.set_inventories(rest.make_provider(), {"VCPU": {"total": 1}})
    code, document = document_of(host, *wanted)
    cloud = document["cloud"]
    offers = offered(rest, "resources=VCPU:1")
    assert host.agent.provider_uuid in offers
    assert (code, cloud["fits"], cloud["refused"]["numa-cell"]) == (0, len(offers) - 1, 1)
    assert (document["request"]["numa_nodes"], document["tree"]["refused_by_host"]) == (1, True)
    said = host.run("why", *wanted).stdout
    assert f"in the whole cloud, the request fits in {len(offers) - 1} of " in said
    assert (
        f"  1 tree refused by the check numa-cell on this host, although Placement offers the tree: {host.agent.name}"
        in said
    )


def test_why_exits_3_if_the_only_host_lacks_numa_cells(host):
    """`stocktake why` exits with 3 if --in-tree allows only this host and the host lacks NUMA cells."""
    code, document = document_of(
        host, "--resource", "VCPU=1", "--numa-nodes", "1", "--everywhere", "--in-tree", host.agent.provider_uuid
    )
    assert (code, document["fits"], document["cloud"]["fits"]) == (3, False, 0)


def test_why_exits_75_if_the_provider_uuid_is_unknown(tmp_path, rest):
    """Nova's database is down and the file compute_id is missing. The agent cannot tell which provider is this host."""
    own = small_host(tmp_path, rest)
    own.run("audit", "--publish")
    own.agent.configure({"state": {"connection": f"sqlite:///{tmp_path}/nowhere/cell.sqlite"}})
    assert own.run("why", "--resource", "VCPU=1").code == 2
    (tmp_path / "compute_id").unlink()
    ended = own.run("why", "--resource", "VCPU=1")
    assert (ended.code, ended.stdout) == (75, "")
    assert (
        "; write the uuid of this host's resource provider into a compute_id file in [agent] state_dir" in ended.stderr
    )
    assert "; state: " in ended.stderr, "what is to be mended is said"
    code, document = document_of(own, "--resource", "VCPU=1", "--everywhere")
    assert (code, document["tree"]) == (2, None), "the cloud can be asked, and says nothing of this host"
    (tmp_path / "state" / "compute_id").write_text(f"{own.agent.provider_uuid}\n")
    assert own.run("why", "--resource", "VCPU=1").code == 2


def test_why_exits_75_if_the_flavor_cannot_be_read(tmp_path, rest):
    """`stocktake why --flavor-of` needs nova's database, which is down; the error says that the flavor is not known."""
    own = small_host(tmp_path, rest)
    own.agent.configure({"state": {"connection": f"sqlite:///{tmp_path}/nowhere/cell.sqlite"}})
    ended = own.run("why", "--flavor-of", own.evacuated)
    assert (ended.code, ended.stdout, "the flavor is not known" in ended.stderr) == (75, "", True)


def test_why_prints_a_note_for_an_unsupported_extra_spec(tmp_path, rest):
    """The flavor contains trait1:HW_CPU_X86_VMX, for example. `stocktake why` ignores it and prints a note."""
    own = small_host(tmp_path, rest)
    specs = (("resources:VGPU", "x"), ("resources1:VCPU", "2"), ("trait1:HW_CPU_X86_VMX", "required"))
    odd = own.agent.instance("odd", flavor=dataclasses.replace(SMALL, extra_specs=specs), flavor_id=3)
    with own.agent.rows() as connection:
        cell.add_instance(connection, odd)
    _, document = document_of(own, "--flavor-of", odd.uuid)
    (group,) = document["request"]["groups"]
    assert (group["resources"]["VCPU"], "VGPU" in group["resources"], group["required"]) == (2, False, [])
    first_three = [note.split(" ", 3)[2] for note in document["host"]["notes"][:3]]
    assert first_three == ["resources:VGPU=x", "resources1:VCPU:", "trait1:HW_CPU_X86_VMX:"]
    assert "  note: extra spec resources:VGPU=x is not understood" in own.run("why", "--flavor-of", odd.uuid).stdout


def test_why_exits_75_if_placement_is_down(tmp_path, rest):
    """While Placement is down, `stocktake why` prints one error with Placement's address and no answer."""
    own = small_host(tmp_path, rest)
    own.agent.configure({"placement": {"endpoint_override": "http://127.0.0.1:9", "token": TOKEN}})
    ended = own.run("why", "--resource", "VCPU=1")
    assert (ended.code, ended.stdout) == (75, "")
    assert "127.0.0.1:9" in ended.stderr
    assert ended.stderr.count("placement:") == 1, "the source is named once"


def test_why_reports_a_mistyped_class_without_placement(tmp_path, rest):
    """Placement is down; `stocktake why --resource VCPUS=1` still exits with 127 and asks "did you mean VCPU?"."""
    own = small_host(tmp_path, rest)
    own.agent.configure({"placement": {"endpoint_override": "http://127.0.0.1:9"}})
    ended = own.run("why", "--resource", "VCPUS=1")
    assert (ended.code, "did you mean VCPU?" in ended.stderr) == (127, True)


def test_why_cannot_read_a_flavor_without_a_database(tmp_path, rest):
    """With [state] source = none, `stocktake why --flavor-of` exits with 127, because the agent reads no flavors."""
    own = small_host(tmp_path, rest)
    own.agent.configure({"state": {"source": "none"}})
    ended = own.run("why", "--flavor-of", own.evacuated)
    assert (ended.code, "source = none the agent reads no flavors" in ended.stderr) == (127, True)


def test_why_exits_2_if_the_database_is_down(tmp_path, rest):
    """`stocktake why` still answers from Placement, and reports that it could not read nova's database."""
    own = small_host(tmp_path, rest)
    own.run("audit", "--publish")
    own.agent.configure({"state": {"connection": f"sqlite:///{tmp_path}/nowhere/cell.sqlite"}})
    code, document = document_of(own, "--resource", "VCPU=1")
    assert (code, document["fits"], bool(document["unknown"])) == (2, True, True)
    ended = own.run("why", "--resource", "VCPU=1")
    told = [" ".join(text.split()).count("state: ") for text in (ended.stdout, ended.stderr)]
    assert told == [1, 0], "each unread source is said once"


def test_the_everywhere_option_agrees_with_placement(host, rest):
    """`stocktake why --everywhere` finds the same fitting hosts as Placement's own GET /allocation_candidates."""
    roomy, aggregate = rest.make_provider(f"roomy-{new_uuid()[:8]}"), new_uuid()
    rest.set_inventories(roomy, {"VCPU": {"total": 4 * CPUS}})
    rest.set_aggregates(roomy, aggregate)
    wanted = f"VCPU={CPUS + 1}"
    ended = host.run_apart("why", "--resource", wanted, "--everywhere", "-f", "json")
    document = ended.document
    fitting = {tree["root_uuid"] for tree in document["cloud"]["answers"] if tree["fits"]}
    assert fitting == offered(rest, f"resources=VCPU:{CPUS + 1}")
    assert roomy in fitting
    assert (ended.code, document["fits"], document["tree"]["fits"], document["cloud"]["unread"]) == (0, True, False, [])
    assert document["cloud"]["trees"] == len(rest.done("GET", "/resource_providers")["resource_providers"])
    assert "reading all providers of Placement: " in ended.stderr
    said = host.run("why", "--resource", wanted, "--everywhere", "--forbidden", "CUSTOM_OWNER_STOCKTAKE").stdout
    assert "refused by the constraint max-unit" in said
    assert f"{host.agent.name}: does not fit" in said


def test_why_sends_two_more_requests_than_an_audit(host, rest):
    """Beyond the requests of an audit, `stocktake why` asks Placement only for the resource classes and the traits."""
    with rest.watched() as seen:
        host.run("audit")
    with rest.watched() as asked:
        ended = host.run("why", "--resource", "VCPU=1", "--required", "COMPUTE_NODE", "-f", "json")
    assert ended.code == 0
    names = [line for line in asked if line.split()[1] in ("/resource_classes", "/traits")]
    assert len(names) == 2
    # The host has no aggregate, so no provider can share with it and the agent asks for none. One host in a hundred
    # is due to ask the server for its versions again, which the agent has already done for the names.
    again = asked.count(ROOT) - seen.count(ROOT)
    assert again in (0, 1)
    assert len(asked) == len(seen) + 2 + again == ended.document["placement"]["requests"]


def test_the_everywhere_option_exits_75_without_placement(tmp_path, rest):
    """If Placement is down, `stocktake why --everywhere` exits with 75 and prints nothing to stdout."""
    own = small_host(tmp_path, rest)
    own.agent.configure({"placement": {"endpoint_override": "http://127.0.0.1:9"}})
    ended = own.run("why", "--resource", "VCPU=1", "--everywhere")
    assert (ended.code, ended.stdout) == (75, "")


def test_a_numa_request_fits_if_the_numa_cells_are_unknown(tmp_path, rest):
    """While libvirt is down, `stocktake why` says that a NUMA request fits and that the NUMA cells are unknown."""
    own = small_host(tmp_path, rest)
    own.run("audit", "--publish")
    own.agent.configure({"libvirt": {"connection_uri": f"test://{tmp_path}/nowhere.xml"}})
    code, document = document_of(own, "--resource", "VCPU=1", "--numa-nodes", "1")
    assert (code, document["fits"], document["host"]["cells"], document["host"]["obstacles"]) == (2, True, None, [])
    assert any("NUMA" in line for line in document["unknown"])


def test_why_accepts_a_disabled_host(tmp_path, rest):
    """A host with the trait COMPUTE_STATUS_DISABLED still fits, unless the request forbids that trait."""
    own, disabled = small_host(tmp_path, rest), "COMPUTE_STATUS_DISABLED"
    own.run("audit", "--publish")
    rest.set_traits(own.agent.provider_uuid, *rest.traits(own.agent.provider_uuid), disabled)
    code, document = document_of(own, "--resource", "VCPU=1")
    assert (code, [disabled in note for note in document["host"]["notes"]][:1]) == (0, [True])
    code, document = document_of(own, "--query", f"resources=VCPU:1&root_required=!{disabled}")
    assert (code, first(document)["constraint"]) == (3, "root-trait")
    assert not any(disabled in note for note in document["host"]["notes"])
