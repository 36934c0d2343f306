"""The whole daemon as a process, on libvirt's test driver and a real Placement: arguments, start, reload, end."""

import contextlib
import itertools
import json
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from agent.cmd.daemon import stop_asked
from agent.config.options.opts import logging_opts
from agent.daemon.triggers import start_delay_s
from agent.demo.placement import TOKEN, start_placement
from tests.rigs.agent_process import Agent
from tests.rigs.gateway import Answer, Asked, gateway
from tests.rigs.host import PATIENCE_S, STOP_S
from tests.rigs.placement import running
from tests.rigs.programs import INSTALLED
from tests.rigs.wait import until

# The worker's STALL_S, scaled down: after this long without a safe point or a request the agent sends no WATCHDOG=1.
STALL_S = 4.0
# The duration of one request: well below STALL_S for a busy machine, and all requests together above 2 x STALL_S.
SLOW_S = 2.0
HASTY = (
    f"import sys, agent.daemon.worker; agent.daemon.worker.STALL_S = {STALL_S}; "
    "from agent.cmd.daemon import main; main()"
)
LONG_PAUSES = (
    "from agent.placement.http import rate_control; drawn = rate_control.after_answer; "
    "rate_control.after_answer = lambda pace, answer, manners, _draw: drawn(pace, answer, manners, 0.99); "
    "from agent.cmd.daemon import main; main()"
)
NOBODY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def placement(tmp_path_factory):
    with running(tmp_path_factory.mktemp("placement")) as rest:
        yield rest


@pytest.fixture
def agent(tmp_path):
    agent = Agent(tmp_path, INSTALLED)
    yield agent
    agent.close()


@pytest.mark.parametrize("arguments", [["--bogus"], ["extra"], ["--config-file"], ["--onc"]])
def test_the_agent_exits_127_for_invalid_arguments(agent, arguments):
    """If an argument of stocktake-agent is invalid, the agent prints an error and exits with 127."""
    answer = agent.run(*arguments)
    assert answer.returncode == 127
    assert "stocktake-agent: " in answer.stderr


@pytest.mark.parametrize("once", [[], ["--once"]])
@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("[placement]", "[plaecment]", "plaecment"),
        ("update_resources_interval = -1", "update_resources_interval = often", "often"),
        ("source = none", "", "[state] source"),
        ("auth_type = admin_token", "", "auth_type"),
        ("use_json = true", "colour = blue", "colour"),
    ],
)
def test_an_invalid_configuration_ends_the_agent_with_78(agent, old, new, named, once):
    """stocktake-agent prints the invalid section, option or value, exits with 78 and writes no report."""
    agent.conf.write_text(agent.conf.read_text().replace(old, new))
    answer = agent.run("--config-file", str(agent.conf), *once)
    assert answer.returncode == 78
    assert named in answer.stderr
    assert all(line.startswith("stocktake-agent: ") for line in answer.stderr.splitlines())
    assert answer.stdout == ""
    assert not (agent.folder / "run" / "report.json").exists()


def test_the_agent_exits_78_if_state_dir_is_a_file(agent):
    """The path in [agent] state_dir is a file instead of a folder; the agent prints the option and exits with 78."""
    (agent.folder / "state").write_text("a file")
    answer = agent.once()
    assert answer.returncode == 78
    assert "state_dir" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_one_audit_without_placement_writes_a_partial_report(agent):
    """Placement is down: `stocktake-agent --once` writes a report with outcome partial and exits with 2."""
    answer = agent.once()
    assert answer.returncode == 2
    assert agent.report()["outcome"] == "partial"
    assert "Traceback" not in answer.stderr
    assert answer.stdout == ""


def test_the_second_audit_writes_nothing(agent, placement):
    """The first audit publishes the host's inventory; the host does not change, and the second audit only reads."""
    agent.configure(url=placement.server.url)
    first = agent.once()
    assert first.returncode in (0, 3), first.stderr
    root = agent.report()["provider_uuid"]
    assert placement.inventories(root)["VCPU"]["total"] == 16
    generation = placement.generation(root)
    with placement.watched() as sent:
        agent.once()
    assert {line.split()[0] for line in sent} == {"GET"}
    assert agent.report()["provider_uuid"] == root
    assert placement.generation(root) == generation
    placement.delete_provider(root)


def test_with_no_publish_the_agent_sends_only_get_requests(agent, placement):
    """`stocktake-agent --once --no-publish` sends Placement only GET requests and creates no compute_id file."""
    agent.configure(url=placement.server.url)
    with placement.watched() as sent:
        assert agent.once("--no-publish").returncode in (0, 3)
    assert {line.split()[0] for line in sent} == {"GET"}
    assert not (agent.folder / "state" / "compute_id").exists()


def test_the_daemon_publishes_after_placement_starts(agent):
    """The daemon starts while Placement is down, and publishes the host's inventory as soon as Placement answers."""
    with contextlib.ExitStack() as stack:
        port = stack.enter_context(nobody_listens())
        agent.configure(url=f"http://127.0.0.1:{port}")
        agent.start()
        agent.until_logged("source lost")
        stack.callback(start_placement(agent.folder / "placement", port=port).stop)
        agent.until_logged("placement written")
        agent.until_logged("source back")
    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(STOP_S) == 0


@contextlib.contextmanager
def nobody_listens() -> Iterator[int]:
    """Reserve a port for a block: connections to it are refused until the test starts its own server there."""
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def test_the_next_start_removes_files_of_a_killed_run(agent):
    """A killed agent left half-written .tmp files in its folders; the next run of the agent deletes them."""
    over = subprocess.Popen([sys.executable, "-c", ""])
    over.wait()
    ours = [("state", "compute_id"), ("state", "findings.json"), ("run", "report.json")]
    for folder, name in ours:
        (agent.folder / folder).mkdir(exist_ok=True)
        (agent.folder / folder / f"{name}.{over.pid}.tmp").write_text("half")
    assert agent.once("--no-publish").returncode == 2
    assert list(agent.folder.glob("*/*.tmp")) == []


def fed_until_reported(agent, told) -> float:
    """Return the longest time in seconds without WATCHDOG=1 between the first of them and the first report.

    The start of the process does not count: it depends on the machine, and systemd's TimeoutStartSec limits it.
    """
    fed: list[float] = []
    while not (agent.folder / "run" / "report.json").exists():
        with contextlib.suppress(TimeoutError):
            if b"WATCHDOG=1" in told.recv(4096):
                fed.append(time.monotonic())
    assert fed
    return max(after - before for before, after in itertools.pairwise((*fed, time.monotonic())))


def test_a_slow_placement_does_not_delay_watchdog_messages(agent, placement):
    """During an audit with slow answers of Placement, the daemon still tells systemd in time that it is alive."""
    root = placement.make_provider(agent.host)
    (agent.folder / "compute_id").write_text(root)
    placement.set_inventories(root, {"VCPU": {"total": 64}})
    for _ in range(10):
        placement.allocate({root: {"VCPU": 1}})
    slow = threading.Event()
    with gateway(placement.server.url) as between, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(agent.folder / "notify"))
        told.settimeout(0.05)
        between.before = lambda _asked: slow.wait(SLOW_S) or None
        agent.configure(url=between.url)
        environment = {"NOTIFY_SOCKET": told.getsockname(), "WATCHDOG_USEC": "300000"}
        agent.start_changed(HASTY, environment, "--no-publish")
        longest = fed_until_reported(agent, told)
        agent.close()
    assert agent.report()["placement"]["requests"] * SLOW_S > 2 * STALL_S + 1
    assert longest < STALL_S + 1


def test_sigterm_ends_the_daemon_during_a_pause(agent, placement):
    """The daemon pauses for 35 s before its next read of a slow Placement; SIGTERM ends it at once with exit code 0."""
    asked, answered, late = [], [], threading.Event()

    def is_pause() -> bool:
        return len(asked) == len(answered) == 1 and time.monotonic() - answered[0] > 1

    def answer_late(_asked: Asked) -> None:
        if not answered:
            late.wait(2)
        answered.append(time.monotonic())

    with gateway(placement.server.url) as between:
        between.before, between.after = asked.append, answer_late
        agent.configure(url=between.url, late_s=0.1)
        agent.start_changed(LONG_PAUSES, {}, "--no-publish")
        until(is_pause, PATIENCE_S, "the pause after the first answer")
        agent.process.send_signal(signal.SIGTERM)
        assert agent.process.wait(STOP_S) == 0


def test_findings_stay_in_memory_without_findings_json(agent, placement):
    """The daemon cannot write findings.json; it remembers its findings, confirms them, and logs the failure once."""
    # A folder takes the file's place, and another folder each name under which the agent would set the file aside.
    for suffix in ("", ".bad", *(f".bad.{number}" for number in range(1, 10))):
        (agent.folder / "state" / f"findings.json{suffix}" / "full").mkdir(parents=True)
    agent.configure(url=placement.server.url)
    agent.start()
    agent.until_logged("placement written")
    agent.process.send_signal(signal.SIGUSR1)
    until(lambda: "signal: USR1" in agent.report()["reasons"], PATIENCE_S, "an audit more")
    assert agent.report()["outcome"] == "findings"
    assert agent.report()["findings"][0]["confirmed"], "what the first audit saw is remembered"
    assert len(agent.records("findings' history not written, tried again by the next audit")) == 1
    placement.delete_provider(agent.report()["provider_uuid"])


def test_a_failed_write_is_retried_without_periodic_audits(agent, placement):
    """Placement answers writes with 503; the daemon retries by itself, even if periodic audits are disabled."""
    with gateway(placement.server.url) as between:
        between.before = lambda asked: Answer(status=503) if asked.method == "PUT" else None
        agent.configure(url=between.url, interval=-1)
        agent.start()
        until(lambda: "retry" in agent.report()["reasons"], PATIENCE_S, "a second try")
        assert agent.report()["error"] is not None
        between.before = lambda _asked: None
        agent.until_logged("placement written")
    placement.delete_provider(agent.report()["provider_uuid"])


def test_the_daemon_keeps_running_if_libvirt_is_unreachable(agent):
    """libvirt's socket does not exist; the daemon logs `source lost`, reports a finding and keeps running."""
    agent.configure(uri="qemu+unix:///system?socket=/nonexistent/socket")
    agent.start()
    (lost,) = agent.until_logged("source lost")
    assert lost["extra"]["source"] == "libvirt"
    until(lambda: agent.report()["findings"], PATIENCE_S, "a report")
    (placement,) = [source for source in agent.report()["sources"] if source["name"] == "placement"]
    assert (placement["ok"], placement["asked"], placement["error"]) == (False, False, None)
    assert placement["not_asked_because"] == "libvirt was not read, so this host's provider uuid is not known"
    assert [finding["subject"] for finding in agent.report()["findings"]] == ["libvirt"]
    assert agent.process.poll() is None
    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(STOP_S) == 0
    assert "Traceback" not in agent.log.read_text()


def test_sighup_logs_which_option_needs_a_restart(agent):
    """After SIGHUP the daemon uses the new interval, and logs that [libvirt] connection_uri needs a restart."""
    agent.start()
    agent.until_logged("outcome changed")
    agent.configure(interval=1, uri="test:///other", extra="debug = true")
    agent.process.send_signal(signal.SIGHUP)
    agent.until_logged("configuration reloaded")
    (named,) = agent.records("option needs a restart")
    assert named["extra"]["option"] == "[libvirt] connection_uri"
    agent.until_audited_for("interval", 1)
    assert {record["process"] for record in agent.records("audit done")} == {agent.process.pid}


def splayed(start_splay: float) -> str:
    return f"debug = true\n[agent]\nstart_splay = {start_splay}"


def test_signals_start_an_audit_during_the_start_delay(agent):
    """Option [agent] start_splay delays the daemon's first audit; SIGUSR1 or SIGHUP starts an audit at once."""
    agent.configure(interval=1, extra=splayed(100_000 / start_delay_s(agent.host, 1.0)))
    agent.start()
    agent.until_logged("libvirt events connected")

    def is_waiting() -> bool:
        agent.process.send_signal(signal.SIGUSR2)
        dumps = agent.records("state dump")
        return bool(dumps) and "interval" in dumps[-1]["extra"]["waiting"]

    until(is_waiting, PATIENCE_S, "an interval that waits for the start's turn")
    with pytest.raises(AssertionError):
        until(lambda: agent.records("audit done"), 1, "an audit before the start's turn")
    agent.process.send_signal(signal.SIGUSR1)
    asked = agent.until_logged("audit done")[0]["extra"]["reasons"]
    assert {"interval", "signal: USR1"} <= set(asked)
    agent.process.send_signal(signal.SIGHUP)
    assert "reload" in agent.until_logged("audit done", 2)[1]["extra"]["reasons"]


def test_the_first_audit_waits_for_the_start_delay(agent):
    """The daemon's first audit comes after the delay of option [agent] start_splay, even if the interval is shorter."""
    delay_s = 5.0  # the interval's first audit comes within 1.5 s: long before, even on a slow machine
    agent.configure(interval=1, extra=splayed(delay_s / start_delay_s(agent.host, 1.0)))
    began = time.monotonic()
    agent.start()
    first = agent.until_logged("audit done")[0]["extra"]["reasons"]
    assert time.monotonic() - began >= delay_s
    assert {"interval", "start-up"} <= set(first)
    agent.until_audited_for("interval", 2)


def test_sighup_keeps_old_settings_for_an_invalid_file(agent):
    """At SIGHUP the configuration file is invalid; the daemon logs the problem and keeps its old settings."""
    agent.start()
    agent.until_logged("outcome changed")
    agent.configure(extra="colour = blue")
    agent.process.send_signal(signal.SIGHUP)
    refused = agent.until_logged("reload refused, old configuration kept")[0]
    assert "colour" in json.dumps(refused["extra"]["problems"])
    agent.process.send_signal(signal.SIGTERM)
    assert agent.process.wait(STOP_S) == 0


def test_a_reload_with_empty_options_keeps_audits_running(agent):
    """After a reload with empty values, such as `source_deadline =`, the daemon logs them and still audits."""
    agent.start()
    agent.until_logged("outcome changed")
    empty = "confirm_audits =\nsource_deadline =\nsummary_interval =\n"
    more = f"debug = true\n[agent]\n{empty}[placement]\nfull_read_every =\nconsumer_reads =\n"
    agent.configure(interval="", extra=more)
    agent.process.send_signal(signal.SIGHUP)
    agent.until_logged("configuration reloaded")
    notices = [record["extra"]["notice"] for record in agent.records("configuration notice")]
    assert {notice.split(": ")[1].split(" is ")[0] for notice in notices} == {
        *("[agent] confirm_audits", "[agent] source_deadline", "[agent] summary_interval"),
        *("[placement] full_read_every", "[placement] consumer_reads", "[DEFAULT] update_resources_interval"),
    }
    agent.until_audited_for("reload", 1)
    assert agent.report()["outcome"] != "crashed"
    assert "Traceback" not in agent.log.read_text()


def test_empty_logging_options_do_not_crash_the_agent(agent):
    agent.configure(extra="\n".join(f"{opt.dest} =" for opt in logging_opts() if opt.dest != "use_json"))
    done = agent.once()
    assert (done.returncode, "Traceback" in done.stderr) == (2, False), done.stderr


def test_the_daemon_runs_as_one_process_without_eventlet(agent):
    agent.start()
    agent.until_logged("outcome changed")
    pid = agent.process.pid
    assert pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text() == ""
    mapped = pathlib.Path(f"/proc/{pid}/maps").read_text()
    assert "eventlet" not in mapped
    assert "greenlet" not in mapped


def test_sighup_does_not_count_as_a_stop_request():
    """SIGTERM counts as a request to stop the daemon, but SIGHUP does not."""
    inbox = queue.SimpleQueue()
    assert not stop_asked(inbox)
    inbox.put(signal.SIGHUP)
    assert not stop_asked(inbox)
    inbox.put(signal.SIGTERM)
    assert stop_asked(inbox)
    assert stop_asked(inbox)


def test_the_placement_token_is_never_logged(agent):
    agent.conf.write_text(agent.conf.read_text().replace(f"token = {TOKEN}", "token = opensesame"))
    agent.conf.write_text(agent.conf.read_text().replace("use_json = true", "use_json = true\ndebug = true"))
    agent.start()
    agent.until_logged("audit done", 2)
    agent.process.send_signal(signal.SIGUSR2)
    agent.until_logged("state dump")
    assert "opensesame" not in agent.log.read_text()
