"""A nova.conf that nova-compute starts with never stops the agent: nova's code and the agent's on the same files.

Nova reads each file with its own options, makes its libvirt driver and runs those checks of its start that need no
hypervisor. Nova's modules read some options only when they need them, which no table of types would show.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import libvirt
import pytest

from agent.config.build import check, notices, settings_from
from agent.config.load import survey
from agent.errors import ConfigError
from tests.rigs.configs import write
from tests.rigs.nova_env import nova_python

# Runs inside nova's environment. Prints for each file null if nova-compute starts, else the error's name.
NOVA_SIDE = """
import json, sys, types
import nova.conf
from nova.pci import whitelist
CONF = nova.conf.CONF

def start(path):
    CONF([], project="nova", version="34", default_config_files=[path], default_config_dirs=[])
    CONF.clear_override("service_down_time")
    from nova import servicegroup
    from nova.compute import resource_tracker
    from nova.network import neutron
    from nova.virt import hardware
    from nova.virt.libvirt import driver, utils
    nova.conf.devices.register_dynamic_opts(CONF)
    servicegroup.API()
    CONF.host, CONF.my_ip, CONF.update_resources_interval
    made = driver.LibvirtDriver(None)
    made._check_cpu_set_configuration()
    made._check_cpu_compatibility()
    if CONF.libvirt.images_type == "rbd":
        assert CONF.force_raw_images
    if CONF.libvirt.swtpm_enabled:
        assert CONF.libvirt.virt_type in ("qemu", "kvm")
    made._host._check_file_backed_memory_support()
    utils.get_default_machine_type("x86_64")
    made._host._supports_intel_tdx = False
    assert made._host.max_intel_tdx_guests == 0
    made.capabilities_as_traits()
    resource_tracker.ResourceTracker("compute-1", made, reportclient=object())
    whitelist.Whitelist(CONF.pci.device_spec)

answers = []
for path in json.load(sys.stdin):
    try:
        start(path)
        answers.append(None)
    except Exception as error:
        answers.append("%s: %s" % (type(error).__name__, error))
print(json.dumps(answers))
"""

OURS = (
    "[agent]\nnova_conf = {nova}\n[state]\nsource = none\n[placement]\nauth_type = none\nendpoint_override = http://x\n"
)
BASE = (
    "[DEFAULT]\nhost = compute-1\nmy_ip = 127.0.0.1\nstate_path = {folder}\n"
    "[compute]\nprovider_config_location = {folder}\n"
)

#: Values that nova-compute accepts without effect, each with a part of the agent's notice.
IGNORED = {
    "an image format that there is not": ("[compute]\nimage_type_exclude_list = raw,ova,docker\n", "'ova'"),
    "an image format in capitals": ("[compute]\nimage_type_exclude_list = RAW\n", "'RAW'"),
    "a CPU named twice": ("[compute]\ncpu_shared_set = 0-1,0\n", "CPU 0 is named twice"),
    "a dedicated CPU named twice": ("[compute]\ncpu_dedicated_set = 0-1,0\n", "CPU 0 is named twice"),
    "a pinned CPU named twice": ("[DEFAULT]\nvcpu_pin_set = 0-1,0\n", "CPU 0 is named twice"),
    "a machine type without its architecture": ("[libvirt]\nhw_machine_type = q35,=pc\n", "'q35' is not ARCH"),
    "an owner of TPM secrets that there is not": (
        "[libvirt]\nsupported_tpm_secret_security = user,barbican\n",
        "'barbican'",
    ),
    "a service_down_time of 0": ("[DEFAULT]\nservice_down_time = 0\n", "service_down_time = 0: must be"),
    "a service_down_time below 0": ("[DEFAULT]\nservice_down_time = -1\n", "service_down_time = -1: must be"),
    "an rpc_response_timeout of 0": ("[DEFAULT]\nrpc_response_timeout = 0\n", "rpc_response_timeout = 0: must be"),
    "an initial ratio of 0 beside a ratio": (
        "[DEFAULT]\ncpu_allocation_ratio = 4.0\ninitial_cpu_allocation_ratio = 0\n",
        "initial_cpu_allocation_ratio = 0",
    ),
    "an initial ratio that is not a number": (
        "[DEFAULT]\ninitial_disk_allocation_ratio = some\n",
        "initial_disk_allocation_ratio = some",
    ),
    "more TDX guests than Placement can count": (
        "[libvirt]\nnum_intel_tdx_guests = 9999999999\n",
        "at most 2147483647",
    ),
    "TDX guests that are no number": ("[libvirt]\nnum_intel_tdx_guests = many\n", "num_intel_tdx_guests = many"),
    "raw images, perhaps, on files": ("[DEFAULT]\nforce_raw_images = perhaps\n", "force_raw_images = perhaps"),
    "a database that nova-compute has not": ("[database]\nconnection = mysql://$nobody\n", "[database] connection"),
    "a key of huge pages that there is not": (
        "[DEFAULT]\nreserved_huge_pages = node:0,size:2048,count:4,colour:red\n",
        "unknown key colour",
    ),
    "CPU numbers that are not plain digits": (
        "[compute]\ncpu_shared_set = +0,0_1,^100000\n",
        "the agent reads the list as 0,1,^65535",
    ),
    "huge pages of a size that no host has": (
        "[DEFAULT]\nreserved_huge_pages = node:0,size:512B,count:4\n",
        "the node, the size or the count is impossible",
    ),
    "fewer huge pages than none": (
        "[DEFAULT]\nreserved_huge_pages = node:0,size:2048,count:-4\n",
        "the node, the size or the count is impossible",
    ),
    "a CA's file that does not exist, and no https": ("[placement]\ncafile = /no/such.pem\n", "there is no such file"),
    "a key without its certificate": ("[placement]\nkeyfile = /no/such.key\n", "no effect without certfile"),
    "an image cache elsewhere": ("[image_cache]\nsubdirectory_name = /srv/cache\n", "must name a folder inside"),
    "an image cache that is the folder of the disks": (
        "[image_cache]\nsubdirectory_name = .\n",
        "the agent uses the default",
    ),
}

#: The agent's own file cannot name nova's database, and accepts a CA's file that no configured URL needs.
NOT_REFUSED = {"a database that nova-compute has not", "a CA's file that does not exist, and no https"}

#: Configurations with which nova-compute does not start.
REFUSED = {
    "a CPU list that cannot be": "[compute]\ncpu_shared_set = 3-1\n",
    "a CPU in two lists": "[compute]\ncpu_shared_set = 0-1\ncpu_dedicated_set = 1\n",
    "reserved CPUs beside a list": "[DEFAULT]\nreserved_host_cpus = 1\n[compute]\ncpu_shared_set = 1\n",
    "a kind of guests that there is not": "[libvirt]\nvirt_type = xen\n",
    "models without a mode": "[libvirt]\ncpu_models = Nehalem\n",
    "a mode without models": "[libvirt]\ncpu_mode = custom\n",
    "a CPU mode with containers": "[libvirt]\nvirt_type = lxc\ncpu_mode = host-model\n",
    "a ratio below 0": "[DEFAULT]\ncpu_allocation_ratio = -1\nreserved_host_cpus = -1\n",
    "raw images, perhaps, on logical volumes": (
        "[DEFAULT]\nforce_raw_images = perhaps\n[libvirt]\nimages_type = lvm\nimages_volume_group = guests\n"
    ),
    "no raw images in Ceph": "[DEFAULT]\nforce_raw_images = false\n[libvirt]\nimages_type = rbd\n",
    "memory in files without its ratio": "[libvirt]\nfile_backed_memory = 1024\n",
    "huge pages without a count": "[DEFAULT]\nreserved_huge_pages = node:0,size:2048\n",
    "a TPM for containers": "[libvirt]\nvirt_type = lxc\nswtpm_enabled = true\n",
    "a service_down_time that is not a number": "[DEFAULT]\nservice_down_time = soon\n",
    "a device spec that is not JSON": "[pci]\ndevice_spec = {vendor\n",
}


#: Configurations with which nova-compute starts, but which fail each of its audits or depend on its working directory.
BREAKS = {
    "a reserve that is not a number": "[DEFAULT]\nreserved_host_memory_mb = 4G\n",
    "logical volumes without their group": "[libvirt]\nimages_type = lvm\n",
    "a network without cells": "[neutron]\nphysnets = provider\n",
    "a relative folder of disks": "[DEFAULT]\ninstances_path = instances\n",
    "a relative folder of provider files": "[compute]\nprovider_config_location = provider_config\n",
}


def files(folder: Path) -> dict[str, str]:
    """Write a nova.conf for each oddity; return the paths by the oddity's name."""
    texts = {name: text for name, (text, _) in IGNORED.items()} | REFUSED | BREAKS
    return {
        name: write(folder, f"nova-{number}.conf", BASE.format(folder=folder) + text)
        for number, (name, text) in enumerate(texts.items())
    }


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """(file, nova's answer) by the oddity's name; the answer is None if nova-compute starts."""
    folder = tmp_path_factory.mktemp("nova")
    # The environment of nova has no libvirt of its own.
    shared = folder / "libvirt"
    shared.mkdir()
    for path in Path(libvirt.__file__).parent.glob("libvirt*"):
        (shared / path.name).symlink_to(path)
    paths = files(folder)
    done = subprocess.run(
        [str(nova_python()), "-c", NOVA_SIDE],
        input=json.dumps(list(paths.values())),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONPATH": str(shared)},
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    return {name: (path, answer) for (name, path), answer in zip(paths.items(), answers, strict=True)}


def ours_of(tmp_path, nova: str):
    return survey([write(tmp_path, "stocktake.conf", OURS.format(nova=nova))])


@pytest.mark.parametrize("name", IGNORED)
def test_an_ignored_nova_conf_value_causes_only_a_notice(judged, tmp_path, name):
    """If nova.conf has a value that nova-compute ignores, the agent accepts the file and prints a notice."""
    path, answer = judged[name]
    assert answer is None
    loaded = ours_of(tmp_path, path)
    assert check(loaded) == ()
    assert settings_from(loaded).host == "compute-1"
    assert [line for line in notices(loaded) if IGNORED[name][1] in line and path in line]


@pytest.mark.parametrize("name", REFUSED)
def test_the_agent_rejects_a_nova_conf_that_nova_compute_rejects(judged, tmp_path, name):
    path, answer = judged[name]
    assert answer is not None
    try:
        problems = check(ours_of(tmp_path, path))
    except ConfigError as error:
        problems = error.problems
    assert problems


@pytest.mark.parametrize("name", BREAKS)
def test_the_agent_rejects_harmful_nova_conf_values(judged, tmp_path, name):
    """Nova-compute starts with harmful values of nova.conf, such as a relative path; the agent rejects them."""
    path, answer = judged[name]
    assert answer is None
    assert check(ours_of(tmp_path, path))


@pytest.mark.parametrize("name", [name for name in IGNORED if name not in NOT_REFUSED])
def test_stocktake_conf_is_checked_more_strictly_than_nova_conf(tmp_path, name):
    """The agent rejects most of the values in its own stocktake.conf that cause only a notice in nova.conf."""
    text = IGNORED[name][0]
    nova = write(tmp_path, "nova.conf", BASE.format(folder=tmp_path))
    path = write(tmp_path, "stocktake.conf", OURS.format(nova=nova) + text)
    problems = check(survey([path]))
    assert problems
    assert all(problem.startswith(path) for problem in problems)
