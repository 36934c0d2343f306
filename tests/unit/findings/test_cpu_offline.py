"""cpu-offline: scenarios 77 and 79; only the CPU classes stay unpublished."""

from __future__ import annotations

import dataclasses

from agent.model.finding import Severity
from agent.model.host.facts import Cpu
from tests.rigs.facts import decided, findings, host, inventory, root, settings, snapshot, view, wanted_root

CODE = "cpu-offline"
HALF = dataclasses.replace(host(), cpus=tuple(Cpu(id=number, online=number < 2) for number in range(4)))
WORLD = snapshot(libvirt=HALF, placement=view(provider=root(inventory("VCPU", 3, allocation_ratio=4.0))))


def test_s77_the_finding_names_cpu_shared_set_and_its_offline_cpus():
    (found,) = findings(WORLD, CODE, settings(cpu_shared_set=(0, 1, 2)))
    assert found.severity is Severity.ERROR
    assert found.expected == "all CPUs of [compute] cpu_shared_set are online"
    assert found.actual == (
        "[compute] cpu_shared_set lists CPUs that are not online: 2; the agent leaves VCPU and PCPU unchanged"
    )
    assert "chcpu -e 2" in found.remedy


def test_s79_the_advice_is_to_remove_a_nonexistent_cpu_from_the_cpu_set():
    (found,) = findings(snapshot(libvirt=host(cpus=2)), CODE, settings(cpu_dedicated_set=(1, 7)))
    assert found.actual == (
        "[compute] cpu_dedicated_set lists CPUs that are not on this host: 7 (this host has CPUs 0-1); "
        "the agent leaves VCPU and PCPU unchanged"
    )
    assert "; take CPUs 7 out of [compute] cpu_dedicated_set; " in found.remedy
    assert "chcpu" not in found.remedy
    assert found.facts == (("option", "[compute] cpu_dedicated_set"), ("offline", ""), ("absent", "7"))


def test_a_finding_lists_offline_cpus_separately_from_nonexistent_cpus():
    (found,) = findings(WORLD, CODE, settings(cpu_shared_set=(0, 2, 3, 9)))
    assert found.actual.startswith(
        "[compute] cpu_shared_set lists CPUs that are not online: 2-3, and CPUs that are not on this host: 9 (this "
        "host has CPUs 0-3);"
    )
    assert "take CPUs 9 out of" in found.remedy
    assert "chcpu -e 2-3;" in found.remedy


def test_a_nonexistent_cpu_is_reported_even_if_cpu_power_management_is_on():
    (found,) = findings(WORLD, CODE, settings(cpu_dedicated_set=(2, 9), cpu_power_management=True))
    assert dict(found.facts)["absent"] == "9"
    assert "chcpu" not in found.remedy


def test_s77_an_offline_cpu_stops_the_update_of_vcpu_and_pcpu_inventory():
    wanted = wanted_root(decided(WORLD, settings(cpu_shared_set=(0, 1, 2))))
    assert [i.resource_class for i in wanted.inventories] == ["DISK_GB", "MEMORY_MB"]
    assert {f.name for f in wanted.frozen} == {"VCPU", "PCPU"}


def test_s79_each_cpu_set_with_an_offline_cpu_has_its_own_finding():
    found = findings(WORLD, CODE, settings(cpu_shared_set=(0, 3), cpu_dedicated_set=(1, 2)))
    assert {(f.subject, dict(f.facts)["offline"]) for f in found} == {
        ("[compute] cpu_dedicated_set", "2"),
        ("[compute] cpu_shared_set", "3"),
    }


def test_s78_offline_cpus_cause_no_finding_if_cpu_power_management_is_on():
    assert findings(WORLD, CODE, settings(cpu_dedicated_set=(2, 3), cpu_power_management=True)) == ()


def test_a_cpu_is_reported_only_if_libvirt_says_that_it_is_offline():
    assert findings(WORLD, CODE, settings(cpu_shared_set=(0, 1))) == ()
    assert findings(snapshot(lost=("libvirt",)), CODE, settings(cpu_shared_set=(0, 9))) == ()
