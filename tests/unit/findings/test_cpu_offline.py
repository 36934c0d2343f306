"""cpu-offline: scenarios 77 and 79; only the CPU classes stay unpublished."""

from __future__ import annotations

import dataclasses

from agent.model.finding import Severity
from agent.model.host.facts import Cpu
from tests.rigs.facts import decided, findings, host, inventory, root, settings, snapshot, view, wanted_root

CODE = "cpu-offline"
HALF = dataclasses.replace(host(), cpus=tuple(Cpu(id=number, online=number < 2) for number in range(4)))
WORLD = snapshot(libvirt=HALF, placement=view(provider=root(inventory("VCPU", 3, allocation_ratio=4.0))))


def test_s77_the_finding_shows_the_option_and_the_offline_cpu():
    """If [compute] cpu_shared_set lists CPU 2 and the CPU is offline, the finding shows the option and the CPU."""
    (found,) = findings(WORLD, CODE, settings(cpu_shared_set=(0, 1, 2)))
    assert found.severity is Severity.ERROR
    assert found.expected == "all CPUs of [compute] cpu_shared_set are online"
    assert found.actual == (
        "[compute] cpu_shared_set lists CPUs that are not online: 2; the agent leaves VCPU and PCPU unchanged"
    )
    assert "chcpu -e 2" in found.remedy


def test_s79_a_nonexistent_cpu_is_reported_with_advice():
    """If [compute] cpu_dedicated_set lists CPU 7 on a host with CPUs 0-1, the finding advises to take CPU 7 out."""
    (found,) = findings(snapshot(libvirt=host(cpus=2)), CODE, settings(cpu_dedicated_set=(1, 7)))
    assert found.actual == (
        "[compute] cpu_dedicated_set lists CPUs that are not on this host: 7 (this host has CPUs 0-1); "
        "the agent leaves VCPU and PCPU unchanged"
    )
    assert "; take CPUs 7 out of [compute] cpu_dedicated_set; " in found.remedy
    assert "chcpu" not in found.remedy
    assert found.facts == (("option", "[compute] cpu_dedicated_set"), ("offline", ""), ("absent", "7"))


def test_offline_and_nonexistent_cpus_are_listed_separately():
    """If cpu_shared_set lists offline and nonexistent CPUs, the finding gives separate advice for each kind."""
    (found,) = findings(WORLD, CODE, settings(cpu_shared_set=(0, 2, 3, 9)))
    assert found.actual.startswith(
        "[compute] cpu_shared_set lists CPUs that are not online: 2-3, and CPUs that are not on this host: 9 (this "
        "host has CPUs 0-3);"
    )
    assert "take CPUs 9 out of" in found.remedy
    assert "chcpu -e 2-3;" in found.remedy


def test_cpu_power_management_does_not_hide_a_nonexistent_cpu():
    """With cpu_power_management, offline CPUs are normal; a CPU that does not exist is still reported."""
    (found,) = findings(WORLD, CODE, settings(cpu_dedicated_set=(2, 9), cpu_power_management=True))
    assert dict(found.facts)["absent"] == "9"
    assert "chcpu" not in found.remedy


def test_s77_an_offline_cpu_stops_updates_of_vcpu_and_pcpu():
    """While a configured CPU is offline, the agent leaves VCPU and PCPU in Placement as they are."""
    wanted = wanted_root(decided(WORLD, settings(cpu_shared_set=(0, 1, 2))))
    assert [i.resource_class for i in wanted.inventories] == ["DISK_GB", "MEMORY_MB"]
    assert {f.name for f in wanted.frozen} == {"VCPU", "PCPU"}


def test_s79_each_cpu_set_with_an_offline_cpu_has_a_finding():
    """Offline CPUs in cpu_shared_set and in cpu_dedicated_set are reported as two findings."""
    found = findings(WORLD, CODE, settings(cpu_shared_set=(0, 3), cpu_dedicated_set=(1, 2)))
    assert {(f.subject, dict(f.facts)["offline"]) for f in found} == {
        ("[compute] cpu_dedicated_set", "2"),
        ("[compute] cpu_shared_set", "3"),
    }


def test_s78_power_managed_offline_cpus_cause_no_finding():
    """With cpu_power_management, nova switches dedicated CPUs off itself, so an offline CPU is not reported."""
    assert findings(WORLD, CODE, settings(cpu_dedicated_set=(2, 3), cpu_power_management=True)) == ()


def test_online_or_unread_cpus_cause_no_finding():
    """No CPU is reported if all configured CPUs are online or if libvirt could not be read."""
    assert findings(WORLD, CODE, settings(cpu_shared_set=(0, 1))) == ()
    assert findings(snapshot(lost=("libvirt",)), CODE, settings(cpu_shared_set=(0, 9))) == ()
