"""The answer to "No valid host" as text for people and as a document for programs, in the engine's sentences."""

import dataclasses
import json

import pytest

from agent.cmd.why_run import code_of
from agent.model.placement import Inventory, Provider
from agent.model.resource_request import OfferedProvider, OfferedProviders, RequestGroup, ResourceRequest
from agent.why.answer import why
from agent.why.json import document
from agent.why.model import Answer, Constraint, Obstacle, TreeAnswer
from agent.why.report import CellRoom, HoldingFinding, WhyReport
from agent.why.text import lines, request_text

WIDE = 200


def offered(number, **changes):
    inventory = Inventory(resource_class="VCPU", total=48, max_unit=48, allocation_ratio=4.0)
    uuid = f"00000000-0000-4000-8000-{number:012d}"
    provider = Provider(
        uuid=uuid, name=f"host-{number}", parent_uuid=None, generation=1,
        inventories=(dataclasses.replace(inventory, **changes),),
    )  # fmt: skip
    return OfferedProvider(provider=provider, root_uuid=uuid, used=(("VCPU", 8),))


SIXTY_FOUR = ResourceRequest(groups=(RequestGroup(resources=(("VCPU", 64),)),))


def asked(*providers, **changes):
    answer = why(SIXTY_FOUR, OfferedProviders(providers=providers, is_whole=True))
    return WhyReport(
        node="host-1", provider_uuid=providers[0].provider.uuid if providers else None, answer=answer, **changes
    )


def test_why_prints_the_refusal_and_the_smallest_change():
    """`stocktake why` prints what refuses a request for 64 VCPU, and the smallest change that would help."""
    assert lines(asked(offered(1)), WIDE) == (
        "asked: 64 VCPU",
        "host-1: does not fit",
        "  blocked by max_unit: requested 64 VCPU, host-1 allows at most 48 in one request",
        "  smallest change: ask for at most 48 VCPU in one request"
        " (max_unit is the number of CPUs; a higher ratio does not raise it)",
    )


def test_the_output_of_why_is_wrapped_to_the_terminal_width():
    text = lines(asked(offered(1), notes=("word " * 60,)), 80)
    assert max(map(len, text)) <= 80
    assert any(line.startswith("      word") for line in text)


def test_why_prints_every_reason_note_and_unread_source():
    """`stocktake why` prints each reason of a refusal, each note, and each source that could not be read."""
    # 256 x 4 capacity, all but 60 reserved: one request may ask for the amount, but the room does not exist.
    report = asked(
        offered(1, max_unit=32, reserved=40),
        notes=("the largest free NUMA cell is 0",),
        unknown=("state: timed out",),
    )
    obstacle = Obstacle(constraint=Constraint.NUMA_CELL, words="no cell", change="ask for less")
    report = dataclasses.replace(report, answer=dataclasses.replace(report.answer, host_obstacles=(obstacle,)))
    text = lines(report, WIDE)
    assert text[2].startswith("  blocked by max_unit: ")
    assert text[4].startswith("  also blocked by capacity: ")
    assert "  an obstacle on this host that Placement does not see (numa-cell): no cell" in text
    assert text[-2:] == ("  note: the largest free NUMA cell is 0", "not read: state: timed out")


def test_why_counts_the_trees_that_each_limit_refuses():
    """`stocktake why` prints how many provider trees each limit refuses, such as 8 for max_unit and 1 for capacity."""
    many = [offered(number) for number in range(1, 9)]
    short = offered(9, total=128, max_unit=128, reserved=126)
    text = lines(asked(*many, short, offered(10, total=96, max_unit=96), is_whole=True), WIDE)
    told = text[text.index("") + 1 :]
    assert told[0] == "in the whole cloud, the request fits in 1 of 10 provider trees: host-10"
    assert told[1] == "  8 trees refused by the constraint max-unit: host-1, host-2, host-3 and 5 more"
    assert told[2] == "  1 tree refused by the constraint capacity: host-9"
    assert told[3] == "provider trees that come closest to fitting the request (5 of 9):"
    assert len(told) == 4 + 2 * 5


def test_why_exits_with_2_if_only_an_unread_host_may_fit():
    """`stocktake why` exits with 2 if the request fits on no host that was read and some hosts were not read."""
    report = asked(offered(1), is_whole=True, unread=("host-7", "host-8"))
    assert "  2 trees were not read, so each may fit or not: host-7, host-8" in lines(report, WIDE)
    assert (report.fits, code_of(report)) == (False, 2)
    assert code_of(asked(offered(1), offered(2, total=96, max_unit=96), is_whole=True, unread=("host-7",))) == 0


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (asked(offered(1, total=96, max_unit=96)), 0),
        (asked(offered(1)), 3),
        (asked(offered(1), offered(2, total=96, max_unit=96)), 3),
        (asked(offered(1), offered(2, total=96, max_unit=96), is_whole=True), 0),
        (asked(offered(1, total=96, max_unit=96), unknown=("libvirt: down",)), 2),
        (asked(), 3),
    ],
)
def test_the_exit_code_of_why_shows_if_the_request_fits(report, code):
    """`stocktake why` exits with 0 if the request fits, with 3 if it does not, and with 2 if a source was not read."""
    assert code_of(report) == code


def refused_here(report):
    obstacle = Obstacle(constraint=Constraint.NUMA_CELL, words="no cell", change="ask for less")
    return dataclasses.replace(report, answer=dataclasses.replace(report.answer, host_obstacles=(obstacle,)))


@pytest.mark.parametrize(
    ("others", "is_whole", "code"),
    [((), False, 3), ((), True, 3), ((offered(2, total=96, max_unit=96),), True, 0)],
)
def test_why_says_that_this_host_refuses_the_request(others, is_whole, code):
    """`stocktake why` says that Placement offers this host, but that the host refuses the request."""
    report = refused_here(asked(offered(1, total=96, max_unit=96), *others, is_whole=is_whole))
    assert (report.fits, code_of(report)) == (code == 0, code)
    assert lines(report, WIDE)[1] == "host-1: Placement offers it, but this host refuses it"


def test_a_host_that_refuses_a_request_is_not_counted_as_fitting():
    """`stocktake why` does not count a host that Placement offers if the host itself refuses the request."""
    roomy = (offered(1, total=96, max_unit=96), offered(2, total=96, max_unit=96), offered(3))
    report = refused_here(asked(*roomy, is_whole=True))
    text = lines(report, WIDE)
    assert "in the whole cloud, the request fits in 1 of 3 provider trees: host-2" in text
    assert "  1 tree refused by the check numa-cell on this host, although Placement offers the tree: host-1" in text
    found = document(report)
    assert (found["fits"], found["cloud"]["fits"]) == (True, 1)
    assert found["cloud"]["refused"] == {"numa-cell": 1, "max-unit": 1}
    told = {tree["root_name"]: (tree["fits"], tree["refused_by_host"]) for tree in found["cloud"]["answers"]}
    assert told == {"host-1": (True, True), "host-2": (True, False), "host-3": (False, False)}
    assert found["tree"]["refused_by_host"] is True


@pytest.mark.parametrize(
    ("cells", "page", "said"),
    [
        (2, None, "; in 2 NUMA cells"),
        (1, 2048, "; in 1 NUMA cell, on pages of 2048 KiB"),
        (None, "large", "; on large pages"),
        (None, None, ""),
    ],
)
def test_numa_cells_and_page_size_of_a_request_are_printed(cells, page, said):
    """`stocktake why` prints a request as `64 VCPU; in 1 NUMA cell, on pages of 2048 KiB`."""
    report = asked(offered(1), numa_nodes=cells, page_size=page)
    assert lines(report, WIDE)[0] == f"asked: 64 VCPU{said}"
    request = document(report)["request"]
    assert (request["numa_nodes"], request["page_size"]) == (cells, page)


def test_why_prints_findings_about_lost_capacity():
    """`stocktake why` prints findings about lost capacity, such as `allocation-leaked 80 GiB`."""
    leak = HoldingFinding(
        code="allocation-leaked", resource_class="DISK_GB", amount=80, findings=2, confirmed=True, healable=True
    )
    news = dataclasses.replace(leak, code="allocation-stale-move", amount=1, confirmed=False)
    volume = dataclasses.replace(leak, code="volume-foreign", amount=120, findings=1, healable=False)
    report = asked(offered(1), holding=(leak, news, volume))
    assert lines(report, WIDE + 60)[4] == (
        "  on this host, Placement counts DISK_GB that belongs to no instance of this host: "
        "allocation-leaked 80 GiB (stocktake heal), allocation-stale-move 1 GiB (stocktake heal, not confirmed yet), "
        "volume-foreign 120 GiB; see stocktake explain DISK_GB"
    )
    assert document(report)["host"]["findings"][0] == {
        "code": "allocation-leaked", "resource_class": "DISK_GB", "amount": 80, "unit": "GiB", "findings": 2,
        "confirmed": True, "healable": True,
    }  # fmt: skip
    assert document(asked(offered(1)))["host"]["findings"] == []


def test_why_cannot_decide_without_a_provider_of_the_host():
    """`stocktake why` says that it is not known whether the request fits if Placement has no provider of the host."""
    report = WhyReport(node="host-1", provider_uuid="x", answer=why(SIXTY_FOUR, OfferedProviders(providers=())))
    said = lines(report, WIDE)
    assert "host-1: not known whether the request fits, because Placement has no provider of this host" in said
    assert document(report)["tree"] is None


def test_why_exits_with_2_if_its_search_gave_up():
    """`stocktake why` exits with 2 and prints "not decided" if there are too many combinations to search."""
    undecided = Obstacle(constraint=Constraint.UNDECIDED, words="too many ways", change="")
    answer = Answer(request=SIXTY_FOUR, trees=(TreeAnswer(root_uuid="u", root_name="host-1", obstacles=(undecided,)),))
    report = WhyReport(node="host-1", provider_uuid="u", answer=answer)
    assert (report.fits, code_of(report)) == (False, 2)
    assert lines(report, WIDE)[1:] == ("host-1: not decided", "  undecided: too many ways")


def test_the_json_of_why_contains_request_and_reasons():
    """The JSON output of `stocktake why` contains the request, the reasons of the refusal and the advice."""
    cells = (
        CellRoom(
            id=0,
            cpus=4,
            cpus_free=9,
            pinnable=3,
            memory_mib=100,
            memory_free_mib=99,
            memory_pinned_mib=98,
            pages=((2048, 7),),
        ),
    )
    found = json.loads(json.dumps(document(asked(offered(1), cells=cells, requests=9, is_whole=True))))
    obstacle = found["tree"]["obstacles"][0]
    uuid = "00000000-0000-4000-8000-000000000001"
    assert (obstacle["constraint"], obstacle["wanted"], obstacle["available"]) == ("max-unit", 64, 48)
    assert obstacle["remedies"] == [
        {"kind": "ask", "provider_uuid": None, "resource_class": "VCPU", "number": 48, "name": None}
    ]
    assert found["host"]["cells"][0]["pages"] == [{"size_kib": 2048, "free": 7}]
    assert {key: found["cloud"][key] for key in ("trees", "fits", "undecided", "refused", "unread")} == {
        "trees": 1, "fits": 0, "undecided": 0, "refused": {"max-unit": 1}, "unread": [],
    }  # fmt: skip
    assert found["request"] == {
        "groups": [
            {
                "suffix": "", "resources": {"VCPU": 64}, "required": [], "forbidden": [], "member_of": [],
                "forbidden_aggregates": [], "in_tree": None,
            }
        ],
        "group_policy": None, "root_required": [], "root_forbidden": [], "same_subtree": [],
        "numa_nodes": None, "page_size": None,
    }  # fmt: skip
    assert (found["schema_version"], found["provider_uuid"], found["placement"]) == (1, uuid, {"requests": 9})


def test_why_prints_warnings_about_a_request_that_fits():
    """`stocktake why` prints warnings even if the request fits, for example about rounding in MariaDB."""
    fits = asked(offered(1, total=96, max_unit=96))
    tree = dataclasses.replace(fits.answer.trees[0], caveats=("MariaDB rounds",))
    report = dataclasses.replace(fits, answer=dataclasses.replace(fits.answer, trees=(tree,)))
    assert lines(report, WIDE)[1:] == ("host-1: fits: Placement offers it", "  but: MariaDB rounds")
    assert document(report)["tree"]["caveats"] == ["MariaDB rounds"]


def test_a_request_is_printed_with_every_part():
    """`stocktake why` prints the amounts, traits, aggregates, groups and group policy of a request in one sentence."""
    request = ResourceRequest(
        groups=(
            RequestGroup(
                resources=(("MEMORY_MB", 64), ("VCPU", 1)),
                required=(frozenset({"A"}), frozenset({"B", "C"})),
                forbidden=frozenset({"D"}),
            ),
            RequestGroup(suffix="1", resources=(("VGPU", 1),), member_of=(frozenset({"u1", "u2"}),)),
        ),
        group_policy="isolate",
        root_required=frozenset({"R"}),
        same_subtree=(frozenset({"1", "_x"}),),
    )
    assert request_text(request) == (
        "64 MiB of MEMORY_MB, 1 VCPU with A and B or C without D; group 1: 1 VGPU in aggregate u1 or u2; "
        "groups on different providers; the root with R; groups 1, _x in the same subtree"
    )
