"""Read the configuration again while the daemon runs (SIGHUP).

This module does not use oslo.config's ``mutate_config_files``, which accepts a malformed value and raises at every
later read of that value (measured with oslo.config 10.7). Instead this module loads and checks all files again, and
applies either the whole result or nothing. Options that need a restart keep their running value. ``reload`` also checks
the new values together with the values that stay until a restart.
"""

from __future__ import annotations

import dataclasses

from agent.config.build import load_checked, require
from agent.config.loaded import Key, Loaded
from agent.config.traced_conf import empty_conf, in_oslo, set_override

#: The log line about a reload cuts each old and new value after this many characters.
SHOWN_CHARACTERS = 40


def reload(running: Loaded) -> Loaded:
    """Return the configuration after SIGHUP: mutable options with their new values, all others with running values.

    Raises ConfigError if the new configuration is invalid. The caller then keeps ``running``. This function never
    changes ``running``.
    """
    fresh = load_checked(running.config_files, running.config_dirs)
    mixed = _mixed(running, fresh)
    # The files are valid. But a new value may conflict with the running value of an option that needs a restart.
    require(mixed)
    return mixed


def needs_restart(running: Loaded, reloaded: Loaded) -> tuple[str, ...]:
    """Return ``[group] option``, sorted, of each option that changed in the files and needs a restart."""
    return tuple(sorted(f"[{group}] {name}" for group, name in _changed(running, reloaded)))


def changes(running: Loaded, reloaded: Loaded) -> tuple[str, ...]:
    """Return ``[group] option: old -> new``, sorted, of each option with a new effective value. Secrets are masked."""
    keys = sorted((group, opt.dest) for group, opt in running.options)
    changed = [key for key in keys if running.value(*key) != reloaded.value(*key)]
    return tuple(f"[{key[0]}] {key[1]}: {_side(running, key)} -> {_side(reloaded, key)}" for key in changed)


def _side(loaded: Loaded, key: Key) -> str:
    """Return the option's value as text. One log line contains all changes, so a long value is cut."""
    shown = loaded.shown(*key) or "(unset)"
    return shown if len(shown) <= SHOWN_CHARACTERS else f"{shown[:SHOWN_CHARACTERS]}..."


def _changed(running: Loaded, reloaded: Loaded) -> set[Key]:
    runs = {(group, opt.dest): running.value(group, opt.dest) for group, opt in running.options if not opt.mutable}
    mutable = {(group, opt.dest) for group, opt in reloaded.options if opt.mutable}
    configured = {key: value for key, value in reloaded.configured.items() if key not in mutable}
    return {key for key in runs.keys() | configured.keys() if runs.get(key) != configured.get(key)}


def _mixed(running: Loaded, fresh: Loaded) -> Loaded:
    """Return the running configuration, with the new value of each mutable option.

    The result has a new ConfigOpts with the options of ``running`` only. The options of a new auth plugin are left out,
    because they may conflict with those of the old plugin. For example, keystoneauth's ``admin_token`` and ``none``
    each define a different ``endpoint``.
    """
    conf = empty_conf()
    sources = {(group, opt.dest): fresh if opt.mutable else running for group, opt in running.options}
    for group, opt in running.options:
        conf.register_opt(opt, group=in_oslo(group))
        set_override(conf, group, opt.dest, sources[group, opt.dest].value(group, opt.dest))
    return dataclasses.replace(
        running,
        conf=conf,
        origins={key: source.origins[key] for key, source in sources.items() if key in source.origins},
        configured=fresh.configured,
        entry_origins={key: one.entry_origins[key] for key, one in sources.items() if key in one.entry_origins},
        blanks=fresh.blanks,
        ignored=fresh.ignored,
    )
