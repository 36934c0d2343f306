"""Which CPU flags a guest can have: scenarios 111 and 112.

The names of the flags are libvirt's. tests/golden compares the flags of real hosts with nova-compute's own traits.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.model.settings import GuestCpu
from agent.model.snapshot import LIBVIRT
from agent.traits import cpu_features
from agent.traits.base import Wish
from agent.traits.standard_names import STANDARD
from tests.rigs.capabilities import capable, world
from tests.rigs.facts import settings, snapshot

# Every flag of nova-compute's table, by libvirt's name, written out.
TABLE = {
    "3dnow": ["3DNOW"],
    "abm": ["ABM"],
    "aes": ["AESNI"],
    "amx-bf16": ["AMXBF16"],
    "amx-int8": ["AMXINT8"],
    "amx-tile": ["AMXTILE"],
    "avx": ["AVX"],
    "avx2": ["AVX2"],
    "avx512bw": ["AVX512BW"],
    "avx512cd": ["AVX512CD"],
    "avx512dq": ["AVX512DQ"],
    "avx512er": ["AVX512ER"],
    "avx512f": ["AVX512F"],
    "avx512pf": ["AVX512PF"],
    "avx512vl": ["AVX512VL"],
    "avx512vnni": ["AVX512VNNI"],
    "avx512vbmi": ["AVX512VBMI"],
    "avx512ifma": ["AVX512IFMA"],
    "avx512vbmi2": ["AVX512VBMI2"],
    "avx512bitalg": ["AVX512BITALG"],
    "vaes": ["AVX512VAES"],
    "gfni": ["AVX512GFNI"],
    "vpclmulqdq": ["AVX512VPCLMULQDQ"],
    "avx512-vpopcntdq": ["AVX512VPOPCNTDQ"],
    "bmi1": ["BMI"],
    "bmi2": ["BMI2"],
    "pclmuldq": ["CLMUL"],
    "f16c": ["F16C"],
    "fma": ["FMA3"],
    "fma4": ["FMA4"],
    "mmx": ["MMX"],
    "mpx": ["MPX"],
    "sha-ni": ["SHA"],
    "sse": ["SSE"],
    "sse2": ["SSE2"],
    "sse3": ["SSE3"],
    "sse4.1": ["SSE41"],
    "sse4.2": ["SSE42"],
    "sse4a": ["SSE4A"],
    "ssse3": ["SSSE3"],
    "svm": ["SVM", "AMD_SVM"],
    "tbm": ["TBM"],
    "vmx": ["VMX", "INTEL_VMX"],
    "xop": ["XOP"],
}
ALL = frozenset(f"HW_CPU_X86_{name}" for names in TABLE.values() for name in names)


def wish(capabilities, cpu=None, **changes):
    return cpu_features.wish(world(capabilities), settings(guest_cpu=cpu or GuestCpu(), **changes))


def named(*suffixes):
    return frozenset(f"HW_CPU_X86_{suffix}" for suffix in suffixes)


def test_s111_the_svm_flag_of_the_cpu_sets_both_svm_traits():
    """The CPU flag `svm` sets the two traits HW_CPU_X86_SVM and HW_CPU_X86_AMD_SVM."""
    told = wish(capable(features={"svm", "aes"}))
    assert told.wanted == named("SVM", "AMD_SVM", "AESNI")
    assert told.unwanted == ALL - told.wanted


@pytest.mark.parametrize("flag", TABLE)
def test_each_cpu_flag_in_the_table_sets_its_traits(flag):
    """Each CPU flag in nova-compute's table, such as `avx2`, sets exactly the traits that belong to the flag."""
    told = wish(capable(features={flag}))
    assert told == Wish(wanted=named(*TABLE[flag]), unwanted=ALL - named(*TABLE[flag]))


def test_the_table_of_cpu_flags_contains_only_standard_traits():
    assert STANDARD >= ALL


@pytest.mark.parametrize("features", [{"pclmulqdq"}, {"sse4_1"}, {"AES"}, {"lahf_lm"}, set()])
def test_a_cpu_flag_outside_the_table_sets_no_trait(features):
    """A CPU flag that is missing in nova-compute's table of flags and traits, such as `lahf_lm`, sets no trait."""
    assert wish(capable(features=features)) == Wish(unwanted=ALL)


def test_sev_cpu_flags_do_not_change_the_amd_sev_traits():
    """The CPU flags `sev` and `sev-es` do not change the AMD SEV traits of the root provider."""
    told = wish(capable(features={"sev", "sev-es"}))
    assert not (told.wanted | told.unwanted) & named("AMD_SEV", "AMD_SEV_ES", "AMD_SEV_SNP")


HOST = {"aes", "avx"}
FLAGS = {
    # nova-compute sets HW_CPU_X86_AVX2 here: it ignores the sign.
    "s112 a minus, the host without it": (("-avx2",), named("AESNI", "AVX")),
    "s112 a minus, the host with it": (("-avx",), named("AESNI")),
    "a plus": (("+avx2",), named("AESNI", "AVX", "AVX2")),
    "no sign": (("avx2",), named("AESNI", "AVX", "AVX2")),
    "capitals": (("XOP", "-AVX"), named("AESNI", "XOP")),
    "a flag without a trait": (("pcid", "-ssbd"), named("AESNI", "AVX")),
    "both signs: it cannot be relied on": (("+avx", "-avx"), named("AESNI")),
    "both signs, the other way round": (("-avx", "+avx"), named("AESNI")),
}


@pytest.mark.parametrize("mode", [None, "host-model", "host-passthrough"])
@pytest.mark.parametrize(("flags", "expected"), FLAGS.values(), ids=FLAGS.keys())
def test_configured_extra_cpu_flags_add_or_remove_cpu_traits(mode, flags, expected):
    """The configured extra CPU flag `avx2` sets the trait HW_CPU_X86_AVX2, and `-avx` removes HW_CPU_X86_AVX."""
    told = wish(capable(features=HOST), GuestCpu(mode=mode, extra_flags=flags))
    assert told == Wish(wanted=expected, unwanted=ALL - expected)


MODELS = (
    ("qemu64", frozenset({"svm", "sse"})),
    ("qemu32", frozenset({"mmx"})),
    ("POWER8", frozenset()),
    ("max", frozenset({"fma"})),
    ("Westmere", frozenset({"aes", "sse4.2"})),
    ("Opteron_G1", frozenset({"sse2"})),
)
MODES = {
    "unset is the host's": (None, "x86_64", (), (), named("AVX")),
    "none: qemu64, whatever the host has": ("none", "x86_64", (), (), named("SVM", "AMD_SVM", "SSE")),
    "none on i686": ("none", "i686", (), (), named("MMX")),
    "none on ppc64le": ("none", "ppc64le", (), (), named()),
    "none on aarch64": ("none", "aarch64", (), (), named("FMA3")),
    # nova queries qemu64, libvirt answers NO_SUPPORT, and the host gets no flag.
    "none on any other": ("none", "riscv64", (), (), named()),
    "none takes no extra flags": ("none", "x86_64", (), ("aes", "-sse"), named("SVM", "AMD_SVM", "SSE")),
    "custom, one model": ("custom", "x86_64", ("Westmere",), (), named("AESNI", "SSE42")),
    "custom, all models together": (
        "custom",
        "x86_64",
        ("Westmere", "Opteron_G1"),
        (),
        named("AESNI", "SSE42", "SSE2"),
    ),
    "custom, another case": ("custom", "x86_64", ("WESTMERE", "opteron_g1"), (), named("AESNI", "SSE42", "SSE2")),
    "custom, with flags": ("custom", "x86_64", ("Westmere",), ("+xop", "-aes"), named("SSE42", "XOP")),
    "custom on aarch64 without a model": ("custom", "aarch64", (), (), named("FMA3")),
    "aarch64 unset passes the host through": (None, "aarch64", (), (), named("AVX")),
}


@pytest.mark.parametrize(("mode", "arch", "models", "flags", "expected"), MODES.values(), ids=MODES.keys())
@pytest.mark.parametrize("virt_type", ["kvm", "qemu"])
def test_the_cpu_options_of_nova_decide_the_cpu_traits(mode, arch, models, flags, expected, virt_type):
    """nova's options for the CPU mode, models and extra flags of guests decide which CPU traits the agent sets."""
    told = wish(
        capable(arch=arch, features={"avx"}, model_features=MODELS),
        GuestCpu(mode=mode, models=models, extra_flags=flags),
        virt_type=virt_type,
    )
    assert told == Wish(wanted=expected, unwanted=ALL - expected)


NOTHING_SAID = {
    "containers": (capable(features={"avx"}), GuestCpu(), "lxc"),
    "containers, none": (capable(features={"avx"}, model_features=MODELS), GuestCpu(mode="none"), "parallels"),
    "not known yet": (None, GuestCpu(), "kvm"),
    "no features": (capable(features=None), GuestCpu(), "kvm"),
    "no features, though flags are asked for": (capable(features=None), GuestCpu(extra_flags=("aes",)), "kvm"),
    "the host's architecture is not known": (capable(arch="", features=None), GuestCpu(mode="none"), "kvm"),
    "none, its model not known": (capable(features={"avx"}), GuestCpu(mode="none"), "kvm"),
    "custom without a model": (capable(features={"avx"}, model_features=MODELS), GuestCpu(mode="custom"), "kvm"),
    "custom, one model not known": (
        capable(features={"avx"}, model_features=MODELS),
        GuestCpu(mode="custom", models=("Westmere", "Nehalem")),
        "kvm",
    ),
}


@pytest.mark.parametrize(("capabilities", "cpu", "virt_type"), NOTHING_SAID.values(), ids=NOTHING_SAID.keys())
def test_cpu_traits_stay_if_guest_cpu_features_are_unknown(capabilities, cpu, virt_type):
    """The agent leaves CPU traits unchanged if it does not know which CPU features guests get."""
    assert wish(capabilities, cpu, virt_type=virt_type) == Wish()


def test_cpu_traits_stay_as_they_are_without_libvirt():
    assert cpu_features.wish(snapshot(lost=[LIBVIRT]), settings()) == Wish()


@given(st.lists(st.sampled_from([*TABLE, "sev", "pni", "x2apic"])), st.lists(st.sampled_from(["aes", "-aes", "+avx"])))
def test_the_order_of_cpu_flags_does_not_change_the_traits(features, flags):
    """The agent reads the same CPU flags in two different orders.

    In each order, the agent sets and removes the same CPU traits.
    """
    told = wish(capable(features=set(features)), GuestCpu(extra_flags=tuple(flags)))
    again = wish(capable(features=set(reversed(features))), GuestCpu(extra_flags=tuple(reversed(flags))))
    assert told == again
    assert told.wanted | told.unwanted == ALL
    assert not told.wanted & told.unwanted


def test_the_cpu_flag_pni_sets_the_sse3_trait():
    """libvirt calls the CPU feature SSE3 `pni`. The agent sets HW_CPU_X86_SSE3 for this flag."""
    assert wish(capable(features={"pni"})).wanted == named("SSE3")
