"""Read whether this host offers guests an emulated TPM, and who may own the secret of the TPM.

The module ``host_checks`` checks whether the user and the group of swtpm exist.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.config.loaded import Loaded
from agent.config.problems import Tolerated, refuse
from agent.config.reading.guest_cpu import EMULATED
from agent.model.settings import Tpm

_SECRETS = ("libvirt", "supported_tpm_secret_security")
OWNERS = ("user", "host", "deployment")


def tpm(loaded: Loaded) -> Tpm:
    """Return ``[libvirt] swtpm_enabled`` and ``supported_tpm_secret_security``.

    Raises ConfigError if ``virt_type`` does not support an emulated TPM, or if Stocktake's own files set
    ``supported_tpm_secret_security`` to an unknown value. An unknown value in nova.conf is ignored.
    """
    enabled = loaded.value("libvirt", "swtpm_enabled")
    if enabled and loaded.value("libvirt", "virt_type") not in EMULATED:
        quoted = loaded.quote("libvirt", "swtpm_enabled")
        refuse([f"{quoted}: needs virt_type kvm or qemu, not {loaded.quote('libvirt', 'virt_type')}"])
    TPM_OWNERS.refuse_own(loaded)
    return Tpm(enabled=enabled, secret_security=tuple(name for name in loaded.listed(*_SECRETS) if name in OWNERS))


def _strange_owners(loaded: Loaded) -> Iterator[str]:
    quoted = loaded.quote(*_SECRETS)
    for name in loaded.listed(*_SECRETS):
        if name not in OWNERS:
            yield f"{quoted}: {name!r} is not one of {', '.join(OWNERS)}"


TPM_OWNERS = Tolerated(_SECRETS, _strange_owners, "the agent ignores this entry of the list")
