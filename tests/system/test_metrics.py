"""Metrics of a running daemon: over TCP and in a file, scraped without effect on its audits."""

import http.client
import os
import signal
import subprocess

import pytest

from tests.rigs.agent_process import Agent
from tests.rigs.host import PATIENCE_S
from tests.rigs.mariadb import free_port
from tests.rigs.mounts import Mounts, needs_mounts
from tests.rigs.prometheus import node_exporter
from tests.rigs.wait import until


@pytest.fixture
def agent(tmp_path):
    agent = Agent(tmp_path)
    yield agent
    agent.close()


def scraped(port, path="/metrics", accept="text/plain"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", path, headers={"Accept": accept})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer, body


def value(body, series):
    found = [line.rpartition(" ")[2] for line in body.splitlines() if line.startswith(f"{series} ")]
    return float(found[0]) if found else None


def test_the_daemon_provides_metrics_without_placement(agent):
    """Placement is down; the daemon still provides its Prometheus metrics over HTTP and in a file."""
    port, folder = free_port(), agent.folder / "node"
    folder.mkdir()
    file = folder / "stocktake.prom"
    metrics = f"[metrics]\nuri = tcp://127.0.0.1:{port}\ntextfile = {file}\n"
    agent.configure(extra=f"debug = true\n{metrics}")
    agent.start("--no-publish")
    agent.until_logged("audit done")
    until(file.exists, PATIENCE_S, "the file")
    answer, body = scraped(port)
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert value(body, 'stocktake_source_up{source="placement"}') == 0.0
    assert value(body, 'stocktake_source_up{source="libvirt"}') == 1.0
    assert value(body, "process_resident_memory_bytes") > 1e7
    assert "process_" not in file.read_text()
    opened, as_openmetrics = scraped(port, accept="application/openmetrics-text; version=1.0.0")
    assert opened.headers["Content-Type"].startswith("application/openmetrics-text")
    assert as_openmetrics.endswith("# EOF\n")
    assert as_openmetrics.count("# EOF") == 1
    assert scraped(port, "/livez")[1] == "ok\n"
    done = subprocess.run(["promtool", "check", "metrics"], input=body, text=True, capture_output=True, check=False)
    assert [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("process_")] == []

    audits = value(body, 'stocktake_audit_reasons_total{reason="signal"}')
    agent.process.send_signal(signal.SIGUSR1)
    until(
        lambda: value(scraped(port)[1], 'stocktake_audit_reasons_total{reason="signal"}') == audits + 1,
        PATIENCE_S,
        "the audit that the signal requested",
    )
    agent.configure(extra=f"debug = true\nupdate_resources_interval = x\n{metrics}")
    agent.process.send_signal(signal.SIGHUP)
    until(
        lambda: value(scraped(port)[1], "stocktake_config_last_reload_successful") == 0.0,
        PATIENCE_S,
        "a refused reload",
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("textfile = stocktake.prom", "must be an absolute path"),
        ("textfile = /tmp/stocktake.txt", "must end in .prom"),
        ("textfile = /nowhere/stocktake.prom", "there is no folder /nowhere"),
        ("uri = tcp://127.0.0.1", "a TCP address is a host and a port"),
    ],
)
def test_an_invalid_metrics_option_ends_the_agent_with_78(agent, line, problem):
    """[metrics] textfile or uri is invalid; the agent prints the option and the problem, and exits with 78."""
    agent.configure(extra=f"[metrics]\n{line}")
    done = agent.once()
    assert done.returncode == 78
    assert f"[metrics] {line}" in done.stderr
    assert problem in done.stderr


@needs_mounts
def test_a_full_disk_leaves_the_last_metrics_file_complete(agent):
    """The daemon cannot write its metrics file on a full disk; node_exporter still reads the last complete file."""
    mounts = Mounts()
    folder, full = agent.folder / "node", agent.folder / "node" / "full"
    file, port = folder / "stocktake.prom", free_port()
    try:
        mounts.small_tmpfs(folder, size_kib=256)
        agent.configure(extra=f"debug = true\n[metrics]\ntextfile = {file}\n")
        agent.start("--no-publish")
        until(file.exists, PATIENCE_S, "the file")
        free = os.statvfs(folder)
        full.write_bytes(bytes(free.f_bavail * free.f_frsize))
        before = agent.until_logged("audit done")
        agent.process.send_signal(signal.SIGUSR1)
        agent.until_logged("audit done", len(before) + 1)
        agent.until_logged("metrics file not written, tried again by the next audit")
        audits = value(file.read_text(), 'stocktake_audits_total{outcome="partial"}')
        assert audits == len(before)
        with node_exporter(folder, port):
            _, body = scraped(port)
        assert value(body, "node_textfile_scrape_error") == 0.0
        assert value(body, 'stocktake_audits_total{outcome="partial"}') == audits
        full.unlink()
        agent.process.send_signal(signal.SIGUSR1)
        until(
            lambda: value(file.read_text(), 'stocktake_audits_total{outcome="partial"}') > audits,
            PATIENCE_S,
            "the file after the file system has room again",
        )
    finally:
        agent.close()
        mounts.close()
