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


def test_the_daemon_cannot_read_all_hosts_from_placement():
    """The daemon imports no code that reads all hosts, because Placement's answer may need too much memory."""
    users = {name for name, path in MODULES.items() if "WHOLE_CLOUD" in path.read_text()} - {
        "agent.placement.http.bounds"
    }
    assert users == {"agent.placement.offers"}
    daemon = _reachable("agent.cmd.daemon")
    assert "agent.placement.reader" in daemon
    assert not users & daemon
