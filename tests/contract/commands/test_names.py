"""Consumers, classes and findings by the names and the beginnings of ids that people know."""

from __future__ import annotations

import pytest

from agent.demo import cell
from tests.rigs.commands import SmallHost, small_host
from tests.rigs.placement import Rest, running


@pytest.fixture(scope="module")
def rest(tmp_path_factory) -> Rest:
    with running(tmp_path_factory.mktemp("placement")) as server:
        yield server


@pytest.fixture(scope="module")
def host(tmp_path_factory, rest: Rest) -> SmallHost:
    return small_host(tmp_path_factory.mktemp("host"), rest)


def spellings(host: SmallHost) -> list[str]:
    """Return the ways to write the first running instance, whose guest has the same name in libvirt."""
    uuid = host.running[0]
    return [uuid, uuid.upper(), uuid[:8], uuid[:13], f"web-1-{host.agent.name}"]


def test_an_instance_is_found_by_name_or_start_of_its_uuid(host):
    """The commands explain, ledger and why also accept an instance's name or the first 8 characters of its UUID."""
    for who in spellings(host):
        assert host.json("explain", who)[1]["consumer"] == host.running[0]
        rows = host.json("ledger", "--consumer", who)[1]
        assert {row["consumer_uuid"] for row in rows} == {host.running[0]}
    by_uuid, *others = [host.json("why", "--flavor-of", who) for who in (spellings(host)[0], *spellings(host)[2:])]
    assert [(code, document["request"]) for code, document in others] == [(by_uuid[0], by_uuid[1]["request"])] * 3


def test_a_guest_unknown_to_nova_is_found_by_its_domain_name(host):
    """A domain exists in libvirt but not in nova. `stocktake explain NAME` finds it by the name in libvirt."""
    assert host.json("explain", "by-hand")[1]["consumer"] == host.stranger


def test_explain_finds_an_evacuated_instance_by_its_name(host):
    """An instance was evacuated to another host. `stocktake explain NAME` on the old host still finds it."""
    assert host.json("explain", f"moved-{host.agent.name}")[1]["consumer"] == host.evacuated


def test_a_resource_class_may_be_written_in_lower_case(host):
    """The commands explain, ledger and why accept "vcpu" or "memory_mb" for VCPU or MEMORY_MB."""
    assert host.json("explain", "memory_mb")[1]["resource_class"] == "MEMORY_MB"
    assert {row["resource_class"] for row in host.json("ledger", "--resource-class", "vcpu")[1]} == {"VCPU"}
    assert host.run("why", "--resource", "vcpu=1", "--forbidden", "hw_cpu_x86_avx512f").code == 0


def test_explain_accepts_the_first_8_characters_of_a_finding_id(host):
    findings = host.json("audit")[1]["findings"]
    finding = next(each for each in findings if each["code"] == "allocation-stale-move")
    document = host.json("explain", finding["id"][:8])[1]
    assert (document["subject"], [each["id"] for each in document["findings"]]) == ("finding", [finding["id"]])


@pytest.mark.parametrize("command", [("explain",), ("ledger", "--consumer"), ("why", "--flavor-of")])
def test_a_command_exits_127_for_an_ambiguous_name(tmp_path, rest, command):
    """If two instances have the same name, a command such as `stocktake explain` exits with 127."""
    own = small_host(tmp_path, rest)
    with own.agent.rows() as connection:
        for uuid in (own.running[0], own.evacuated):
            cell.set_columns(connection, "instances", {"uuid": uuid}, display_name="billing")
    ended = own.run(*command, "billing")
    assert (ended.code, ended.stdout) == (127, "")
    both = ", ".join(sorted((own.running[0], own.evacuated)))
    assert ended.stderr == f"stocktake: several consumers match billing: {both}\n"


def test_explain_suggests_similar_names_for_an_unknown_name(host):
    """`stocktake explain web-l` exits with 127 and prints up to three existing names, such as web-1."""
    ended = host.run("explain", f"web-l-{host.agent.name}")
    assert ended.code == 127
    near = ended.stderr.partition("; nearest: ")[2].strip().split(", ")
    assert (f"web-1-{host.agent.name}" in near, len(near) <= 3) == (True, True)


def test_heal_exits_127_for_an_unknown_or_short_finding_id(host):
    """`stocktake heal` rejects the id if no finding has it or if it has fewer than 8 characters."""
    assert host.run("heal", "--finding", "00000000").code == 127
    short = host.run("heal", "--finding", host.json("audit")[1]["findings"][0]["id"][:5])
    assert (short.code, "needs at least 8 characters" in short.stderr) == (127, True)
    assert host.run("heal", "--plan", "4d1b0c9", "--yes").code == 127
