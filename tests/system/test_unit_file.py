"""The unit file as systemd reads it; the tests need no running systemd."""

import configparser
import pathlib
import re
import shutil
import subprocess

import pytest

from agent.config.options.default import OPTS
from agent.daemon.runner import READY_AFTER_S
from agent.sources.probe.protocol import LONGEST_DEADLINE_S

ROOT = pathlib.Path(__file__).parents[2]
UNIT = ROOT / "systemd" / "stocktake-agent.service"
NEEDS_ANALYZE = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def analyze(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def unit(tmp_path) -> pathlib.Path:
    """A copy of the unit with a program that exists here, as ``systemd-analyze verify`` demands."""
    stub = tmp_path / "stocktake-agent"
    stub.write_text("#!/bin/sh\n")
    stub.chmod(0o755)
    copy = tmp_path / UNIT.name
    copy.write_text(UNIT.read_text().replace("/usr/bin/stocktake-agent", str(stub)))
    return copy


@pytest.fixture
def service() -> configparser.SectionProxy:
    parser = configparser.ConfigParser(strict=True, interpolation=None)
    parser.optionxform = str
    parser.read_string(UNIT.read_text())
    return parser["Service"]


@NEEDS_ANALYZE
def test_systemd_analyze_accepts_every_line_of_the_unit(unit):
    """`systemd-analyze verify` prints nothing about stocktake-agent.service."""
    answer = analyze("verify", "--recursive-errors=no", str(unit))
    # systemd only prints that it ignores a value it does not understand: any line about the unit is a failure.
    assert [line for line in (answer.stdout + answer.stderr).splitlines() if UNIT.name in line] == []
    assert answer.returncode == 0


@NEEDS_ANALYZE
def test_systemd_analyze_finds_an_invalid_line_in_the_unit(unit):
    """With WatchdogSec=often in stocktake-agent.service, `systemd-analyze verify` prints a complaint."""
    unit.write_text(unit.read_text().replace("WatchdogSec=60", "WatchdogSec=often"))
    answer = analyze("verify", "--recursive-errors=no", str(unit))
    assert f"{UNIT.name}:" in answer.stdout + answer.stderr


@NEEDS_ANALYZE
def test_the_unit_passes_systemd_analyze_security(unit):
    """stocktake-agent.service passes `systemd-analyze security --threshold=30`, a check of its sandboxing."""
    answer = analyze("security", "--offline=true", "--threshold=30", str(unit))
    assert answer.returncode == 0, answer.stdout[-300:] + answer.stderr


def exposure(folder: pathlib.Path, unit: str) -> float:
    answer = analyze("security", "--offline=true", str(folder / unit))
    return float(re.search(r"Overall exposure level for \S+: ([0-9.]+)", answer.stdout)[1])


@pytest.fixture
def units(tmp_path) -> pathlib.Path:
    """A folder with all units, and with the drop-in for an agent without privileges."""
    for path in (ROOT / "systemd").glob("stocktake-*"):
        shutil.copy(path, tmp_path)
    drop_ins = tmp_path / f"{UNIT.name}.d"
    drop_ins.mkdir()
    shutil.copy(ROOT / "systemd" / "unprivileged.conf", drop_ins)
    return tmp_path


@NEEDS_ANALYZE
def test_the_agents_unit_has_an_exposure_of_at_most_1_5(units):
    """With its drop-in file, the agent's unit has an exposure of at most 1.5 in `systemd-analyze security`."""
    assert exposure(units, UNIT.name) <= 1.5


@NEEDS_ANALYZE
def test_the_probe_unit_has_an_exposure_of_at_most_4(units):
    """`systemd-analyze security` rates the unit of the root helper stocktake-probe with 4 or less."""
    assert exposure(units, "stocktake-probe@.service") <= 4


@NEEDS_ANALYZE
@pytest.mark.parametrize("name", ["stocktake-probe@.service", "stocktake-probe.socket", UNIT.name])
def test_systemd_analyze_accepts_all_units_and_the_drop_in(units, tmp_path, name):
    """`systemd-analyze verify` prints no problem for the agent's unit, its drop-in, and the probe's two units."""
    for path in units.glob("*.service"):
        path.write_text(re.sub(r"/usr/bin/stocktake-\w+", "/bin/true", path.read_text()))
    answer = analyze("verify", "--recursive-errors=no", str(units / name.replace("@.", "@1.")))
    lines = (answer.stdout + answer.stderr).splitlines()
    assert [line for line in lines if "stocktake" in line or "unprivileged" in line] == []


def test_the_drop_in_removes_every_capability_of_the_agent():
    """With the file unprivileged.conf, systemd runs the agent as the user stocktake and without capabilities."""
    lines = (ROOT / "systemd" / "unprivileged.conf").read_text().splitlines()
    # An empty value clears the list of the unit.
    assert {"User=stocktake", "CapabilityBoundingSet=", "PrivateDevices=yes"} <= set(lines)
    # A later filter changes an earlier one: the agent gives its files to the group of their folder.
    assert lines.index("SystemCallFilter=~@resources @privileged") < lines.index("SystemCallFilter=@chown")
    assert "libvirt" not in "".join(line for line in lines if line.startswith(("SupplementaryGroups", "Group")))


def test_the_probe_socket_admits_only_root_and_the_agents_group():
    """The file stocktake-probe.socket sets the owner root, the group stocktake and the mode 0660."""
    lines = set((ROOT / "systemd" / "stocktake-probe.socket").read_text().splitlines())
    assert {"SocketUser=root", "SocketGroup=stocktake", "SocketMode=0660", "Accept=yes"} <= lines


def test_the_probe_service_has_few_privileges_and_no_network():
    """The unit stocktake-probe@.service sets PrivateNetwork=yes and keeps only two capabilities."""
    lines = set((ROOT / "systemd" / "stocktake-probe@.service").read_text().splitlines())
    assert {
        "CapabilityBoundingSet=CAP_SYS_ADMIN CAP_DAC_READ_SEARCH",
        "PrivateNetwork=yes",
        "RestrictAddressFamilies=AF_UNIX",
        f"RuntimeMaxSec={LONGEST_DEADLINE_S:.0f}",
        "TasksMax=16",
        "MemoryMax=256M",
    } <= lines


def test_the_systemd_timeouts_exceed_the_agents_timeouts(service):
    """For example, TimeoutStopSec exceeds graceful_shutdown_timeout, so systemd does not kill a slow agent."""
    (graceful,) = (opt.default for opt in OPTS if opt.dest == "graceful_shutdown_timeout")
    assert int(service["TimeoutStopSec"]) > graceful
    assert int(service["TimeoutStartSec"]) > READY_AFTER_S
    assert int(service["WatchdogSec"]) >= 10


def test_systemd_does_not_restart_the_agent_after_exit_5_or_78(service):
    """Exit code 5 means that another agent runs, and 78 that the configuration is invalid."""
    text = UNIT.read_text()
    assert "Requires=" not in text
    assert "BindsTo=" not in text
    assert (service["Type"], service["RestartPreventExitStatus"]) == ("notify", "5 78")


def test_systemd_restarts_a_failed_agent_without_a_limit(service):
    """The agent's unit has Restart=on-failure and StartLimitIntervalSec=0, so systemd never stops trying."""
    assert (service["Restart"], service["RestartSec"]) == ("on-failure", "5")
    assert "\nStartLimitIntervalSec=0\n" in UNIT.read_text().partition("[Service]")[0]


def test_the_unit_limits_the_agents_memory_and_tasks(service):
    """The agent's systemd unit sets MemoryMax and TasksMax, and switches core dumps off."""
    mib = {"M": 1, "G": 1024}
    memory = int(service["MemoryMax"][:-1]) * mib[service["MemoryMax"][-1]]
    # More than the agent and its largest command need, less than a hypervisor reserves for itself.
    assert 150 + 100 < memory <= 512
    # A guest that libvirt starts has the value 0.
    assert 0 < int(service["OOMScoreAdjust"]) <= 1000
    assert service["LimitCORE"] == "0"
    assert 64 <= int(service["TasksMax"]) <= 512


@pytest.mark.parametrize("option", ["PrivateDevices", "PrivateUsers", "ProtectClock", "DeviceAllow", "DynamicUser"])
def test_the_unit_does_not_hide_block_devices_from_the_agent(service, option):
    """The agent's systemd unit does not set PrivateDevices, PrivateUsers, ProtectClock, DeviceAllow or DynamicUser."""
    assert option not in service


def test_the_readme_commands_install_the_systemd_unit(tmp_path):
    """After the README's install commands, the systemd unit starts /opt/stocktake/bin/stocktake-agent."""
    (block,) = re.findall(r"## Install it.*?```console\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    commands = [text.replace("\\\n", " ") for text in re.split(r"^# ", block, flags=re.MULTILINE) if text]
    venv = tmp_path / "opt/stocktake"
    for source, target in (
        (UNIT, venv / "lib/systemd/system/stocktake-agent.service"),
        (ROOT / "systemd/stocktake.conf", venv / "lib/tmpfiles.d/stocktake.conf"),
    ):
        target.parent.mkdir(parents=True)
        shutil.copy(source, target)
    (tmp_path / "usr/local/bin").mkdir(parents=True)
    for command in commands:
        if command.startswith(("install ", "printf ", "ln ")):
            here = re.sub(r"(?<=\s)(/(?:etc|usr|opt))/", rf"{tmp_path}\1/", command)
            subprocess.run(["sh", "-euc", here], check=True, timeout=20)
    unit = tmp_path / "etc/systemd/system/stocktake-agent.service"
    lines = (unit.read_text() + (unit.with_name(f"{unit.name}.d") / "path.conf").read_text()).splitlines()
    started = [line.removeprefix("ExecStart=") for line in lines if line.startswith("ExecStart=")]
    # An empty ExecStart= clears those before it: only those after it count.
    assert started[started.index("") + 1 :] == ["/opt/stocktake/bin/stocktake-agent"]
    assert (tmp_path / "usr/local/bin/stocktake").readlink() == venv / "bin/stocktake"
    assert commands[-1].strip() == "systemctl daemon-reload"
