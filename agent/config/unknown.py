"""Report unknown options and groups in Stocktake's own files, each with the nearest known name.

oslo.config silently ignores a misspelt option, and the operator believes that the option applies. This module does not
check nova.conf, because Stocktake defines only a few of nova's options.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from oslo_config import cfg

from agent.config.files import ConfigFile, group_name
from agent.config.options.dynamic import FAMILIES
from agent.text.nearest import nearest

# Options, as (group, option), that an operator may reasonably try, and what to use instead.
INSTEAD = {
    ("DEFAULT", "state_path"): "set [agent] state_dir instead; the agent reads nova's state_path from nova.conf",
    ("DEFAULT", "lock_path"): "set [agent] state_dir instead; the agent's lock file is in that folder",
    ("database", "connection"): "put the URL of the cell database into [state] connection instead",
}


def known_names(options: Iterable[tuple[str, cfg.Opt]]) -> dict[str, frozenset[str]]:
    """Return for each group every option name that is valid in the group, deprecated names included."""
    names: dict[str, set[str]] = {}
    for group, opt in options:
        names.setdefault(group_name(group), set()).add(opt.dest)
        for old in opt.deprecated_opts:
            names.setdefault(group_name(old.group or group), set()).add(old.name or opt.dest)
    return {group: frozenset(found) for group, found in names.items()}


def unknown_options(
    files: Sequence[ConfigFile], known: Mapping[str, frozenset[str]], unchecked: frozenset[str] = frozenset()
) -> list[str]:
    """Return a sentence for each unknown group, and for each unknown option of a known group, with the nearest name.

    ``unchecked``: groups to skip, because their options are not known.
    """
    problems = []
    for file in files:
        for group, options in file.sections.items():
            if group in unchecked:
                continue
            strays = [name for name in options if name not in known.get(group, ())]
            instead = [f"{file.path}: unknown option [{group}] {name}{_hint(group, name, known)}" for name in strays]
            if group not in known and not any((group, name) in INSTEAD for name in options):
                problems.append(f"{file.path}: unknown group [{group}]{_nearest_group(group, options, known)}")
            else:
                problems += instead
    return problems


# The end of a message such as ``stocktake.conf: unknown option [agent] codes: the option belongs to [heal]``.
def _hint(group: str, name: str, known: Mapping[str, frozenset[str]]) -> str:
    if text := INSTEAD.get((group, name)):
        return f": {text}"
    if homes := sorted(other for other, names in known.items() if name in names):
        return f": the option belongs to [{homes[0]}]"
    if here := nearest(name.replace("-", "_"), sorted(known.get(group, ()))):
        return f": the nearest name is {here}"
    anywhere = {option: other for other, names in sorted(known.items()) for option in sorted(names)}
    near = nearest(name, anywhere)
    return f": the nearest name is [{anywhere[near]}] {near}" if near else ""


# The end of a message such as ``stocktake.conf: unknown group [hael]: the nearest name is [heal]``.
def _nearest_group(group: str, options: Iterable[str], known: Mapping[str, frozenset[str]]) -> str:
    lowered = {name.lower(): name for name in sorted(known)}
    for family in FAMILIES:
        if group.startswith(family.prefix):
            member = group.removeprefix(family.prefix)
            alike = nearest(group, [name for name in lowered if name.startswith(family.prefix)])
            end = f"; the nearest name is [{alike}]" if alike else ""
            return f": {member} is not in [{family.group}] {family.option}{end}"
    if near := nearest(group.lower(), lowered):
        return f": the nearest name is [{lowered[near]}]"
    for name in options:
        if homes := sorted(other for other, names in known.items() if name in names):
            return f": move the option {name} to [{homes[0]}]"
    return ""
