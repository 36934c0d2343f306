"""Which module may import which: the contracts in pyproject.toml, and the rules below package level."""

import ast
import pathlib
import re
import subprocess
import sys

import pytest

from tests.rigs.source_tree import ROOT, agent_modules, functions, imports, parse

MODULES = agent_modules()

PURE_PACKAGES = (
    *("agent.audit.decide", "agent.books", "agent.findings", "agent.fleet", "agent.guards", "agent.healing.adopt_plan"),
    *("agent.healing.plan", "agent.model", "agent.nested", "agent.node_record", "agent.provider_tree", "agent.repairs"),
    *("agent.resources", "agent.text", "agent.timing", "agent.traits", "agent.why"),
)
PURE_SUFFIXES = ("_xml", "_json", "_rows", ".wire")
CLAIM = re.compile(r"\bPure[:.]")


def _is_pure(name: str, path: pathlib.Path) -> bool:
    """Return whether the module is pure by its package, by its name, or because its own header claims it."""
    if name == "agent.errors" or name.startswith(PURE_PACKAGES) or name.endswith(PURE_SUFFIXES):
        return True
    return bool(CLAIM.search(ast.get_docstring(parse(path)) or ""))


PLACED = {name for name, path in MODULES.items() if _is_pure(name, path)}


def _with_what_they_use(names: set[str]) -> set[str]:
    """Return these modules and every module of the agent that they import: a pure module's imports must be pure too."""
    known = set(names)
    waiting = list(names)
    while waiting:
        for _, found in imports(MODULES[waiting.pop()]):
            module = found if found in MODULES else found.rpartition(".")[0]
            if module in MODULES and module not in known:
                known.add(module)
                waiting.append(module)
    return known


PURE = {name: MODULES[name] for name in sorted(_with_what_they_use(PLACED))}

# Standard library packages that pure code may import: no clock, randomness, file, socket, process, thread or log.
PURE_STDLIB = {
    *("__future__", "abc", "bisect", "collections", "contextlib", "dataclasses", "datetime", "decimal", "difflib"),
    *("email", "enum", "fractions", "functools", "hashlib", "heapq", "html", "ipaddress", "itertools", "json", "math"),
    *("operator", "re", "shlex", "statistics", "string", "textwrap", "types", "typing", "unicodedata", "uuid", "xml"),
}
# Single pure modules of packages that are not pure as a whole.
PURE_STDLIB_MODULES = ("urllib.parse",)
PURE_LIBRARIES = {"os_traits", "os_resource_classes"}
# A parser may import the types of the values that it returns, but not the code that decides with those values.
PURE_AGENT = {
    "agent.errors": (),
    "agent.model": ("agent.model", "agent.errors"),
    "agent.sources": ("agent.model", "agent.errors", "agent.text", "agent.sources"),
    "agent.placement": ("agent.model", "agent.errors", "agent.text", "agent.timing", "agent.placement"),
    "agent.conductor": ("agent.model", "agent.errors", "agent.text", "agent.sources", "agent.conductor"),
}
DECIDING_AGENT = (*PURE_PACKAGES, "agent.errors", "agent.render.documents", "agent.usage_error")

# Calls that read a clock, a random source or the outside world, in modules that are otherwise allowed.
IMPURE_NAMES = {"open", "print", "input", "exec", "eval", "breakpoint"}
IMPURE_ATTRIBUTES = {"now", "utcnow", "today", "uuid1", "uuid4", "fromtimestamp", "localtime"}

# Where each driver library may be imported. The demo builds a small cloud: it writes a database and starts Placement.
# keystoneauth reads its options from an oslo.config object, so placement.access receives such an object.
DRIVERS = {
    "libvirt": ("agent.sources.libvirt", "agent.demo"),
    "sqlalchemy": ("agent.sources.nova", "agent.demo"),
    "pymysql": ("agent.sources.nova",),
    "keystoneauth1": ("agent.placement", "agent.config"),
    "requests": ("agent.placement", "agent.demo"),
    "oslo_config": ("agent.config", "agent.cmd", "agent.placement.http.access", "agent.demo", "agent.bus.transport"),
    "oslo_messaging": ("agent.bus", "agent.conductor"),
    "oslo_reports": ("agent.cmd.log_output",),
    "oslo_service": ("agent.backend",),
    "cliff": ("agent.cmd",),
    # Only text of a command needs rich. The daemon must not import it.
    "rich": ("agent.render.draw", "agent.cmd.watching"),
    # Only HTML pages need Jinja2. The daemon must not import it.
    "jinja2": ("agent.pages.render",),
    "waitress": ("agent.demo",),
    "placement": ("agent.demo",),
}


def _top(name: str) -> str:
    return name.partition(".")[0]


def _within(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def _allowed_agent(module: str) -> tuple[str, ...]:
    """Return the packages that a pure module may import; one that only claims purity may import any pure module."""
    own = next((allowed for package, allowed in PURE_AGENT.items() if _within(module, (package,))), None)
    if own is not None:
        return own
    return DECIDING_AGENT if _within(module, PURE_PACKAGES) else ("agent",)


def test_some_but_not_all_modules_are_pure():
    """A pure module has no side effects. Some modules, such as agent.errors, are pure, but not all are."""
    assert {"agent.errors", "agent.model.claim", "agent.model.snapshot"} <= PURE.keys()
    assert len(PURE) < len(MODULES)


@pytest.mark.parametrize("module", PURE)
def test_a_pure_module_imports_only_allowed_modules(module: str):
    """A module without side effects imports no library that reads a clock, a file or a socket, or starts a process."""
    forbidden = []
    for line, name in imports(PURE[module]):
        if _top(name) == "agent":
            allowed = _within(name, _allowed_agent(module))
        elif _top(name) in sys.stdlib_module_names:
            allowed = _top(name) in PURE_STDLIB or _within(name, PURE_STDLIB_MODULES)
        else:
            allowed = _top(name) in PURE_LIBRARIES
        if not allowed:
            forbidden.append(f"line {line}: {name}")
    assert forbidden == [], "a module of the standard library without side effects may be added to PURE_STDLIB"


@pytest.mark.parametrize("module", PURE)
def test_a_pure_module_calls_no_function_with_side_effects(module: str):
    """A pure module has no side effects, so it does not call open(), print(), now() or the like."""
    impure = []
    for node in ast.walk(parse(PURE[module])):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in IMPURE_NAMES:
            impure.append(f"line {node.lineno}: {node.func.id}()")
        if isinstance(node.func, ast.Attribute) and node.func.attr in IMPURE_ATTRIBUTES:
            impure.append(f"line {node.lineno}: .{node.func.attr}()")
    assert impure == []


@pytest.mark.parametrize("module", PURE)
def test_a_pure_module_has_no_global_statement(module: str):
    """No function of a module without side effects contains a `global` statement."""
    states = [
        f"line {node.lineno}: {type(node).__name__.lower()}"
        for function in functions(parse(PURE[module]))
        for node in ast.walk(function)
        if isinstance(node, ast.Global)
    ]
    assert states == []


def test_the_audit_package_does_not_import_agent_sources():
    """Modules in agent/audit import the interfaces in agent.ports instead of the readers in agent.sources."""
    pipeline = [name for name in MODULES if _within(name, ("agent.audit",))]
    edges = ("agent.sources", "agent.ports")
    seen = {name for module in pipeline for _, name in imports(MODULES[module]) if _within(name, edges)}
    assert seen
    assert [name for name in seen if not _within(name, ("agent.ports",))] == []


@pytest.mark.parametrize("driver", DRIVERS)
def test_each_listed_library_is_imported_only_where_allowed(driver: str):
    """A table in this test file has the packages that may import each library.

    For example, only agent/sources/libvirt and agent/demo may import libvirt.
    """
    strangers = [
        f"{module}, line {line}"
        for module, path in MODULES.items()
        for line, name in imports(path)
        if _top(name) == driver and not module.startswith(DRIVERS[driver])
    ]
    assert strangers == []


@pytest.mark.parametrize("module", MODULES)
def test_no_agent_module_imports_eventlet_or_nova(module: str):
    assert [name for _, name in imports(MODULES[module]) if _top(name) in ("eventlet", "greenlet", "nova")] == []


def _loaded_after(program: str) -> set[str]:
    """Return the names of all modules that a fresh interpreter has loaded after running the program."""
    shown = f"{program}\nimport sys; print(*(name for name, loaded in sys.modules.items() if loaded is not None))"
    done = subprocess.run(
        [sys.executable, "-c", shown], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.split())


def test_the_daemon_loads_only_the_libraries_it_needs():
    """Importing the daemon's modules does not load sqlalchemy, oslo_messaging, eventlet, cliff or rich."""
    loaded = _loaded_after(
        "from agent.cmd import daemon\n"
        "daemon.block_modules()\n"
        "import agent.daemon.assembly, agent.audit.run, agent.cmd.wiring, agent.config.load, agent.cmd.logs"
    )
    assert {"agent.audit.run", "libvirt"} <= loaded
    unwanted = {"eventlet", "greenlet", "cliff", "cmd2", "prettytable", "rich", "sqlalchemy", "pymysql"}
    unwanted |= {"oslo_messaging", "oslo_service", "agent.demo", "placement", "waitress"}
    assert loaded & unwanted == set()


def test_the_command_line_does_not_load_eventlet():
    loaded = _loaded_after("import agent.cmd.shell")
    assert "agent.cmd.shell" in loaded
    assert "eventlet" not in loaded


def test_import_linter_reports_no_broken_contract():
    """The tool `lint-imports` accepts the agent's imports by the contracts in pyproject.toml."""
    done = subprocess.run(
        [str(pathlib.Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
