"""What goes wrong around stocktake-probe in ``tools/lab-test --privileges``: capabilities, callers, a dead probe."""

from __future__ import annotations

import json
import re
import shlex
import time
from typing import Any

from tools.lab_test import AUDIT_NOW, Cloud, Lab, expect

AGENT = "stocktake-agent.service"
PROBE = "stocktake-probe@.service"
DROP_INS = "/etc/systemd/system"
REPORT = "/run/stocktake/report.json"
PYTHON = "/opt/venvs/stocktake/bin/python"
ASK = """import hashlib, json, re, sys
from agent.ports import Deadline
from agent.sources.probe.client import ask
from agent.sources.probe.protocol import Verb
for verb in Verb:
    try:
        answer = ask("/run/stocktake-probe.sock", "lab", verb, Deadline.after(60))
        text = json.dumps([answer.kind, answer.content], sort_keys=True)
        text = re.sub(r'"(free|available)_bytes": [0-9]+', "", text)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
    print(verb.value, hashlib.sha256(text.encode()).hexdigest()[:12], len(text), text[:90].replace(chr(10), " "))
"""
LOAD = """import os, sys, time
end = time.monotonic() + float(sys.argv[1])
number = int(sys.argv[2])
folder = "/sys/fs/cgroup/system.slice/" + r"system-stocktake\\x2dprobe.slice"
struck = set()
while time.monotonic() < end:
    for root, _, files in os.walk(folder):
        if root == folder or "cgroup.procs" not in files:
            continue
        try:
            pids = open(os.path.join(root, "cgroup.procs")).read().split()
        except OSError:
            continue
        for pid in pids:
            try:
                os.kill(int(pid), number)
                struck.add(pid)
            except ProcessLookupError:
                pass
    time.sleep(0.01)
print(len(struck))
"""


def fresh_report(lab: Lab) -> dict[str, Any]:
    """Return the report of the second audit that begins now and reads every source."""
    for _ in range(2):
        last = audit_id(lab)
        lab.run(AUDIT_NOW)
        lab.until(f"! grep -q {last} {REPORT}", "another audit")
    report: dict[str, Any] = json.loads(lab.run(f"cat {REPORT}"))
    unread = [source for source in report["audit"]["sources"] if not source["ok"]]
    expect(not unread, f"sources are unread: {unread}")
    return report


def audit_id(lab: Lab) -> str:
    """Return the id of the last audit."""
    lab.until(f"test -s {REPORT}", "a report")
    return str(json.loads(lab.run(f"cat {REPORT}"))["audit"]["audit_id"])


def writes_of(cloud: Cloud) -> list[str]:
    """Return the lines of Placement's log about the agents' writes."""
    return [line for line in cloud.rest.log() if re.search(r"\b(PUT|POST|DELETE)\b", line) and " req-" in line]


def answers(lab: Lab, bounding_set: str) -> dict[str, str]:
    """Return what the probe answers to each verb with this capability bounding set."""
    lab.run(f"mkdir -p '{DROP_INS}/{PROBE}.d'")
    lab.write(
        f"{DROP_INS}/{PROBE}.d/lab.conf", f"[Service]\nCapabilityBoundingSet=\nCapabilityBoundingSet={bounding_set}\n"
    )
    lab.run("systemctl daemon-reload")
    lines = lab.run(f"{PYTHON} -c {shlex.quote(ASK)}").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def capabilities(lab: Lab) -> None:
    """Compare the probe's answers with all capabilities, with its unit's, and with each one of them left out."""
    wanted = ["CAP_SYS_ADMIN", "CAP_DAC_READ_SEARCH"]
    sets = {"all": "~", "the unit's": " ".join(wanted)}
    sets |= {f"without {left}": " ".join(one for one in wanted if one != left) for left in wanted}
    found = {title: answers(lab, names) for title, names in sets.items()}
    for verb, full in found["all"].items():
        for title, other in found.items():
            same = "equal" if other[verb] == full else f"DIFFERENT: {other[verb]}"
            print(f"{verb:22} {title:28} {same if title != 'all' else full}")
    lab.run(f"rm -r '{DROP_INS}/{PROBE}.d' && systemctl daemon-reload")
    expect(found["the unit's"] == found["all"], "the unit's capabilities do not suffice")
    useless = [left for left in wanted if found[f"without {left}"] == found["all"]]
    expect(not useless, f"the probe answers the same without {useless}")


SEND = """import socket, sys
what = sys.argv[1]
s = socket.socket(socket.AF_UNIX); s.settimeout(60)
try:
    s.connect("/run/stocktake-probe.sock")
except OSError as error:
    print("connect:", error.strerror); sys.exit()
sent = 0
try:
    if what == "gib":
        piece = b"x" * (1 << 20)
        while sent < 1 << 30:
            sent += s.send(piece)
    else:
        s.sendall(what.encode().decode("unicode_escape").encode())
    s.shutdown(1)
except OSError as error:
    print("send ended:", error.strerror)
if what == "gib":
    print("sent", sent >> 10, "KiB")
answer = b""
try:
    while piece := s.recv(65536):
        answer += piece
except OSError as error:
    print("answer ended:", error.strerror)
print(answer.decode()[:300])
"""
BAD_CALLERS = (
    ("plain", "plain", r'{"verb": "lvm-groups", "deadline_s": 5}\n', "connect: Permission denied"),
    ("plain", "stocktake", r'{"verb": "lvm-groups", "deadline_s": 5}\n', "is neither root nor the user"),
    ("stocktake", "stocktake", r'{"verb": "shell", "deadline_s": 5}\n', "the verb is unknown"),
    ("stocktake", "stocktake", r'{"verb": "lvm-gro', "ends without a line feed"),
    ("stocktake", "stocktake", "gib", "longer than 4096 bytes"),
)


def bad_callers(lab: Lab) -> None:
    """Connect as another user, and send what breaks the protocol; the probe must answer the next request."""
    for user, group, what, expected in BAD_CALLERS:
        command = (
            f"setpriv --reuid {user} --regid {group} --clear-groups python3 -c {shlex.quote(SEND)} {shlex.quote(what)}"
        )
        said = lab.run(command).strip()
        print(f"{user}:{group} {what[:40]!r}: {said}")
        expect(expected in said, f"expected {expected!r}")
    fresh_report(lab)


def holdings(cloud: Cloud) -> Any:
    """Return what Placement has about the host: inventories without generations, allocations and traits."""
    path = f"/resource_providers/{cloud.provider}"
    inventories = cloud.rest.done("GET", f"{path}/inventories")["inventories"]
    allocations = cloud.rest.done("GET", f"{path}/allocations")["allocations"]
    uses = {consumer: each["resources"] for consumer, each in allocations.items()}
    return inventories, uses, sorted(cloud.rest.done("GET", f"{path}/traits")["traits"])


def _strike(number: int) -> str:
    """Return a command that sends the signal to every process of the probe for half a minute, on a busy machine."""
    busy = "for i in 1 2; do timeout 40 sh -c 'while :; do :; done' & done"
    strike = f"python3 -c {shlex.quote(LOAD)} 35 {number} >/tmp/struck; rm /tmp/striking"
    return f"touch /tmp/striking; ({busy}; {strike}) >/dev/null 2>&1 & true"


def _replace(program: str) -> str:
    unit = f"[Service]\nExecStart=\nExecStart={program}\n"
    return (
        f"mkdir -p '{DROP_INS}/{PROBE}.d' && printf {shlex.quote(unit)} >'{DROP_INS}/{PROBE}.d/lab.conf'"
        " && systemctl daemon-reload"
    )


#: What happens to the probe, as a shell command.
DISTURBANCES = {
    "killed under load": _strike(9),
    "frozen under load": _strike(19),
    "replaced by a program that prints nonsense": _replace("/bin/echo hello"),
    "replaced by a program that hangs": _replace("/bin/sleep 600"),
    "the socket is stopped": "systemctl stop stocktake-probe.socket",
}
MEND = (
    f"rm -rf '{DROP_INS}/{PROBE}.d'; systemctl daemon-reload; systemctl start stocktake-probe.socket;"
    " systemctl stop 'stocktake-probe@*.service'"
)


def disturbance(lab: Lab, cloud: Cloud, command: str) -> None:
    """Disturb the probe during an audit; see the findings, and that nothing changes; mend, and count the audits."""
    fresh_report(lab)
    before, writes = holdings(cloud), len(writes_of(cloud))
    lab.run(command)
    start = time.monotonic()
    unread = unread_findings(lab)
    while not unread and time.monotonic() < start + 200:
        last = audit_id(lab)
        lab.run(AUDIT_NOW)
        lab.until(f"! grep -q {last} {REPORT}", "another audit")
        unread = unread_findings(lab)
    expect(unread, "no source was unread")
    for text in sorted(unread):
        print(f"  {text[:200]}")
    subjects = [text.partition(":")[0] for text in unread]
    expect(len(subjects) == len(set(subjects)), "more than one finding about a source")
    expect(holdings(cloud) == before, "Placement changed")
    expect(len(writes_of(cloud)) == writes, f"Placement got writes: {writes_of(cloud)[writes:]}")
    lab.until("test ! -e /tmp/striking", "the end of the signals")
    lab.run(MEND)
    audits = 0
    while unread_findings(lab):
        expect(audits < 2, f"not back after {audits} audits: {unread_findings(lab)}")
        last = audit_id(lab)
        lab.run(AUDIT_NOW)
        lab.until(f"! grep -q {last} {REPORT}", "another audit")
        audits += 1
    print(f"  back after {audits} audits; {time.monotonic() - start:.0f} s")
    expect(holdings(cloud) == before, "Placement changed")


def unread_findings(lab: Lab) -> list[str]:
    """Return the texts of the findings about sources that could not be read, in the last report."""
    report = json.loads(lab.run(f"cat {REPORT}"))
    codes = ("source-unavailable", "capabilities-incomplete")
    return [each["actual"] for each in report["audit"]["findings"] if each["code"] in codes]
