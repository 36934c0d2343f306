"""Read the configuration again while the daemon runs (SIGHUP).

This module does not use oslo.config's ``mutate_config_files``, which accepts a
malformed value and raises at every later read of it (measured with oslo.config 10.7).
Instead it loads and checks all files anew, and applies either the whole result or
nothing. Options that need a restart keep their running value, and ``reload`` checks
the resulting combination too: a partly edited file never yields an unchecked mixture.
"""

from __future__ import annotations

import dataclasses

from agent.config.build import load_checked, require
from agent.config.loaded import Key, Loaded
from agent.config.traced_conf import empty_conf, in_oslo, set_override


def reload(running: Loaded) -> Loaded:
    """Return the configuration after SIGHUP: mutable options with their new values, all others with running values.

    Raises ConfigError if the new configuration is invalid; the caller then keeps ``running``, which
    this function never changes.
    """
    fresh = load_checked(running.config_files, running.config_dirs)
    mixed = _mixed(running, fresh)
    # Valid files may still conflict with the values that stay until a restart.
    require(mixed)
    return mixed


def needs_restart(running: Loaded, reloaded: Loaded) -> tuple[str, ...]:
    """Return ``[group] option``, sorted, of each option that changed in the files and needs a restart."""
    return tuple(sorted(f"[{group}] {name}" for group, name in _changed(running, reloaded)))


def _changed(running: Loaded, reloaded: Loaded) -> set[Key]:
    runs = {(group, opt.dest): running.value(group, opt.dest) for group, opt in running.options if not opt.mutable}
    mutable = {(group, opt.dest) for group, opt in reloaded.options if opt.mutable}
    said = {key: value for key, value in reloaded.configured.items() if key not in mutable}
    return {key for key in runs.keys() | said.keys() if runs.get(key) != said.get(key)}


def _mixed(running: Loaded, fresh: Loaded) -> Loaded:
    """Return the running options, each mutable one with its new value.

    The result has a ConfigOpts without files. One ConfigOpts cannot contain the options of two auth
    plugins: ``endpoint`` of the plugin ``admin_token`` and ``endpoint`` of ``none`` are different options.
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
