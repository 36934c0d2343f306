"""Find the option groups whose existence depends on the configuration.

They are [mdev_TYPE], [neutron_physnet_NAME] and [oslo_messaging_rabbit]. The options on which they depend, and the
options of these groups, may be set in Stocktake's own files or in nova.conf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from oslo_config import cfg

from agent.config.options import devices, neutron
from agent.config.options.rabbit import GROUP as RABBIT
from agent.config.options.rabbit import rabbit_opts
from agent.config.traced_conf import Book
from agent.errors import ConfigError


class Family(NamedTuple):
    """Groups whose names begin with ``prefix``, such as [mdev_TYPE].

    ``group`` and ``option`` name the option that lists each TYPE.
    """

    prefix: str
    group: str
    option: str


MDEV = Family(devices.type_group(""), devices.GROUP, "enabled_mdev_types")
PHYSNETS = Family(neutron.physnet_group(""), neutron.GROUP, "physnets")
# [vgpu_TYPE] is the deprecated name of [mdev_TYPE]: one option lists the TYPEs of both.
FAMILIES = (MDEV, PHYSNETS, MDEV._replace(prefix="vgpu_"))


def dynamic_options(own: Book, nova_conf: Book) -> tuple[tuple[str, cfg.Opt], ...]:
    """Return (group, option) for each option of [mdev_TYPE], [neutron_physnet_NAME] and [oslo_messaging_rabbit].

    The option enabled_mdev_types lists each TYPE, and the option physnets lists each NAME. If Stocktake's ``own`` files
    set such a list, the list in nova.conf does not apply.
    """
    return (
        *_members(_in_force(own, nova_conf, MDEV), devices.type_group, devices.type_opts),
        *_members(_in_force(own, nova_conf, PHYSNETS), neutron.physnet_group, lambda _name: neutron.physnet_opts()),
        *_broker_opts(own, nova_conf),
    )


def _broker_opts(own: Book, nova_conf: Book) -> list[tuple[str, cfg.Opt]]:
    """Return the options of [oslo_messaging_rabbit], or an empty list if the agent does not need this group.

    The agent needs the group if ``transport_url`` is set, or if one of Stocktake's own files has the group.
    """
    (url,) = (opt for group, opt in own.options if (group, opt.dest) == ("DEFAULT", "transport_url"))
    is_named = any(book.file_of("DEFAULT", url) for book in (own, nova_conf))
    if not is_named and not any(RABBIT in file.sections for file in own.files):
        return []
    return [(RABBIT, opt) for opt in rabbit_opts()]


def _members(
    names: Sequence[str], group: Callable[[str], str], opts: Callable[[str], list[cfg.Opt]]
) -> list[tuple[str, cfg.Opt]]:
    return [(group(name), opt) for name in dict.fromkeys(names) if name for opt in opts(name)]


def _in_force(own: Book, nova_conf: Book, family: Family) -> Sequence[str]:
    (opt,) = (opt for group, opt in own.options if (group, opt.dest) == (family.group, family.option))
    for book in (own, nova_conf):
        if book.file_of(family.group, opt):
            try:
                named: list[str] = book.read(family.group, opt)
            except ConfigError:
                # The error is not reported here: load.py reads all options later, this one too, and reports all errors.
                return ()
            return named
    return ()
