"""Find the options of the keystoneauth plugin that [placement] uses.

The options depend on ``auth_type``, which may be set in Stocktake's own files or in
nova.conf, in [placement] or in the group that ``auth_section`` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from keystoneauth1 import exceptions as keystone
from keystoneauth1 import loading
from oslo_config import cfg

from agent.config.files import ConfigFile, group_name, last_set
from agent.config.options import placement


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthOptions:
    """``options``: (group, option) of auth_type and of the plugin. ``unchecked``: a group without valid auth_type."""

    options: tuple[tuple[str, cfg.Opt], ...]
    unchecked: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()


def auth_options(ours: Sequence[ConfigFile], theirs: Sequence[ConfigFile]) -> AuthOptions:
    """Return the options of the configured plugin, and a problem if no such plugin exists.

    ``ours`` are Stocktake's own files, ``theirs`` is nova.conf.
    """
    common = {opt.dest: opt for opt in loading.get_auth_common_conf_options()}
    section_set = _first_set(ours, theirs, placement.GROUP, common["auth_section"])
    section = section_set[1] if section_set else placement.GROUP
    own = ((section, common["auth_type"]),)
    type_set = _first_set(ours, theirs, section, common["auth_type"])
    if type_set is None:
        return AuthOptions(options=own, unchecked=frozenset({group_name(section)}))
    file, auth_type = type_set
    try:
        plugin = loading.get_auth_plugin_conf_options(auth_type)
    except keystone.NoMatchingPlugin:
        names = ", ".join(sorted(loading.get_available_plugin_names()))
        problem = f"{file.path}: [{section}] auth_type = {auth_type}: no such auth plugin; installed plugins: {names}"
        return AuthOptions(options=own, unchecked=frozenset({group_name(section)}), problems=(problem,))
    return AuthOptions(options=(*own, *((section, opt) for opt in plugin)))


def _first_set(
    ours: Sequence[ConfigFile], theirs: Sequence[ConfigFile], group: str, opt: cfg.Opt
) -> tuple[ConfigFile, str] | None:
    for files in (ours, theirs):
        if hit := last_set(files, group, opt):
            return hit
    return None
