"""Run the first hour of an operator on a virtual machine, and print how long each step took.

    tools/lab-test --lab DIR OLD.deb NEW.deb
    tools/lab-test --privileges --lab DIR OLD.deb NEW.deb

DIR (or STOCKTAKE_LAB in the environment) has two programs: ``boot.sh NAME`` starts a clean Debian 12 machine with
systemd, libvirtd and empty disks; ``ssh.sh NAME COMMAND`` runs a command there as root, and
``ssh.sh NAME --put FILE DIR`` copies a file. The machine reaches this one as 10.0.2.2.
Placement and the cell database (MariaDB) run here, in a temporary folder.

The steps: install the package; five lines of configuration; config check --live; the observer's first audit; a leak is
seen in log, findings and metrics; companion; heal and undo; upgrade; downgrade; remove; purge. With ``--privileges``
the steps of tools/lab_privileges.py follow the upgrade. A step that fails ends the run with exit code 1.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy

from agent.demo import cell
from agent.demo.placement import TOKEN
from agent.model.nova import ComputeNode, Flavor
from tests.rigs import facts, heart
from tests.rigs.mariadb import MariaDb
from tests.rigs.placement import Rest, running

GUEST = "lab-guest"
LEAK = "lab-leak"
GATEWAY = "10.0.2.2"
PACKAGES = "/tmp/packages"
#: The limit of one command; an upgrade on a busy machine takes a quarter of an hour.
LONGEST_S = 1800
AUDIT_NOW = "systemctl kill -s USR1 --kill-whom=main stocktake-agent"
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}
NOVA_CONF = """[DEFAULT]
host = {host}
service_down_time = 3600
# The periodic audit of this simulated nova-compute is off: what it leaves, nobody else removes.
update_resources_interval = -1
[libvirt]
virt_type = qemu
images_type = lvm
images_volume_group = guests
[placement]
auth_type = admin_token
token = {token}
endpoint_override = http://{gateway}:{port}
"""
SITE_CONF = """[state]
source = sql
connection = mysql+pymysql://{user}:{password}@{gateway}:{port}/cell
[metrics]
uri = tcp://127.0.0.1:9199
"""
METRIC_HAS_LEAK = """import re, sys, urllib.request
text = urllib.request.urlopen("http://127.0.0.1:9199/metrics").read().decode()
sys.exit(not re.search(r"stocktake_findings.*allocation-leaked.* 1(.0)?$", text, re.MULTILINE))"""
COMPANION_CONF = "[agent]\nrole = companion\n[heal]\nmin_age = 0\nmax_percent = 100\n"
DOMAIN = """<domain type='qemu'><name>{name}</name><uuid>{uuid}</uuid><memory unit='MiB'>64</memory><vcpu>1</vcpu>
<os><type arch='x86_64' machine='q35'>hvm</type></os><devices><disk type='block' device='disk'>
<source dev='/dev/guests/{uuid}_disk'/><target dev='vda' bus='virtio'/></disk></devices></domain>"""


class Failed(Exception):
    """A step did not see what it expects."""


@dataclass(slots=True)
class Lab:
    """The virtual machine, and the times of the steps so far."""

    programs: Path
    name: str
    times: list[tuple[str, float]] = field(default_factory=list)

    def boot(self) -> None:
        """Start a clean machine."""
        subprocess.run([self.programs / "boot.sh", self.name, "--disks", "3"], check=True)

    def put(self, file: Path, folder: str) -> None:
        """Copy a file into a folder of the machine."""
        subprocess.run([self.programs / "ssh.sh", self.name, "--put", file, folder], check=True)

    def run(self, command: str, *codes: int, text: str | None = None) -> str:
        """Run a command as root; return stdout. Raises Failed on an exit code other than ``codes`` (0 by default)."""
        words = [self.programs / "ssh.sh", self.name, command]
        try:
            done = subprocess.run(
                words, input=text or "", capture_output=True, text=True, check=False, timeout=LONGEST_S
            )
        except subprocess.TimeoutExpired:
            raise Failed(f"{command}: no end within {LONGEST_S} s") from None
        if done.returncode not in (codes or (0,)):
            raise Failed(f"{command}: exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done.stdout

    def write(self, path: str, text: str) -> None:
        """Write a file of the machine, for root and the agent's group."""
        self.run(f"cat >{path} && chmod 640 {path} && chgrp stocktake {path} 2>/dev/null || true", text=text)

    def document(self, command: str, *codes: int) -> Any:
        """Return the JSON document that the command prints."""
        return json.loads(self.run(f"stocktake --quiet {command} -f json", *(codes or (0, 2, 3, 4))))

    def until(self, command: str, what: str, limit_s: float = 400) -> str:
        """Run the command until it succeeds. Raises Failed after the limit."""
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            with contextlib.suppress(Failed):
                return self.run(command)
            time.sleep(2)
        raise Failed(
            f"{what}: not within {limit_s:.0f} s ({command})\n{self.run('journalctl -u stocktake-agent | tail -30')}"
        )

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Measure one step, and print its time."""
        start = time.monotonic()
        print(f"... {title}", flush=True)
        yield
        self.times.append((title, time.monotonic() - start))
        print(f"    {self.times[-1][1]:6.1f} s  {title}", flush=True)


@dataclass(slots=True, kw_only=True)
class Cloud:
    """Placement and a cell database with this host, one running instance, and one deleted instance."""

    rest: Rest
    database: MariaDb
    host: str
    provider: str

    def fill(self, url: str) -> None:
        """Write what nova would have written: the node, nova-compute's service, and the instances' rows."""
        past = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0) - datetime.timedelta(hours=2)
        flavor = facts.FLAVOR_A
        self.rest.make_provider(self.host, uuid=self.provider)
        totals = {"VCPU": {"total": 8}, "MEMORY_MB": {"total": 4096}, "DISK_GB": {"total": 8}}
        self.rest.set_inventories(self.provider, totals)
        self.rest.set_traits(self.provider, "OWNER_NOVA", "COMPUTE_NODE")
        engine = sqlalchemy.create_engine(url)
        plain = facts.instance(GUEST, host=self.host, node=self.host, flavor=_small(flavor), updated_at=past)
        node = ComputeNode(id=1, uuid=self.provider, host=self.host, hypervisor_hostname=self.host, deleted=False)
        with engine.begin() as connection:
            cell.create_tables(connection)  # type: ignore[arg-type]
            cell.add_compute_node(connection, node)
            cell.add_service(connection, self.host, facts.service(last_seen_up=past + datetime.timedelta(minutes=119)))
            cell.add_instance(connection, plain)
        engine.dispose()
        heart.keep(url)
        self.rest.allocate({self.provider: AMOUNTS}, facts.uuid(GUEST))

    def plant(self, url: str) -> None:
        """Write a deleted instance whose allocation is left in Placement."""
        past = datetime.datetime.now(datetime.UTC).replace(tzinfo=None, microsecond=0) - datetime.timedelta(hours=1)
        changes = {"flavor": _small(facts.FLAVOR_A), "deleted": True, "vm_state": "deleted", "updated_at": past}
        row = facts.instance(LEAK, host=self.host, node=self.host, deleted_at=past, **changes)
        engine = sqlalchemy.create_engine(url)
        with engine.begin() as connection:
            cell.add_instance(connection, row)
        engine.dispose()
        self.rest.allocate({self.provider: AMOUNTS}, facts.uuid(LEAK))

    def leaked(self) -> bool:
        """Whether Placement has the leaked allocation."""
        return bool(self.rest.done("GET", f"/allocations/{facts.uuid(LEAK)}")["allocations"])


def _small(flavor: Flavor) -> Flavor:
    return dataclasses.replace(flavor, vcpus=1, memory_mib=64, root_gib=1, swap_mib=0, ephemeral_gib=0)


def expect(condition: object, what: str) -> None:
    """Raise Failed with the sentence if the condition does not hold."""
    if not condition:
        raise Failed(what)


def prepare(lab: Lab, cloud: Cloud) -> None:
    """Make the machine a host as nova knows it: a volume group, a guest, nova.conf and compute_id."""
    lab.run("vgcreate -q guests /dev/vdb && mkdir -p /etc/nova /var/lib/nova")
    lab.run(f"lvcreate -q -y -n {facts.uuid(GUEST)}_disk -L 1G guests")
    port = cloud.rest.server.url.rpartition(":")[2].strip("/")
    lab.run("cat >/etc/nova/nova.conf", text=NOVA_CONF.format(host=cloud.host, token=TOKEN, gateway=GATEWAY, port=port))
    lab.run("cat >/var/lib/nova/compute_id", text=cloud.provider + "\n")
    lab.run("cat >/tmp/guest.xml", text=DOMAIN.format(name=GUEST, uuid=facts.uuid(GUEST)))
    lab.run("virsh define /tmp/guest.xml && virsh start lab-guest")


def install(lab: Lab, package: Path) -> None:
    """Install the package; the unit is neither enabled nor started."""
    lab.put(package, PACKAGES)
    print(lab.run(f"apt-get install -y {PACKAGES}/{package.name} 2>&1 | grep -E 'stocktake' || true"))
    expect(lab.run("systemctl is-active stocktake-agent", 3).strip() == "inactive", "the package started the agent")
    expect(lab.run("systemctl is-enabled stocktake-agent", 1).strip() == "disabled", "the package enabled the agent")
    owner = lab.run("stat -c '%a %U:%G' /etc/stocktake/stocktake.conf").strip()
    expect(owner == "640 root:stocktake", f"stocktake.conf is {owner}")
    lab.run("test -e /etc/stocktake/stocktake.conf.d && bash -n /usr/share/bash-completion/completions/stocktake")


def observe(lab: Lab, cloud: Cloud) -> None:
    """Start the agent; wait for its first audit, which writes nothing."""
    lab.run("systemctl enable --now stocktake-agent")
    lab.until("test -s /run/stocktake/report.json", "the first report")
    status = lab.document("status")
    unread = [source for source in status["sources"] if not source["ok"]]
    expect(not unread, f"sources are unread: {unread}")
    expect(not any("PUT" in line and " req-" in line for line in cloud.rest.log()), "the observer wrote to Placement")


def see_leak(lab: Lab, cloud: Cloud, url: str) -> str:
    """Plant a leak; return the finding's id after the log, the findings and the metrics have it."""
    cloud.plant(url)
    lab.run(AUDIT_NOW)
    lab.until(
        "journalctl -u stocktake-agent --no-pager | grep -q 'finding appeared.*allocation-leaked'",
        "the leak in the log",
    )
    lab.until(
        f"python3 -c {shlex.quote(METRIC_HAS_LEAK)}",
        "the leak in the metrics",
    )
    (found,) = json.loads(lab.run("stocktake findings --last --code allocation-leaked -f json", 3))
    return str(found["id"])


def confirmed(lab: Lab) -> None:
    """Wait until the agent has confirmed the leak."""
    lab.until(
        f"{AUDIT_NOW} && stocktake findings --last --code allocation-leaked --confirmed -f value | grep -q leaked",
        "the leak is confirmed",
    )


def heal_and_undo(lab: Lab, cloud: Cloud) -> None:
    """Remove the leaked allocation, then put it back."""
    end = time.monotonic() + 300
    while not (plan := lab.document("heal"))["actions"]:
        expect(time.monotonic() < end, f"heal has no action: {json.dumps(plan['refusals'])}")
        time.sleep(5)
    lab.run(f"stocktake --quiet heal --plan {plan['digest']} --yes", 4)
    expect(not cloud.leaked(), "heal left the allocation")
    (entry,) = lab.document("journal")
    lab.run(f"stocktake --quiet undo {entry['id']}")
    expect(cloud.leaked(), "undo did not put the allocation back")


def kept(lab: Lab) -> tuple[str, ...]:
    """Return what must survive another version: identity, journal, and since when the leak is seen."""
    journal = lab.run("cat /var/lib/stocktake/journal.jsonl")
    status = lab.document("status")
    seen = [f"{each['id']} {each['first_seen_at']}" for each in status["findings"] if each["code"] == "volume-foreign"]
    return (str(status["provider_uuid"]), journal, *seen)


def replace(lab: Lab, package: Path, version: str) -> None:
    """Install another version over a running agent, and compare what must be kept."""
    before = kept(lab)
    expect(before[2:], "no finding to compare")
    lab.put(package, PACKAGES)
    lab.run(f"rm /run/stocktake/report.json; apt-get install -y --allow-downgrades {PACKAGES}/{package.name}")
    lab.until("test -s /run/stocktake/report.json && systemctl is-active -q stocktake-agent", "the agent runs again")
    expect(version in lab.run("stocktake --version").replace("~", "."), f"the version is not {version}")
    expect(kept(lab) == before, f"changed: {before} and {kept(lab)}")


def remove_and_purge(lab: Lab) -> None:
    """Remove: configuration and state stay. Purge: only the journal stays."""
    with lab.step("remove: configuration and state stay"):
        lab.run("apt-get remove -y stocktake")
        lab.run("test -e /etc/stocktake/stocktake.conf && test -s /var/lib/stocktake/findings.json")
        lab.run("! systemctl is-active -q stocktake-agent && ! test -e /usr/lib/systemd/system/stocktake-agent.service")
    with lab.step("purge: only the journal stays"):
        lab.run("apt-get purge -y stocktake </dev/null")
        left = lab.run(
            "find /etc/stocktake /var/lib/stocktake /run/stocktake /opt/venvs/stocktake -type f 2>/dev/null || true"
        )
        expect(left.split() == ["/var/lib/stocktake/journal.jsonl"], f"left behind: {left}")
        lab.run("test -z \"$(find /etc/systemd /run/systemd /usr/lib/systemd -name '*stocktake*')\"")
        expect(not units(lab), f"units are left behind: {units(lab)}")
        lab.run('test ! -e /run/stocktake-probe.sock && test -z "$(ls /run/stocktake* 2>/dev/null)"')


def units(lab: Lab) -> list[str]:
    """Return the units of Stocktake that systemd knows."""
    lines = lab.run("systemctl list-units --all --plain --no-legend '*stocktake*'").splitlines()
    return [line.split()[0] for line in lines]


def no_probe_of_another_version(lab: Lab) -> None:
    """After a downgrade to a package without the probe no unit of the probe is left."""
    if lab.run("ls /usr/lib/systemd/system/stocktake-probe.socket 2>/dev/null || true"):
        return
    left = [unit for unit in units(lab) if "probe" in unit]
    expect(not left, f"units are left behind: {left}")
    lab.run("test ! -e /run/stocktake-probe.sock && test -z \"$(find /etc/systemd -name 'stocktake-probe*')\"")


def first_hour(lab: Lab, cloud: Cloud, url: str, old: Path, new: Path, *, privileges: bool) -> None:
    """Run all steps; ``privileges`` adds the steps of tools/lab_privileges.py."""
    with lab.step(f"install {old.name}"):
        install(lab, old)
    with lab.step("five lines of configuration, config check --live"):
        access = {"user": "stocktake", "password": "rig-secret-7c1", "gateway": GATEWAY, "port": cloud.database.port}
        lab.write("/etc/stocktake/stocktake.conf.d/site.conf", SITE_CONF.format(**access))
        print(lab.run("stocktake --quiet config check --live"))
    with lab.step("observer: the first audit reads every source and writes nothing"):
        observe(lab, cloud)
    with lab.step("a leak is seen in log, findings and metrics"):
        leak = see_leak(lab, cloud, url)
    with lab.step("the next audit confirms the leak"):
        confirmed(lab)
    with lab.step("companion"):
        lab.write("/etc/stocktake/stocktake.conf.d/role.conf", COMPANION_CONF)
        lab.run("stocktake config check && systemctl restart stocktake-agent")
        lab.until("systemctl is-active -q stocktake-agent", "the companion runs")
    with lab.step(f"heal finding {leak[:8]}, then undo"):
        heal_and_undo(lab, cloud)
    with lab.step("a volume that nobody knows is found"):
        lab.run(f"lvcreate -q -y -n by-hand -L 100M guests && {AUDIT_NOW}")
        lab.until("stocktake findings --last --code volume-foreign -f value | grep -q by-hand", "the volume is found")
    with lab.step(f"upgrade to {new.name}: identity, findings and journal are kept"):
        replace(lab, new, _version(new))
    if privileges:
        from tools import lab_privileges  # late: the module uses this one

        lab_privileges.run(lab, cloud)
        with lab.step("the same package again: the socket and the agent run again"):
            lab_privileges.install_again(lab, new)
        with lab.step("back to an agent as root"):
            lab_privileges.back_to_root(lab)
    with lab.step(f"downgrade to {old.name}: the same"):
        replace(lab, old, _version(old))
        no_probe_of_another_version(lab)
    remove_and_purge(lab)


def _version(package: Path) -> str:
    return package.name.split("_")[1].replace("~", ".")


def main() -> int:
    """Build the cloud and the machine, run the steps, print the times; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    lab_folder = os.environ.get("STOCKTAKE_LAB")
    parser.add_argument("--lab", type=Path, default=lab_folder, required=lab_folder is None, metavar="DIR")
    parser.add_argument("--name", default="firsthour", help="name of the machine, also its host name (firsthour)")
    parser.add_argument("--booted", action="store_true", help="the machine runs already, and is clean")
    parser.add_argument("--privileges", action="store_true", help="also test the agent without privileges")
    parser.add_argument("old", type=Path, metavar="OLD.deb")
    parser.add_argument("new", type=Path, metavar="NEW.deb")
    options = parser.parse_args()
    lab = Lab(options.lab.resolve(), options.name)
    provider = facts.uuid(f"lab {options.name}")
    with (
        tempfile.TemporaryDirectory(prefix="stocktake-lab-test.") as folder,
        running(Path(folder) / "placement") as rest,
    ):
        database = MariaDb(Path(folder) / "mariadb")
        database.start()
        try:
            url = database.create_database("cell")
            cloud = Cloud(rest=rest, database=database, host=options.name, provider=provider)
            cloud.fill(url)
            if not options.booted:
                with lab.step("boot a clean machine"):
                    lab.boot()
            with lab.step("make the machine a host as nova knows it"):
                prepare(lab, cloud)
            first_hour(lab, cloud, url, options.old, options.new, privileges=options.privileges)
        except Failed as failure:
            print(f"tools/lab-test: {failure}", file=sys.stderr)
            return 1
        finally:
            heart.forget(url)
            database.stop()
    print(f"tools/lab-test: {len(lab.times)} steps in {sum(each for _, each in lab.times):.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
