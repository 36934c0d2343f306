"""cpu-offline: scenarios 77 and 79; only the CPU classes stay unpublished."""

from __future__ import annotations

import dataclasses

from agent.model.finding import Severity
from agent.model.host.facts import Cpu
from tests.rigs.facts import decided, findings, host, inventory, root, settings, snapshot, view, wanted_root

CODE = "cpu-offline"
HALF = dataclasses.replace(host(), cpus=tuple(Cpu(id=number, online=number < 2) for number in range(4)))
WORLD = snapshot(libvirt=HALF, placement=view(provider=root(inventory("VCPU", 3, allocation_ratio=4.0))))


def test_s77_it_names_the_option_and_the_cpus():
    (found,) = findings(WORLD, CODE, settings(cpu_shared_set=(0, 1, 2)))
    assert found.severity is Severity.ERROR
    assert found.expected == "all CPUs of [compute] cpu_shared_set are online"
    assert found.actual == "it names CPUs that are not online: 2; VCPU and PCPU stay as Placement has them"
    assert "chcpu -e 2" in found.remedy


def test_s79_a_cpu_that_the_host_does_not_have_is_the_option_s_fault():
    (found,) = findings(snapshot(libvirt=host(cpus=2)), CODE, settings(cpu_dedicated_set=(1, 7)))
    assert found.actual == (
        "it names CPUs that are not on this host: 7 (this host has CPUs 0-1); VCPU and PCPU stay as Placement has them"
    )
    assert found.remedy == "correct [compute] cpu_dedicated_set: take out CPUs 7, and reload the agent (SIGHUP)"
    assert found.facts == (("option", "[compute] cpu_dedicated_set"), ("offline", ""), ("absent", "7"))


def test_one_set_with_both_kinds_is_one_finding():
    (found,) = findings(WORLD, CODE, settings(cpu_shared_set=(0, 2, 3, 9)))
    assert (
        "it names CPUs that are not online: 2-3, and CPUs that are not on this host: 9 (this host has CPUs 0-3);"
        in (found.actual)
    )
    assert "take out CPUs 9," in found.remedy
    assert "chcpu -e 2-3)" in found.remedy


def test_power_management_brings_no_cpu_that_is_not_there():
    (found,) = findings(WORLD, CODE, settings(cpu_dedicated_set=(2, 9), cpu_power_management=True))
    assert dict(found.facts)["absent"] == "9"
    assert "chcpu" not in found.remedy


def test_s77_vcpu_stays_and_everything_else_goes_out():
    wanted = wanted_root(decided(WORLD, settings(cpu_shared_set=(0, 1, 2))))
    assert [i.resource_class for i in wanted.inventories] == ["DISK_GB", "MEMORY_MB"]
    assert {f.resource_class for f in wanted.frozen} == {"VCPU", "PCPU"}


def test_s79_dedicated_cpus_that_are_offline_are_named_each_set_for_itself():
    found = findings(WORLD, CODE, settings(cpu_shared_set=(0, 3), cpu_dedicated_set=(1, 2)))
    assert {(f.subject, dict(f.facts)["offline"]) for f in found} == {
        ("[compute] cpu_dedicated_set", "2"),
        ("[compute] cpu_shared_set", "3"),
    }


def test_s78_with_power_management_dedicated_ones_may_be_offline():
    assert findings(WORLD, CODE, settings(cpu_dedicated_set=(2, 3), cpu_power_management=True)) == ()


def test_it_is_silent_where_all_are_online_and_where_libvirt_was_not_read():
    assert findings(WORLD, CODE, settings(cpu_shared_set=(0, 1))) == ()
    assert findings(snapshot(lost=("libvirt",)), CODE, settings(cpu_shared_set=(0, 9))) == ()
