"""The daemon needs no library that only draws text or pages: each would take memory on every hypervisor."""

import subprocess
import sys
from pathlib import Path

from agent.demo.placement import TOKEN
from tests.rigs.source_tree import ROOT, agent_modules, imports

MODULES = agent_modules()
#: rich draws the text of commands, Jinja2 fills in the pages of reports.
DRAWING = {"rich", "jinja2"}
HEALING = ("agent.guards", "agent.repairs", "agent.healing.daemon_heal")
#: Parts that only some configurations use; difflib only explains a mistake.
UNUSED = (
    *HEALING,
    *("agent.sources.storage.lvm", "agent.sources.storage.ceph", "agent.sources.storage.ndctl", "agent.sources.probe"),
    *("agent.sources.nova.sql", "agent.conductor", "agent.bus.transport", "sqlalchemy", "oslo_messaging", "difflib"),
)


def reached_from(start: str) -> tuple[set[str], set[str]]:
    """Return the agent's modules that ``start`` imports, also within functions, and the other libraries they import."""
    known, libraries, waiting = {start}, set(), [start]
    while waiting:
        for _, name in imports(MODULES[waiting.pop()]):
            module = name if name in MODULES else name.rpartition(".")[0]
            if module not in MODULES:
                libraries.add(name.partition(".")[0])
                continue
            # The import of a module also imports the packages above.
            parts = module.split(".")
            found = {".".join(parts[: count + 1]) for count in range(len(parts))} - known
            known |= found
            waiting += found
    return known, libraries


def test_no_module_of_the_daemon_imports_rich_or_jinja2():
    """No module that the daemon imports, directly or indirectly, imports rich or jinja2."""
    modules, libraries = reached_from("agent.cmd.daemon")
    assert {"agent.audit.run", "agent.healing.after_audit", "agent.cmd.wiring"} <= modules
    assert {"keystoneauth1", "oslo_log"} <= libraries
    assert libraries & DRAWING == set()


def test_the_import_check_notices_an_import_of_rich():
    """The check of indirect imports sees that the command `stocktake findings` imports the library rich."""
    assert "rich" in reached_from("agent.cmd.commands.findings")[1]


def test_importing_the_daemon_loads_neither_rich_nor_jinja2():
    program = (
        "import sys; import agent.cmd.daemon, agent.cmd.wiring, agent.cmd.bus_wiring, agent.daemon.assembly, "
        f"agent.healing.after_audit, agent.bus.service; print(sorted(set({sorted(DRAWING)}) & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_importing_the_daemon_does_not_load_heal_modules():
    """Heal (automatic repair) is off by default. The agent imports the code for heal only when heal first runs."""
    program = (
        "import sys; import agent.cmd.daemon, agent.cmd.wiring, agent.daemon.assembly, agent.healing.after_audit; "
        f"print([name for name in {HEALING} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_minimal_daemon_loads_no_unused_features(tmp_path: Path):
    """A daemon without heal, LVM, Ceph, a database and a message bus loads no module of these features."""
    file, nova_conf = tmp_path / "stocktake.conf", tmp_path / "nova.conf"
    nova_conf.touch()
    file.write_text(
        f"[agent]\nnova_conf = {nova_conf}\nstate_dir = {tmp_path}\nrun_dir = {tmp_path}\n"
        "[state]\nsource = none\n[libvirt]\nconnection_uri = test:///default\n"
        f"[placement]\nauth_type = admin_token\ntoken = {TOKEN}\nendpoint_override = http://127.0.0.1:9\n"
    )
    program = (
        "import sys; from agent.cmd import daemon; daemon.block_modules(); from agent.model.audit import Publish\n"
        f"arguments = daemon.parse(['--config-file', {str(file)!r}])\n"
        "wired = daemon.start_up(daemon.configured(arguments), arguments, Publish.BY_ROLE)\n"
        f"print(wired.parts.state.name, [name for name in {UNUSED} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "state []\n"
