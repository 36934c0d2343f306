"""Check the configuration against this machine: users and groups, addresses, devices below /sys."""

from __future__ import annotations

import grp
import ipaddress
import os
import pwd
import socket
from collections.abc import Iterable
from pathlib import Path

from agent.config.loaded import Loaded
from agent.config.options.devices import other_names, type_group
from agent.host_files.kernel_files import TDX_CAPACITY, tdx_capacity

SYS = "/sys"


def host_problems(loaded: Loaded, sys_root: str = SYS) -> tuple[str, ...]:
    """Return a sentence for each setting that cannot work on this machine."""
    return (*_swtpm_problems(loaded), *_mdev_problems(loaded, sys_root))


def host_notices(loaded: Loaded, sys_root: str = SYS) -> tuple[str, ...]:
    """Return a sentence for each setting that is probably wrong for this machine. The agent uses the setting anyway."""
    return (*_address_notices(loaded), *_tdx_notices(loaded, Path(sys_root)))


def _swtpm_problems(loaded: Loaded) -> Iterable[str]:
    if not loaded.value("libvirt", "swtpm_enabled"):
        return
    for option, find in (("swtpm_user", pwd.getpwnam), ("swtpm_group", grp.getgrnam)):
        try:
            find(loaded.value("libvirt", option))
        except KeyError:
            kind = option.removeprefix("swtpm_")
            own = loaded.quote("libvirt", "swtpm_enabled")
            yield f"{loaded.quote('libvirt', option)}: there is no such {kind} on this machine, and {own} needs it"


def _mdev_problems(loaded: Loaded, sys_root: str) -> Iterable[str]:
    """Yield a problem for each of the device_addresses that is neither a PCI address nor below /sys/devices/virtual.

    In the name of a virtual device, ``_`` stands for ``/``: mtty_mtty is the folder mtty/mtty.
    """
    for type_id, name in other_names(loaded):
        path = os.path.join(sys_root, "devices/virtual", name.replace("_", "/"))
        if not os.path.exists(path):
            quoted = loaded.quote(type_group(type_id), "device_addresses")
            yield f"{quoted}: {name!r} is not a PCI address (dddd:bb:ss.f), and there is no device {path}"


def _address_notices(loaded: Loaded) -> Iterable[str]:
    address = loaded.value("DEFAULT", "my_ip")
    if address and not _is_local(address):
        yield f"{loaded.quote('DEFAULT', 'my_ip')}: no interface of this machine has this address"


def _tdx_notices(loaded: Loaded, sys_root: Path) -> Iterable[str]:
    chosen, there = loaded.value("libvirt", "num_intel_tdx_guests"), tdx_capacity(sys_root)
    if chosen is not None and there is not None and chosen > there:
        quoted = loaded.quote("libvirt", "num_intel_tdx_guests")
        yield f"{quoted}: the kernel has encryption keys for only {there} guests (see {sys_root / TDX_CAPACITY})"


def _is_local(address: str) -> bool:
    """Return whether a socket can bind to the IP address; False for a host name, because resolving it may take long."""
    try:
        family = socket.AF_INET if ipaddress.ip_address(address).version == 4 else socket.AF_INET6
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((address, 0))
    except (ValueError, OSError):
        return False
    return True
