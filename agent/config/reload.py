"""Read the configuration again while running (SIGHUP).

Not by oslo.config's ``mutate_config_files``: that takes a malformed value, and
every later read of it raises (measured, 10.7). A fresh load is whole and checked
or it is not taken. Options that need a restart keep the value they run with, so
that a half-changed file never gives a mixture nobody wrote.
"""

from __future__ import annotations

import dataclasses

from agent.config.build import load_checked, require
from agent.config.load import Key, Loaded
from agent.config.traced_conf import empty_conf, in_oslo, set_override


def reload(running: Loaded) -> Loaded:
    """What is in force after SIGHUP: mutable options as the files now say, the others as they run.

    Raises ConfigError where the files are not good: keep ``running`` then, which is
    left as it is in any case.
    """
    fresh = load_checked(running.config_files, running.config_dirs)
    mixed = _mixed(running, fresh)
    # Good files may still not go with what keeps running until a restart.
    require(mixed)
    return mixed


def needs_restart(running: Loaded, reloaded: Loaded) -> tuple[str, ...]:
    """``[group] option`` of what the files now say otherwise and only a restart applies, sorted."""
    return tuple(sorted(f"[{group}] {name}" for group, name in _changed(running, reloaded)))


def _changed(running: Loaded, reloaded: Loaded) -> set[Key]:
    runs = {(group, opt.dest): running.value(group, opt.dest) for group, opt in running.options if not opt.mutable}
    mutable = {(group, opt.dest) for group, opt in reloaded.options if opt.mutable}
    said = {key: value for key, value in reloaded.configured.items() if key not in mutable}
    return {key for key in runs.keys() | said.keys() if runs.get(key) != said.get(key)}


def _mixed(running: Loaded, fresh: Loaded) -> Loaded:
    """The options that run, each with its new value where it is mutable.

    A ConfigOpts without files, because the options of two auth plugins cannot stand
    in one: ``endpoint`` of admin_token and of none are different options.
    """
    conf = empty_conf()
    origins: dict[Key, str] = {}
    entry_origins: dict[Key, tuple[str, ...]] = {}
    for group, opt in running.options:
        source = fresh if opt.mutable else running
        conf.register_opt(opt, group=in_oslo(group))
        set_override(conf, group, opt.dest, source.value(group, opt.dest))
        if (origin := source.origins.get((group, opt.dest))) is not None:
            origins[group, opt.dest] = origin
        if paths := source.entry_origins.get((group, opt.dest)):
            entry_origins[group, opt.dest] = paths
    return dataclasses.replace(
        running,
        conf=conf,
        origins=origins,
        configured=fresh.configured,
        entry_origins=entry_origins,
        blanks=fresh.blanks,
        ignored=fresh.ignored,
    )
