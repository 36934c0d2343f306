"""Emulated TPM: offered or not (hypervisor-audit 8.2). Whether its user exists: host_checks."""

from __future__ import annotations

from agent.config.load import Loaded
from agent.config.reading.guest_cpu import EMULATED
from agent.config.reading.problems import refuse
from agent.model.settings import Tpm


def tpm(loaded: Loaded) -> Tpm:
    """``[libvirt] swtpm_enabled`` and its kin. Raises ConfigError with guests that cannot have one."""
    enabled = loaded.value("libvirt", "swtpm_enabled")
    if enabled and loaded.value("libvirt", "virt_type") not in EMULATED:
        quoted = loaded.quote("libvirt", "swtpm_enabled")
        refuse([f"{quoted}: needs virt_type kvm or qemu, not {loaded.quote('libvirt', 'virt_type')}"])
    return Tpm(enabled=enabled, secret_security=loaded.listed("libvirt", "supported_tpm_secret_security"))
