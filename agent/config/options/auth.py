"""Find the options of the keystoneauth plugin that [placement] uses.

The options depend on ``auth_type``, which may be set in Stocktake's own files or in nova.conf, in [placement] or in the
group that ``auth_section`` names.
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
    """The options that the auth plugin reads.

    ``options`` are pairs of a group and an option: first the option ``auth_type``, then the plugin's own options.
    ``unchecked`` has the group of these options if ``auth_type`` is unset or names no installed plugin. The plugin's
    option names are then not known, so the agent accepts any option name in this group.
    """

    options: tuple[tuple[str, cfg.Opt], ...]
    unchecked: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()


def auth_options(own: Sequence[ConfigFile], nova_conf: Sequence[ConfigFile]) -> AuthOptions:
    """Return the options of the auth plugin that the files configure, or a problem if there is no such plugin."""
    common = {opt.dest: opt for opt in loading.get_auth_common_conf_options()}
    place = (placement.GROUP, common["auth_section"])
    section_set = last_set(own, *place) or last_set(nova_conf, *place)
    section = section_set[1] if section_set else placement.GROUP
    type_option = ((section, common["auth_type"]),)
    type_set = last_set(own, section, common["auth_type"]) or last_set(nova_conf, section, common["auth_type"])
    if type_set is None:
        return AuthOptions(options=type_option, unchecked=frozenset({group_name(section)}))
    file, auth_type = type_set
    try:
        plugin = loading.get_auth_plugin_conf_options(auth_type)
    except keystone.NoMatchingPlugin:
        names = ", ".join(sorted(loading.get_available_plugin_names()))
        problem = f"{file.path}: [{section}] auth_type = {auth_type}: no such auth plugin; installed plugins: {names}"
        return AuthOptions(options=type_option, unchecked=frozenset({group_name(section)}), problems=(problem,))
    return AuthOptions(options=(*type_option, *((section, opt) for opt in plugin)))
