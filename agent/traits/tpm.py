"""COMPUTE_SECURITY_TPM_*: emulated TPMs, if ``[libvirt] swtpm_enabled`` is on.

The emulator decides which models and versions a guest can have. The agent sets the trait of a model or version if at
least one machine type of the host's architecture has this model or version. nova-compute looks at one machine type
only, and may choose another machine type at each start. A backend other than ``emulator`` is a TPM of the host, which
nova gives to no guest. ``[libvirt] supported_tpm_secret_security`` lists the ways to keep a TPM's secret; the agent
sets their traits and never clears them.
"""

from __future__ import annotations

from agent.model.host.capabilities import DomainCapabilities
from agent.model.settings import Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, host_emulators, known, merged, wish_of_emulators

_MODELS = {"COMPUTE_SECURITY_TPM_TIS": "tpm-tis", "COMPUTE_SECURITY_TPM_CRB": "tpm-crb"}
_VERSIONS = {"COMPUTE_SECURITY_TPM_1_2": "1.2", "COMPUTE_SECURITY_TPM_2_0": "2.0"}


def wish(snapshot: Snapshot, settings: Settings) -> Wish:
    """Return the wish for the traits of TPM models and TPM versions, and of the ways to keep a TPM's secret.

    While the domain capabilities are unknown, the traits of models and versions stay as they are. If emulated TPMs are
    off, all traits of models and versions are cleared.
    """
    if not settings.tpm.enabled:
        return Wish(unwanted=known({*_MODELS, *_VERSIONS}))
    secrets = known(f"COMPUTE_SECURITY_TPM_SECRET_SECURITY_{way.upper()}" for way in settings.tpm.secret_security)
    asked = host_emulators(snapshot)
    emulated = wish_of_emulators(_answers(asked), snapshot) if asked is not None else Wish()
    return merged(emulated, Wish(wanted=secrets))


def _answers(asked: tuple[DomainCapabilities, ...]) -> dict[str, bool]:
    emulating = [one for one in asked if "emulator" in one.tpm_backends]
    # ``tpm_versions`` is None if libvirt is too old to list TPM versions. Such a libvirt supports both versions.
    return {trait: any(model in one.tpm_models for one in emulating) for trait, model in _MODELS.items()} | {
        trait: any(one.tpm_versions is None or version in one.tpm_versions for one in emulating)
        for trait, version in _VERSIONS.items()
    }
