"""Emulated TPM: offered or not (hypervisor-audit 8.2). Whether its user exists: host_checks."""

from __future__ import annotations

from collections.abc import Iterator

from agent.config.load import Loaded
from agent.config.reading.guest_cpu import EMULATED
from agent.config.reading.problems import refuse
from agent.config.reading.tolerance import novas_notices, refuse_ours
from agent.model.settings import Tpm

_SECRETS = ("libvirt", "supported_tpm_secret_security")
OWNERS = ("user", "host", "deployment")


def tpm(loaded: Loaded) -> Tpm:
    """``[libvirt] swtpm_enabled`` and its kin.

    Raises ConfigError with guests that cannot have one, and on an owner of secrets that there is not.
    """
    enabled = loaded.value("libvirt", "swtpm_enabled")
    if enabled and loaded.value("libvirt", "virt_type") not in EMULATED:
        quoted = loaded.quote("libvirt", "swtpm_enabled")
        refuse([f"{quoted}: needs virt_type kvm or qemu, not {loaded.quote('libvirt', 'virt_type')}"])
    refuse_ours(loaded, _SECRETS, _strange_owners(loaded))
    return Tpm(enabled=enabled, secret_security=tuple(name for name in loaded.listed(*_SECRETS) if name in OWNERS))


def tpm_notices(loaded: Loaded) -> Iterator[str]:
    """Owners of secrets in nova.conf that there are not."""
    yield from novas_notices(loaded, _SECRETS, _strange_owners(loaded), "left out")


def _strange_owners(loaded: Loaded) -> Iterator[str]:
    quoted = loaded.quote(*_SECRETS)
    for name in loaded.listed(*_SECRETS):
        if name not in OWNERS:
            yield f"{quoted}: {name!r} is none of {', '.join(OWNERS)}"
