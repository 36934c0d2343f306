"""Only commands query the whole cloud: such a response may need more memory than the daemon may use."""

from tests.rigs.source_tree import agent_modules, imports

MODULES = agent_modules()


def _reachable(start: str) -> set[str]:
    """Return all modules of the agent that importing ``start`` may load, including imports inside functions."""
    known, waiting = {start}, [start]
    while waiting:
        for _, found in imports(MODULES[waiting.pop()]):
            for module in (found, found.rpartition(".")[0]):
                if module in MODULES and module not in known:
                    known.add(module)
                    waiting.append(module)
    return known


def test_the_daemon_imports_no_code_that_reads_all_hosts():
    """Only commands may read the providers of all hosts from Placement.

    The daemon imports no code that does this. The reason is that Placement's answer may need too much memory.
    """
    users = {name for name, path in MODULES.items() if "WHOLE_CLOUD" in path.read_text()} - {
        "agent.placement.http.bounds"
    }
    assert users == {"agent.placement.offers"}
    daemon = _reachable("agent.cmd.daemon")
    assert "agent.placement.reader" in daemon
    assert not users & daemon
