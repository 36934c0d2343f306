"""Nova's own code and the agent's on the same entries and devices: matches, offered providers and pools.

Nova reads /sys for the kind of an address; the test answers those reads from the same devices.
"""

from __future__ import annotations

import dataclasses
import json
import random
import subprocess
from typing import Any

import pytest

from agent.config.options.device_spec import parse_device_specs
from agent.config.options.pci import placement_problems
from agent.model.host.device_match import matched
from agent.model.host.device_spec import PciSettings
from agent.model.host.devices import PciDevice, PciKind
from agent.nested.pci_offers import conflicts, offers
from agent.node_record.nova_forms import pci_stats
from agent.node_record.pci_pools import pools
from tests.rigs.nova_env import nova_python
from tests.rigs.pci import device, functions, world

CASES = 600

# Runs inside nova's environment. Prints a list: "refused", or matches, providers ("conflict" if nova raises) and pools.
NOVA_SIDE = """
import json, sys
import nova.conf
from nova import exception, objects
from nova.compute import pci_placement_translator as translator
from nova.pci import stats, utils, whitelist
objects.register_all()
CONF = nova.conf.CONF

def look_at(devices):
    by_address = {d["address"]: d for d in devices}
    by_name = {d["interface"]: d for d in devices if d["interface"]}
    def is_pf(domain, bus, slot, function):
        found = by_address.get("%s:%s:%s.%s" % (domain, bus, slot, function))
        return bool(found) and found["dev_type"] == "type-PF"
    utils.is_physical_function = is_pf
    utils.get_function_by_ifname = lambda name: (
        (by_name[name]["address"], by_name[name]["dev_type"] == "type-PF") if name in by_name else (None, False))
    utils.get_vf_product_id_by_pf_addr = lambda address: "1515"
    utils.get_pci_ids_by_pci_addr = lambda address: (
        by_address[address]["vendor_id"], by_address[address]["product_id"])

def made(d):
    extra = {"capabilities": json.dumps({"vpd": {"card_serial_number": d["card_serial"]}})} if d["card_serial"] else {}
    if d["parent_interface"] and d["dev_type"] not in ("type-PF", "type-PCI"):
        extra["parent_ifname"] = d["parent_interface"]
    return objects.PciDevice(address=d["address"], vendor_id=d["vendor_id"], product_id=d["product_id"],
        dev_type=d["dev_type"], numa_node=d["numa_node"], parent_addr=d["parent_addr"], status="available",
        extra_info=extra, instance_uuid=None, compute_node_id=1)

def judged(case):
    CONF.set_override("report_in_placement", case["report"], group="pci")
    look_at(case["devices"])
    try:
        known = whitelist.Whitelist(case["texts"])
        if case["report"]:
            translator.ensure_no_dev_spec_with_devname(known.specs)
    except (exception.NovaException, ValueError, TypeError):
        return "refused"
    matches, usable = {}, []
    for d in case["devices"]:
        plain = dict(d, capabilities={"vpd": {"card_serial_number": d["card_serial"]}})
        try:
            spec = known.device_assignable(plain)
        except exception.PciConfigInvalidSpec:
            continue
        if spec is not None:
            matches[d["address"]] = known.specs.index(spec)
            usable.append(made(d))
    counted = stats.PciDeviceStats(None, dev_filter=known)
    for one in usable:
        counted.add_device(one)
    view = translator.PlacementView("n", [])
    try:
        for one in usable:
            view.process_dev(one, known.get_devspec(one))
        providers = {rp.name[2:]: [rp.resource_class, rp.total, sorted(rp.traits)] for rp in view.rps.values()}
    except exception.PlacementPciException:
        providers = "conflict"
    record = counted.to_device_pools_obj().obj_to_primitive()
    return {"matches": matches, "providers": providers, "pools": unchanged(record)}

def unchanged(value):
    # Nova says with each object which of its fields were set since it was loaded: nothing of the host.
    if isinstance(value, list):
        return [unchanged(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {k: unchanged(v) for k, v in value.items() if k != "nova_object.changes"}

print(json.dumps([judged(case) for case in json.load(sys.stdin)]))
"""

DEVICES = (
    device("0000:81:00.0", numa_node=0),
    device("0000:81:0a.0", numa_node=1),
    device("0001:81:00.1", ids="10de:2236"),
    device("10000:81:00.0"),
    *(
        dataclasses.replace(one, interface="eno1" if one.kind is PciKind.PF else None, parent_interface="eno1")
        for one in functions("0000:82:00.0", 3)
    ),
    *functions("0000:83:00.0", 2),
    device("0000:83:11.0", PciKind.VDPA, "8086:1515", parent_address="0000:83:00.0", card_serial="S1"),
    device("0000:83:11.1", PciKind.VF, "8086:1515", parent_address="0000:83:00.0", card_serial="S1"),
)
FUNCTIONS_ALONE: list[Any] = ["0000:82:00.0", {"domain": "0000", "bus": "83", "slot": "00", "function": "0"}]
ADDRESSES: list[Any] = [
    *("82:00.*", "*:8*:00.0", "0:83:11.1", ":00.", ".0", "*:81:*.*", "81:00.0", "0000:83:10.1", ""),
    *("10000:81:00.0", "81:20.0", "81:00.8", "x:0.0", "a:b:c:d.0", "0x81:00.0", " 81 : 00 . 0 "),
    *({"bus": "8[12]"}, {"bus": "8"}, {"function": "[01]$", "bus": "82|83"}, {"bus": "(?i)0A|81"}, {"slot": "*"}),
    {"domain": "0000", "bus": "83", "slot": "1", "function": "0"},
    *FUNCTIONS_ALONE,
]
TAGS: dict[str, list[Any]] = {
    "resource_class": ["gpu", "PGPU", "custom_x", "A--b", "", None],
    "traits": ["HW_NIC_SRIOV", "a,b c", " blank, x", "custom_t", "hw_nic_sriov", ""],
    "physical_network": ["net1", None],
    "trusted": ["true"],
    "managed": ["yes", False, "maybe"],
    "one_time_use": [True, "false", None],
    "number": [7],
}


def drawn(chance: random.Random) -> dict[str, Any]:
    """Return a random entry of any form; most entries are valid."""
    entry: dict[str, Any] = {}
    if chance.random() < 0.6:
        entry["vendor_id"] = chance.choice(
            ["8086", "10DE", "10de", "*", " 8086", "10de", "xyz", "12345"][: 6 if chance.random() < 0.9 else 8]
        )
    if chance.random() < 0.5:
        entry["product_id"] = chance.choice(["1515", "1563", "1eb8", "*", "0x1515"])
    if chance.random() < 0.5:
        entry["address"] = chance.choice(ADDRESSES)
    elif chance.random() < 0.1:
        entry["devname"] = chance.choice(["eno1", "eno9"])
    for name in chance.sample(sorted(TAGS), chance.choice([0, 0, 1, 2])):
        entry[name] = chance.choice(TAGS[name])
    # Never with an entry that names one physical function: nova then looks for the object's repr in /sys and refuses.
    names_one = entry.get("address") in FUNCTIONS_ALONE or "devname" in entry
    if entry.get("product_id") == "1515" and not names_one and chance.random() < 0.2:
        entry["remote_managed"] = chance.choice(["true", "false"])
    return entry


def case_of(seed: int) -> dict[str, Any]:
    chance = random.Random(seed)
    entries = [drawn(chance) for _ in range(chance.choice([1, 1, 2, 3]))]
    texts = [json.dumps(entries)] if chance.random() < 0.3 else [json.dumps(entry) for entry in entries]
    return {"texts": texts, "report": chance.random() < 0.7, "devices": [asked(one) for one in DEVICES]}


def asked(one: PciDevice) -> dict[str, Any]:
    names = ("address", "vendor_id", "product_id", "numa_node", "interface", "parent_interface", "card_serial")
    return {**{n: getattr(one, n) for n in names}, "dev_type": one.kind.value, "parent_addr": one.parent_address}


@pytest.fixture(scope="module")
def theirs() -> list[Any]:
    done = subprocess.run(
        [str(nova_python()), "-W", "ignore", "-c", NOVA_SIDE],
        input=json.dumps([case_of(seed) for seed in range(CASES)]),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout.splitlines()[-1]))


def ours(case: dict[str, Any]) -> Any:
    try:
        specs = parse_device_specs(case["texts"])
    except ValueError:
        return "refused"
    if placement_problems(PciSettings(specs=specs, report_in_placement=case["report"])):
        return "refused"
    found = offers(DEVICES, specs)
    clash = bool(conflicts(world(*DEVICES).host.value, specs))
    return {
        "matches": {m.device.address: m.position for m in matched(DEVICES, specs)},
        "providers": "conflict"
        if clash
        else {a.upper(): [o.classes[0], len(o.matches), sorted(o.traits)] for a, o in found.items()},
        "pools": pci_stats(pools(DEVICES, specs, frozenset())),
    }


def comparable(answer: Any) -> Any:
    """Return the answer with sorted pools: nova orders its pools by the devices."""
    if answer == "refused":
        return answer
    pools_of = answer["pools"]["nova_object.data"]["objects"]
    ordered = sorted(pools_of, key=lambda pool: json.dumps(pool, sort_keys=True))
    return {**answer, "pools": {**answer["pools"], "nova_object.data": {"objects": ordered}}}


def test_s116_to_s121_the_agent_finds_the_same_devices_as_nova(theirs):
    """For random values of [pci] device_spec, the agent and nova find the same PCI devices and providers."""
    different = []
    for seed, answer in enumerate(theirs):
        case = case_of(seed)
        mine = comparable(ours(case))
        if mine != comparable(answer):
            different.append((seed, case["texts"], case["report"], mine, comparable(answer)))
    assert different == []


def test_the_random_device_specs_are_varied_enough(theirs):
    """The random values of [pci] device_spec in the comparison with nova include invalid and conflicting ones."""
    taken = [answer for answer in theirs if answer != "refused"]
    assert len(theirs) - len(taken) > CASES / 20
    assert sum(answer["providers"] == "conflict" for answer in taken) > CASES / 20
    assert sum(isinstance(answer["providers"], dict) and bool(answer["providers"]) for answer in taken) > CASES / 5
    assert {address for answer in taken for address in answer["matches"]} == {
        one.address for one in DEVICES if one.address != "10000:81:00.0"
    }
