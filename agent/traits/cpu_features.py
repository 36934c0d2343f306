"""HW_CPU_X86_*: the CPU flags that a guest of this host can have, by ``[libvirt] cpu_mode``.

The family sets or clears the trait of every flag in its table, on every architecture: on an Arm host it clears
them all. The flags have libvirt's names: ``pclmuldq`` is Intel's PCLMULQDQ. libvirt reports SSE3 only as ``pni``, but
nova looks for ``sse3``; this family accepts both. HW_CPU_X86_AMD_SEV is not a CPU flag: the trait belongs on a child
provider (agent/nested), and this family never changes it.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.model.host.capabilities import Capabilities
from agent.model.host.guest_cpu import models_of, takes_a_model
from agent.model.settings import GuestCpu, Settings
from agent.model.snapshot import Snapshot
from agent.traits.base import Wish, capabilities, wish_of

_PREFIX = "HW_CPU_X86_"

# The virtualisation flags have two trait names each, because flavors still request the old name.
_NAMES: dict[str, tuple[str, ...]] = {
    **{flag: (flag.upper(),) for flag in ("3dnow", "abm", "avx", "avx2", "bmi2", "f16c", "fma4", "mmx", "mpx")},
    **{flag: (flag.upper(),) for flag in ("sse", "sse2", "sse3", "sse4a", "ssse3", "tbm", "xop")},
    **{
        f"avx512{part}": (f"AVX512{part.upper()}",)
        for part in ("bitalg", "bw", "cd", "dq", "er", "f", "ifma", "pf", "vbmi", "vbmi2", "vl", "vnni")
    },
    "aes": ("AESNI",),
    "amx-bf16": ("AMXBF16",),
    "amx-int8": ("AMXINT8",),
    "amx-tile": ("AMXTILE",),
    "avx512-vpopcntdq": ("AVX512VPOPCNTDQ",),
    "bmi1": ("BMI",),
    "fma": ("FMA3",),
    "gfni": ("AVX512GFNI",),
    "pclmuldq": ("CLMUL",),
    "sha-ni": ("SHA",),
    "sse4.1": ("SSE41",),
    "sse4.2": ("SSE42",),
    "svm": ("SVM", "AMD_SVM"),
    "vaes": ("AVX512VAES",),
    "vmx": ("VMX", "INTEL_VMX"),
    "vpclmulqdq": ("AVX512VPCLMULQDQ",),
}

# The kernel, QEMU and libvirt call SSE3 ``pni`` (Prescott new instructions).
_ALSO_CALLED = {"sse3": "pni"}


def wish(snapshot: Snapshot, settings: Settings) -> Wish:
    """Decide the trait of each CPU flag. Change no trait if the guests' CPU features are not known."""
    answer = capabilities(snapshot)
    features = _guest_features(answer, settings) if answer else None
    if features is None:
        return Wish()
    has = {flag: flag in features or _ALSO_CALLED.get(flag) in features for flag in _NAMES}
    return wish_of({_PREFIX + name: has[flag] for flag, names in _NAMES.items() for name in names})


def _guest_features(answer: Capabilities, settings: Settings) -> frozenset[str] | None:
    cpu, wanted = answer.host_cpu, settings.guest_cpu
    # The host's architecture decides the guests' default CPU model. Without the architecture, the features are unknown.
    if not takes_a_model(settings.virt_type) or not cpu.arch:
        return None
    models = models_of(wanted, cpu.arch, settings.virt_type)
    if wanted.mode == "none":
        # With cpu_mode "none", nova writes no <cpu> element. So guests have the emulator's default model, and the flags
        # of ``cpu_model_extra_flags`` have no effect.
        return _of_models(models, answer)
    if wanted.mode == "custom":
        return _with_flags(_of_models(models, answer), wanted) if models else None
    return _with_flags(cpu.features, wanted)


def _of_models(models: Iterable[str], answer: Capabilities) -> frozenset[str] | None:
    """Return the features that at least one of these models has; None if one of the models is unknown.

    The function compares model names in lower case, because libvirt's names may differ in case from the operator's.
    """
    features_of = {model.lower(): features for model, features in answer.model_features}
    found = [features_of.get(model.lower()) for model in models]
    if None in found:
        return None
    return frozenset().union(*(features for features in found if features is not None))


def _with_flags(features: frozenset[str] | None, wanted: GuestCpu) -> frozenset[str] | None:
    """Apply the flags of ``[libvirt] cpu_model_extra_flags``: add each flag, but remove a flag with a minus sign.

    nova-compute treats ``-avx2`` like ``+avx2`` when it sets traits. The agent removes avx2 instead, because nova
    starts guests without avx2, so they cannot use it.
    """
    if features is None:
        return None
    flags = [flag.strip().lower() for flag in wanted.extra_flags]
    disabled = {flag.removeprefix("-") for flag in flags if flag.startswith("-")}
    return (features | {flag.removeprefix("+") for flag in flags if not flag.startswith("-")}) - disabled
