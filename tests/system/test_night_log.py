"""The questions that an operator asks the log at 3 a.m., and the lines of a real daemon that answer them.

One daemon lives through one night: leaks, an outage of Placement, a reload, heal, a rival, an audit that hangs. Its
stderr is a socket that it takes for systemd's journal. Each test then looks for one answer in what it logged.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.rigs.domains import domain_xml, node_xml
from tests.rigs.facts import FLAVOR_B, uuid
from tests.rigs.gateway import Answer, Asked, Gateway
from tests.rigs.host import PATIENCE_S, STOP_S, AgentHost, Daemon, host_on
from tests.rigs.placement import Rest
from tests.rigs.source_tree import ROOT
from tests.rigs.wait import until

HELD = {"VCPU": 2, "MEMORY_MB": 256}
SECRET = "kept-from-every-log-7f3a"
# The daemon, with a shorter patience for a long audit than two minutes.
PROGRAM = """
import sys
from agent.daemon import audit_watch
audit_watch.LONG_AUDIT_S = 2.0
from agent.cmd.daemon import main
main()
"""
USUAL = {"enabled": "true", "min_age": 3600}
PREFIX = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}


@dataclass(frozen=True)
class Night:
    """What the daemon logged in one night, line by line, and what its report for SIGUSR2 said."""

    lines: tuple[str, ...]
    report: tuple[str, ...]

    def line(self, pattern: str) -> str:
        """Return the first line that matches; its first character is the priority."""
        found = [line for line in self.lines if re.search(pattern, line)]
        assert found, f"no line matches {pattern}:\n" + "\n".join(line[:400] for line in self.lines)
        return found[0]


@pytest.fixture(scope="module")
def night(tmp_path_factory: pytest.TempPathFactory, placement: Rest) -> Iterator[Night]:
    folder = tmp_path_factory.mktemp("night")
    gateway = Gateway(placement.server.url)
    host = host_of(folder, placement, gateway)
    try:
        yield lived(host, placement, gateway)
    finally:
        gateway.close()


def host_of(folder: Path, placement: Rest, gateway: Gateway) -> AgentHost:
    """Return a host with instance i1, and with allocations of three deleted instances and one that moved away."""
    guest = domain_xml("i1", domain_uuid=uuid("i1"), vcpus=FLAVOR_B.vcpus, memory_mib=FLAVOR_B.memory_mib)
    (folder / "node.xml").write_text(node_xml(cpus=8, memory_mib=4096, domains=[guest]))
    host = host_on(
        folder,
        gateway.url,
        options={
            "DEFAULT": {"update_resources_interval": -1},
            "placement": {"token": f"admin:{SECRET}"},
            "heal": dict(USUAL),
            "agent": {"source_deadline": 8},
        },
    )
    host.configure()
    other = placement.make_provider()
    placement.make_provider(host.name, uuid=host.provider_uuid)
    for provider in (other, host.provider_uuid):
        placement.set_inventories(provider, {"VCPU": {"total": 64}, "MEMORY_MB": {"total": 65536}})
    placement.allocate({host.provider_uuid: HELD}, uuid("i1"))
    for name in ("gone", "gone2", "gone3"):
        placement.allocate({host.provider_uuid: HELD}, uuid(name))
    placement.allocate({host.provider_uuid: HELD, other: HELD}, uuid("away"))
    deleted = [host.instance(n, deleted=True, vm_state="deleted", flavor=FLAVOR_B) for n in ("gone", "gone2", "gone3")]
    away = host.instance("away", host="cmp2", node="cmp2", flavor=FLAVOR_B, flavor_id=2)
    host.make_cell(host.instance("i1", flavor=FLAVOR_B, flavor_id=2), *deleted, away).dispose()
    return host


def lived(host: AgentHost, placement: Rest, gateway: Gateway) -> Night:
    """Let the daemon live through the night and return its log."""
    with journalled(host) as daemon:
        daemon.first_audit()
        daemon.audit_now()
        an_outage(daemon, placement, gateway)
        reloads(daemon)
        by_hand(daemon)
        daemon.audit_now()
        logged(daemon, "heal waiting .*guard=max-percent")
        a_hanging_audit(daemon, gateway)
        a_rival(daemon, placement)
        before = len(daemon.text())
        daemon.send(signal.SIGUSR2)
        logged(daemon, "state dump")
        report = daemon.text()[before:]
        daemon.send(signal.SIGTERM)
        assert daemon.ended(STOP_S) == 0
    return Night(tuple(daemon.text().splitlines()), tuple(report.splitlines()))


def an_outage(daemon: Daemon, placement: Rest, gateway: Gateway) -> None:
    """Placement answers 500 to four audits; meanwhile another program removes one of the leaks."""
    gateway.before = lambda _asked: Answer(status=500, body=b"{}")
    for _ in range(4):
        daemon.audit_now()
    placement.release(uuid("gone3"))
    gateway.clear()
    daemon.audit_now()
    logged(daemon, "source back")
    daemon.audit_now()


def reloads(daemon: Daemon) -> None:
    """Nothing changes; twelve options change and a secret; a mistake; then heal gets no minimum age.

    The audit of the second reload has written its inventory before the third reload, so the fourth reload changes the
    inventory again.
    """
    again(daemon, {}, "configuration reloaded changed=- .*restart_needed=-")
    many = {
        "DEFAULT": {"initial_cpu_allocation_ratio": 7.5, "reserved_host_cpus": 1},
        "agent": {"confirm_audits": 3, "summary_interval": 7000, "takeover": "true"},
        "heal": {"enabled": "false", "max_consumers": 7, "max_percent": 7, "min_age": 7000},
        "placement": {"token": f"admin:{SECRET}-new", "full_read_every": 7, "consumer_reads": 7},
        "workarounds": {"ensure_libvirt_rbd_instance_dir_cleanup": None},
        "libvirt": {"enabled_perf_events": None},
        "oslo_reports": {"log_dir": "/nonexistent"},
    }
    again(daemon, many, "configuration reloaded changed=.*and [0-9]+ more")
    logged(daemon, "placement written .*VCPU total=8 VCPU reserved=1 VCPU")
    daemon.host.config_file.write_text("[agent]\ncolour = blue\n")
    daemon.send(signal.SIGHUP)
    logged(daemon, "reload refused")
    usual = {"heal": {"min_age": 0}}
    again(daemon, usual, r"configuration reloaded changed=.*\[heal\] min_age: 7000 -> 0")
    # The audit after this reload writes the inventory. If the allocations are younger than 10 s, the repairs of this
    # audit wait for the next audit (guard record-unmoved).
    logged(daemon, "heal waiting .*guard=record-unmoved|finding healed")
    daemon.audit_now()
    logged(daemon, "finding healed")


def again(daemon: Daemon, options: dict[str, dict[str, object]], pattern: str) -> None:
    daemon.host.configure(options)
    daemon.send(signal.SIGHUP)
    logged(daemon, pattern)


def by_hand(daemon: Daemon) -> None:
    """An operator repairs the stale move."""
    report = daemon.audit_now()
    (stale,) = [f["id"] for f in report["audit"]["findings"] if f["code"] == "allocation-stale-move"]
    plan = daemon.host.stocktake("heal", "--finding", stale, "-f", "json").document
    done = daemon.host.stocktake("heal", "--finding", stale, "--plan", plan["digest"], "--yes")
    assert done.code == 4, done.stdout + done.stderr
    logged(daemon, "finding gone .*code=allocation-stale-move")


def a_hanging_audit(daemon: Daemon, gateway: Gateway) -> None:
    """Placement does not answer until the daemon has logged its long audit."""
    is_over = threading.Event()

    def hang(_asked: Asked) -> Answer | None:
        is_over.wait(PATIENCE_S)
        return None

    gateway.before = hang
    daemon.send(signal.SIGUSR1)
    logged(daemon, "audit running .*in=placement")
    gateway.clear()
    is_over.set()
    daemon.audit_now()


def a_rival(daemon: Daemon, placement: Rest) -> None:
    """nova-compute claims the provider, and the host got another inventory that the agent may not write any more."""
    placement.set_traits(daemon.host.provider_uuid, "OWNER_NOVA")
    daemon.audit_now()
    logged(daemon, "outcome changed .*outcome=refused")


def logged(daemon: Daemon, pattern: str) -> None:
    """Wait until the daemon has logged a line that matches."""
    try:
        until(lambda: re.search(pattern, daemon.text()), PATIENCE_S, pattern)
    except AssertionError as error:
        raise AssertionError(f"{error}:\n{daemon.text()}") from None


@contextlib.contextmanager
def journalled(host: AgentHost) -> Iterator[Daemon]:
    """Yield the daemon, whose stderr is a socket that systemd's variable names; its log is what the socket received."""
    ours, theirs = socket.socketpair()
    log = host.folder / "journal"
    stream = os.fstat(theirs.fileno())
    environment = {**host.environ(), "JOURNAL_STREAM": f"{stream.st_dev}:{stream.st_ino}"}
    arguments = [sys.executable, "-c", PROGRAM, "--config-file", str(host.config_file)]
    process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stderr=theirs, env=environment, cwd=ROOT)
    theirs.close()
    log.touch()
    reader = threading.Thread(target=receive, args=(ours, log))
    reader.start()
    try:
        yield Daemon(host=host, process=process, log=log, before={})
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE_S)
        reader.join()
        ours.close()


def receive(stream: socket.socket, log: Path) -> None:
    with log.open("ab", buffering=0) as file:
        while received := stream.recv(65536):
            file.write(received)


# The tests.


@pytest.mark.parametrize(
    "pattern",
    [
        # What is wrong with this host?
        r"^<3>.* finding confirmed severity=error code=allocation-stale-move subject=\"instance away \S{36}\" actual=",
        r"^<4>.* source lost source=placement error=\S",
        # Is action needed?
        r"^<6>.* heal waiting code=allocation-leaked subject=\"instance gone.*guard=minimum-age wait_s=3\d{3} why=\".",
        # What do I type?
        r" finding confirmed .*code=allocation-stale-move .* fix=\"stocktake heal --finding [0-9a-f]{8}\" audit=\S+$",
        # Since when?
        r" finding confirmed .* first_seen_at=20\d\d-\d\d-\d\dT",
        r"^<4>.* source still lost source=placement error=.* lost_for_s=\d+ since=20\d\d-\S+ times=2",
        # Do I see everything?
        r"^<4>.* findings unknown source=placement codes=.*allocation-leaked.* count=\d+ last_seen_at=20\d\d-",
        # Placement is down: what still works?
        r" source lost source=placement error=.* frozen=\"nothing is written; .*MEMORY_MB, VCPU stay\"",
        # Is it back?
        r"^<6>.* source back source=placement audits=[45] lost_for_s=\d+",
        r"^<6>.* findings known again source=placement count=\d+ gone=[12]",
        # Who changed the allocation?
        r"^<4>.* finding healed code=allocation-leaked subject=\"instance gone2? \S+\" entry_id=\S+"
        r" after=\"no allocation\" before=\".*2 VCPU on \S+\".* undo=\"stocktake undo [0-9a-f]+\"",
        r"^<6>.* finding gone .*code=allocation-stale-move .*reason=healed actor=\".*stocktake heal\" entry_id=\S+",
        # Why is the finding gone?
        r" finding gone .*code=allocation-leaked .*reason=placement-changed .*words=\".*\(this agent did not make .*",
        # Why does it not heal?
        r"^<6>.* heal waiting .*guard=max-percent why=\".*max_percent.*\"",
        # Why is nothing written?
        r"^<4>.* outcome changed outcome=refused before=findings",
        r"^<4>.* finding appeared severity=error code=rival-writer",
        # Did my reload take?
        r"^<6>.* configuration reloaded changed=.*\[heal\] min_age: 7000 -> 0",
        r"^<3>.* reload refused, old configuration kept error=\".*colour",
        # What did the start find?
        r"^<6>.* first audit done outcome=findings causes=\d+ duration_ms=\d+ errors=\d+ findings=\d+ not_known=0"
        r" role=owner unread=- warnings=\d+ writes=\d+",
        # Why did systemd restart it?
        r"^<4>.* audit running for_s=\d+ in=placement",
    ],
)
def test_the_log_answers_the_questions_of_an_operator(night, pattern):
    """The log of one night shows, for example, when Placement was lost and who changed an allocation."""
    assert night.line(pattern)


def test_every_log_line_starts_with_its_priority(night):
    """For systemd's journal, each log line starts with a priority such as <3>, which fits the line's log level."""
    for line in night.lines:
        assert re.match("<[2-7]>", line), line
        level = re.match(r"<(\d)>\S+ \S+ \d+ (DEBUG|INFO|WARNING|ERROR|CRITICAL) ", line)
        assert level is None or int(level.group(1)) == PREFIX[level.group(2)], line


def test_each_log_line_has_at_most_1000_bytes(night):
    own = [line for line in night.lines if line not in night.report]
    for line in own:
        assert len(line.encode()) <= 1000, line
        assert re.search(r" (stocktake\.[a-z]+|agent\.[a-z_.]+) \[-\] ", line), line


def test_the_sigusr2_report_is_in_the_journal(night):
    """After SIGUSR2, the journal has the daemon's report of its threads, configuration, findings and health."""
    report = "\n".join(night.report)
    for title in ("Threads", "Configuration", "Audit queue", "Live findings", "Health", "Counters"):
        assert f" {title} " in report
    assert "audit-worker" in report


def test_the_reload_log_line_lists_ten_changed_options(night):
    """After a reload, the daemon logs ten changed options and the number of the others, such as "and 3 more"."""
    line = night.line("configuration reloaded changed=.*and")
    changed = re.search(r'changed="([^"]*)"', line).group(1).split("; ")
    assert len(changed) == 11
    assert re.fullmatch(r"and \d+ more", changed[-1])
    assert '[placement] token"' in line or "[placement] token " in line


def test_the_log_of_the_daemon_contains_no_secret(night):
    assert SECRET not in "\n".join(night.lines)
