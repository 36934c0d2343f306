"""Read the configuration again while running (SIGHUP).

Not by oslo.config's ``mutate_config_files``: that takes a malformed value, and
every later read of it raises (measured, 10.7). A fresh load is whole and checked
or it is not taken. Options that need a restart keep the value they run with, so
that a half-changed file never gives a mixture nobody wrote.
"""

from __future__ import annotations

import dataclasses

from agent.config.book import in_oslo, set_override
from agent.config.build import require
from agent.config.load import Key, Loaded, load


def reload(running: Loaded) -> Loaded:
    """What is in force after SIGHUP: mutable options as the files now say, the others as they run.

    Raises ConfigError where the files, or the two together, are not good: keep
    ``running`` then. ``running`` itself is left as it is.
    """
    fresh = load(running.config_files, running.config_dirs)
    require(fresh)
    pinned = _pin(running, fresh)
    require(pinned)
    return pinned


def needs_restart(running: Loaded, reloaded: Loaded) -> tuple[str, ...]:
    """``[group] option`` of what the files now say otherwise and only a restart applies, sorted."""
    return tuple(sorted(f"[{group}] {name}" for group, name in _changed(running, reloaded)))


def _immutable(loaded: Loaded) -> dict[Key, object]:
    return {(group, opt.dest): opt for group, opt in loaded.options if not opt.mutable}


def _changed(running: Loaded, reloaded: Loaded) -> list[Key]:
    keys = _immutable(running).keys() | _immutable(reloaded).keys()
    known = {(group, opt.dest) for group, opt in running.options}
    return [key for key in keys if (running.value(*key) if key in known else None) != reloaded.configured.get(key)]


def _pin(running: Loaded, fresh: Loaded) -> Loaded:
    """``fresh`` with every option that needs a restart as it runs, options of another auth plugin included."""
    options = list(fresh.options)
    for group, opt in running.options:
        if opt.mutable:
            continue
        if fresh.conf.register_opt(opt, group=in_oslo(group)):
            options.append((group, opt))
        set_override(fresh.conf, group, opt.dest, running.value(group, opt.dest))
    pinned = {key: running.origin(*key) for key in _immutable(running)}
    origins = {key: path for key, path in (dict(fresh.origins) | pinned).items() if path != "default"}
    return dataclasses.replace(fresh, options=tuple(options), origins=origins, nova=running.nova)
