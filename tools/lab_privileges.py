"""The steps of ``tools/lab-test --privileges``: the agent as user ``stocktake`` without a capability, and the probe.

``run`` goes on where the first hour's upgrade ended: an agent as root with identity, findings and journal. It switches
to the agent without privileges as docs/security.md says, and compares, attacks and disturbs. Each step raises Failed if
it does not see what it expects.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.rigs import facts
from tools.lab_probe import (
    AGENT,
    DISTURBANCES,
    DROP_INS,
    PROBE,
    REPORT,
    bad_callers,
    capabilities,
    disturbance,
    fresh_report,
    writes_of,
)
from tools.lab_test import GUEST, PACKAGES, Cloud, Failed, Lab, expect, kept

INSTANCES = "/var/lib/nova/instances"
UNPRIVILEGED = "/usr/share/stocktake/systemd/unprivileged.conf"
OUR_DROP_IN = f"{DROP_INS}/{AGENT}.d/unprivileged.conf"
GROUP_DROP_IN = f"{DROP_INS}/{AGENT}.d/group.conf"
PROBE_CONF = "/etc/stocktake/stocktake.conf.d/probe.conf"
#: What differs between two audits of an unchanged host: times, ids, counters, and the use of memory and processors.
OF_ONE_AUDIT = re.compile(
    r"(^|_)(at|s|ms|id|ids|since|times?|seen|duration|sightings|pid|requests|generation|until|load|reasons|first|digest)$"
    r"|^http|^process|memory_used|memory_mb_used|free_ram|used_ram|free_memory"
)
#: An emulated processor needs ten seconds and more to start the probe.
SLOW_CONF = "[agent]\nsource_deadline = 120\n[lvm]\nvolume_groups = guests,more\ndeadline = 60\n"
LAYOUTS = (
    "vgcreate -q more /dev/vdc /dev/vdd",
    "lvcreate -q -y -n linear -L 64M more",
    "lvcreate -q -y --type thin-pool -n pool -L 256M more",
    "lvcreate -q -y -V 1G --thinpool pool -n thin more",
    "lvcreate -q -y --type raid1 -m 1 -L 64M -n twice more",
    "lvcreate -q -y -s -n copy -L 32M more/linear",
)
UNKNOWN_GUEST = """<domain type='qemu'><name>lab-files</name><uuid>{uuid}</uuid><memory unit='MiB'>64</memory>
<vcpu>1</vcpu><os><type arch='x86_64' machine='q35'>hvm</type></os><devices><disk type='file' device='disk'>
<driver name='qemu' type='qcow2'/><source file='{disk}'/><target dev='vda' bus='virtio'/></disk></devices></domain>"""


def run(lab: Lab, cloud: Cloud) -> None:
    """Run all steps on a machine with an agent as root."""
    with lab.step("volumes of every kind, guests' disk files, nova.conf for group nova"):
        lay_out(lab)
    with lab.step("the report of the agent as root"):
        settle(lab)
        before, roots = kept(lab), fresh_report(lab)
    with lab.step("the agent becomes user stocktake: state is kept, the first audit writes nothing"):
        become_unprivileged(lab, cloud, before)
    with lab.step("systemctl show and /proc: no capability"):
        no_capability(lab)
    with lab.step("systemd-analyze security of both units"):
        exposures(lab)
    with lab.step("the report without privileges equals root's, except for times"):
        equal_reports(lab, roots)
    with lab.step("capabilities of the probe, one left out at a time"):
        capabilities(lab)
    with lab.step("wrong peer, unknown verb, half a line, 1 GiB of input"):
        bad_callers(lab)
    for title, disturb in DISTURBANCES.items():
        with lab.step(f"{title}: source-unavailable, nothing released, back within two audits"):
            disturbance(lab, cloud, disturb)
    with lab.step("a program with the agent's user, outside of the unit and inside of the unit"):
        attacks(lab)
    with lab.step("LoadCredential: a TLS key that only root may read"):
        credential(lab)


def lay_out(lab: Lab) -> None:
    """Make volumes, a file system with guests' disks that only nova may read, and nova's account."""
    for command in LAYOUTS:
        lab.run(command)
    disk = f"{INSTANCES}/{facts.uuid(GUEST)}/disk.config"
    lab.run("getent group nova || groupadd -r nova; id nova || useradd -r -g nova nova")
    lab.run("truncate -s 1G /var/lib/nova/store.img && mkfs.ext4 -q /var/lib/nova/store.img")
    lab.run(f"mkdir -p {INSTANCES} && mount -o loop /var/lib/nova/store.img {INSTANCES}")
    lab.run(f"mkdir -p $(dirname {disk}) {INSTANCES}/_base && qemu-img create -q -f qcow2 {disk} 3G")
    lab.run(f"head -c 3000000 /dev/urandom >{INSTANCES}/_base/image; sync")
    lab.run(f"chown -R nova:nova {INSTANCES}; chmod 700 {INSTANCES}; chmod 600 {disk}")
    # A guest that the cloud does not know: the companion's own allocation for it must stay when a source is unread.
    lab.run("cat >/tmp/files.xml", text=UNKNOWN_GUEST.format(uuid=facts.uuid("lab-files"), disk=disk))
    lab.run("virsh define /tmp/files.xml")
    lab.run("chown root:nova /etc/nova /etc/nova/nova.conf && chmod 750 /etc/nova && chmod 640 /etc/nova/nova.conf")
    lab.run("install -m 600 /etc/nova/nova.conf /etc/nova/nova.conf.orig")
    # The guests' disks are in the file system, and two volume groups are read as well.
    lab.write("/etc/stocktake/stocktake.conf.d/lvm.conf", SLOW_CONF)
    lab.run("stocktake config check && systemctl restart stocktake-agent")


def settle(lab: Lab) -> None:
    """Let audits run until two in a row write nothing."""
    quiet = 0
    for _ in range(12):
        quiet = quiet + 1 if fresh_report(lab)["audit"]["writes_done"] == 0 else 0
        if quiet == 2:
            return
    raise Failed("the agent as root writes in every audit")


def become_unprivileged(lab: Lab, cloud: Cloud, before: tuple[str, ...]) -> None:
    """Do what docs/security.md says; compare what must be kept, and Placement's log."""
    lab.run("systemctl stop stocktake-agent")
    writes = len(writes_of(cloud))
    lab.run(f"install -D -m 644 {UNPRIVILEGED} {OUR_DROP_IN}")
    lab.write(GROUP_DROP_IN, "[Service]\nSupplementaryGroups=nova\n")
    lab.write(PROBE_CONF, "[agent]\nprobe_socket = /run/stocktake-probe.sock\n")
    lab.run("systemctl daemon-reload && systemctl enable --now stocktake-probe.socket")
    lab.run(f"rm {REPORT}; systemctl start stocktake-agent")
    lab.until(f"test -s {REPORT}", "the first report without privileges")
    report = json.loads(lab.run(f"cat {REPORT}"))
    expect(report["audit"]["writes_done"] == 0, f"the first audit wrote: {report['audit']['writes_done']}")
    expect(len(writes_of(cloud)) == writes, f"Placement got writes: {writes_of(cloud)[writes:]}")
    after = kept(lab)
    expect(after == before, f"changed: {before} and {after}")
    owners = lab.run("find /var/lib/stocktake /run/stocktake -printf '%u:%g %m %p\n'")
    print(owners)
    expect(all(line.startswith("stocktake:stocktake ") for line in owners.splitlines()), "files of another owner")


def no_capability(lab: Lab) -> None:
    """Look at the unit's properties and at the running process."""
    shown = lab.run(
        f"systemctl show {AGENT} -p User,Group,SupplementaryGroups,CapabilityBoundingSet,AmbientCapabilities"
    )
    print(shown)
    expect("User=stocktake" in shown and "CapabilityBoundingSet=\n" in shown, "the unit has capabilities")
    status = lab.run(f"grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs)' /proc/$(systemctl show -P MainPID {AGENT})/status")
    print(status)
    values = dict(line.split(":\t", 1) for line in status.splitlines())
    held = [name for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(values[name], 16)]
    expect(not held, f"the process has capabilities: {held}")


def exposures(lab: Lab) -> None:
    """Print systemd's rating of both units, and compare with the bounds."""
    for unit, most in ((AGENT, 1.5), (PROBE.replace("@.", "@lab."), 4.0)):
        line = lab.run(f"systemd-analyze security --no-pager {unit} | tail -1").strip()
        print(line)
        rate = float(re.search(r"([0-9.]+) [A-Z]+", line)[1])  # type: ignore[index]
        expect(rate <= most, f"{unit}: {rate} is more than {most}")


def without_times(value: Any) -> Any:
    """Return the document without the keys of OF_ONE_AUDIT, at all depths."""
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if not OF_ONE_AUDIT.search(key)}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


def equal_reports(lab: Lab, roots: dict[str, Any]) -> None:
    """Compare the report without privileges with root's, line by line."""
    ours = fresh_report(lab)
    texts = [json.dumps(without_times(report), indent=1, sort_keys=True).splitlines() for report in (ours, roots)]
    different = [pair for pair in zip(*texts, strict=False) if pair[0] != pair[1]]
    print(f"{len(texts[0])} lines; {sum(map(len, texts[0]))} bytes; different: {len(different)}")
    expect(texts[0] == texts[1], f"the reports differ: {different[:10]} ({len(texts[0])} and {len(texts[1])} lines)")


def attacks(lab: Lab) -> None:
    """Start the attacker as the agent's user: with that user alone, and in the sandbox of the agent's unit."""
    lab.put(Path(__file__).with_name("lab_attacker.py"), "/opt/lab")
    given = {
        "secrets": [
            "/etc/shadow",
            "/etc/gshadow",
            "/etc/nova/nova.conf.orig",
            f"{INSTANCES}/{facts.uuid(GUEST)}/disk.config",
            f"/dev/guests/{facts.uuid(GUEST)}_disk",
        ],
        "places": ["/etc", "/etc/stocktake/stocktake.conf", "/usr/bin", DROP_INS, "/var/lib/nova", "/root"],
        "devices": ["/dev/vda", "/dev/vdb", "/dev/mapper/control", "/dev/mem"],
        "pids": [lab.run("systemctl show -P MainPID libvirtd").strip()],
    }
    lab.run("chmod -R a+rX /opt/lab; cat >/opt/lab/given.json; chmod 644 /opt/lab/given.json", text=json.dumps(given))
    program = "python3 /opt/lab/lab_attacker.py /opt/lab/given.json"
    print(lab.run(f"setpriv --reuid stocktake --regid stocktake --groups $(id -G nova) {program}"))
    lab.write("/run/systemd/system/lab-attacker.service", in_sandbox(lab.run(f"systemctl cat {AGENT}"), program))
    lab.run("systemctl daemon-reload; systemctl start lab-attacker.service || true")
    said = lab.run("journalctl -u lab-attacker.service -o cat --no-pager")
    print(said)
    expect("refused  read /etc/shadow" in said and "DONE" not in said, "an attempt in the sandbox was not refused")
    lab.run("rm /run/systemd/system/lab-attacker.service && systemctl daemon-reload")


def in_sandbox(unit: str, program: str) -> str:
    """Return a unit with the sandbox of ``unit`` (as ``systemctl cat`` prints it) that runs another program once."""
    others = r"Exec|Type=|NotifyAccess=|Watchdog|Restart|StateDir|RuntimeDir|After=|Wants=|Desc|StartLimit|WantedBy="
    lines = [line for line in unit.splitlines() if re.match(r"[A-Z]\w+=", line) and not re.match(others, line)]
    return "\n".join(("[Service]", "Type=oneshot", f"ExecStart=/usr/bin/{program}", *lines, ""))


def install_again(lab: Lab, package: Path) -> None:
    """Install the same package over a running agent without privileges."""
    lab.run(f"rm {REPORT}; apt-get install -y --reinstall {PACKAGES}/{package.name}")
    lab.run("systemctl is-active stocktake-probe.socket stocktake-agent")
    no_capability(lab)
    fresh_report(lab)


def back_to_root(lab: Lab) -> None:
    """Do what docs/security.md says."""
    lab.run(f"rm -r {DROP_INS}/{AGENT}.d {PROBE_CONF}; systemctl daemon-reload && systemctl restart stocktake-agent")
    expect(lab.run(f"systemctl show -P User {AGENT}").strip() == "root", "the agent is not root")
    fresh_report(lab)


def credential(lab: Lab) -> None:
    """Hand a key that only root may read to the agent by LoadCredential=."""
    key, certificate = "/etc/ssl/private/placement-key.pem", "/etc/ssl/placement.pem"
    make = f"openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=lab -days 9 -keyout {key} -out {certificate}"
    lab.run(f"mkdir -p /etc/ssl/private && {make} 2>/dev/null && chmod 600 {key}")
    lab.write(f"{DROP_INS}/{AGENT}.d/key.conf", f"[Service]\nLoadCredential=placement-key.pem:{key}\n")
    copy = f"/run/credentials/{AGENT}/placement-key.pem"
    tls = f"[placement]\ncertfile = {certificate}\nkeyfile = {copy}\n"
    lab.write("/etc/stocktake/stocktake.conf.d/tls.conf", tls)
    lab.run(f"systemctl daemon-reload && rm {REPORT} && systemctl restart stocktake-agent")
    fresh_report(lab)
    print(lab.run(f"ls -l {copy} {key}"))
    lab.run(f"setpriv --reuid stocktake --clear-groups --regid stocktake cat {key}", 1)
    lab.run(f"rm {DROP_INS}/{AGENT}.d/key.conf /etc/stocktake/stocktake.conf.d/tls.conf")
    lab.run("systemctl daemon-reload && systemctl restart stocktake-agent")
