"""Which machine types and CPU models the agent queries."""

import pytest

from agent.sources.libvirt.capabilities_xml import capabilities_document, guests
from agent.sources.libvirt.capability_questions import GuestChoice, MachineQuestion, machine_questions, models_to_ask
from tests.rigs.libvirt_documents import document


def asked(name, **choice):
    kinds = guests(capabilities_document(document("capabilities", name)))
    return machine_questions(kinds, GuestChoice(**choice))


def machines(name, **choice):
    return [(question.arch, question.machine, question.names) for question in asked(name, **choice)]


def test_a_machine_type_and_its_aliases_are_queried_once():
    """The agent asks libvirt only once about a machine type such as q35 and its aliases."""
    assert asked("x86_64_two_sockets") == (
        MachineQuestion(
            emulator="/usr/libexec/qemu-kvm-real",
            arch="x86_64",
            machine="latest",
            names=("latest", "pc-q35-rhel9.2.0", "q35"),
        ),
        # The agent queries the default machine type although it is no alias of this domain type.
        MachineQuestion(emulator="/usr/libexec/qemu-kvm-real", arch="x86_64", machine="pc", names=("pc",)),
    )


def test_the_queried_machine_types_depend_on_virt_type():
    """If nova's option virt_type is qemu, the agent asks libvirt about the machine types of qemu."""
    assert machines("x86_64_two_sockets", virt_type="qemu") == [
        ("x86_64", "pc", ("pc", "pc-i440fx-rhel7.6.0")),
        ("x86_64", "q35", ("pc-q35-rhel9.2.0", "q35")),
    ]


def test_a_configured_machine_type_replaces_the_default():
    """If nova's configuration contains a machine type, the agent asks libvirt about it and not about the default."""
    configured = (("x86_64", "pc-q35-rhel9.2.0"), ("x86_64", "pc"))
    assert machines("x86_64_two_sockets", machine_types=configured) == [
        ("x86_64", "latest", ("latest", "pc-q35-rhel9.2.0", "q35"))
    ]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "x86_64_qemu_7_2",
            [
                ("i686", "pc", ("pc", "pc-i440fx-7.2")),
                ("i686", "q35", ("pc-q35-7.2", "q35")),
                ("x86_64", "pc", ("pc", "pc-i440fx-7.2")),
                ("x86_64", "q35", ("pc-q35-7.2", "q35")),
            ],
        ),
        ("aarch64", [("aarch64", "virt", ("virt", "virt-8.2")), ("armv7l", "virt", ("virt",))]),
        (
            "ppc64le",
            [("ppc64le", "powernv", ("powernv", "powernv10")), ("ppc64le", "pseries", ("pseries", "pseries-8.2"))],
        ),
        ("s390x", [("s390x", "s390-ccw-virtio", ("s390-ccw-virtio", "s390-ccw-virtio-8.2"))]),
        ("riscv64", [("riscv64", None, ())]),
        # Two kinds of guests on one architecture: the agent queries the machine type once.
        ("xen", [("x86_64", "pc", ("pc",))]),
    ],
)
def test_default_machine_types_of_architectures_are_queried(name, expected):
    """Without a configured machine type, the agent asks libvirt about each guest architecture's default types."""
    assert machines(name) == expected


@pytest.mark.parametrize(
    ("arch", "choice", "models"),
    [
        ("x86_64", {}, ()),
        ("x86_64", {"cpu_mode": "host-model"}, ()),
        ("x86_64", {"cpu_mode": "custom", "cpu_models": ("EPYC", "Haswell")}, ("EPYC", "Haswell")),
        ("x86_64", {"cpu_mode": "none"}, ("qemu64",)),
        ("i686", {"cpu_mode": "none"}, ("qemu32",)),
        ("ppc64le", {"cpu_mode": "none"}, ("POWER8",)),
        ("aarch64", {"cpu_mode": "none"}, ("max",)),
        ("aarch64", {"cpu_mode": "custom"}, ("max",)),
        ("s390x", {"cpu_mode": "none"}, ()),
        ("x86_64", {"cpu_mode": "none", "virt_type": "lxc"}, ()),
        ("x86_64", {"cpu_mode": "none", "virt_type": "qemu"}, ("qemu64",)),
    ],
)
def test_the_queried_cpu_models_depend_on_cpu_mode(arch, choice, models):
    """With cpu_mode custom, the agent asks libvirt about nova's cpu_models. With host-model it asks about no model."""
    assert models_to_ask(arch, GuestChoice(**choice)) == models
