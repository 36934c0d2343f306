import pytest

from agent.cmd.wiring import host_place
from agent.config.build import settings_from
from agent.config.reading.guest_cpu import guest_cpu, machine_types
from agent.errors import ConfigError
from agent.model.settings import GuestCpu
from agent.sources.libvirt.capability_questions import GuestChoice
from tests.rigs.configs import ALONE, load_beside_nova, load_ours


def loaded_with(tmp_path, text):
    return load_ours(tmp_path, f"{ALONE}[libvirt]\n{text}\n")


def refusals(tmp_path, read, text):
    with pytest.raises(ConfigError) as caught:
        read(loaded_with(tmp_path, text))
    return [problem.removeprefix(f"{tmp_path}/stocktake.conf: ") for problem in caught.value.problems]


def test_guest_cpu_settings_are_empty_by_default(tmp_path):
    assert guest_cpu(loaded_with(tmp_path, "")) == GuestCpu()
    assert machine_types(loaded_with(tmp_path, "")) == ()


def test_cpu_models_and_flags_keep_their_order(tmp_path):
    """The agent keeps the order of cpu_models and cpu_model_extra_flags as they stand in the file."""
    text = "cpu_mode = custom\ncpu_models = SandyBridge, Haswell\ncpu_model_extra_flags = PCID, +ssbd, -avx2\n"
    cpu = guest_cpu(loaded_with(tmp_path, text))
    assert cpu == GuestCpu(mode="custom", models=("SandyBridge", "Haswell"), extra_flags=("pcid", "+ssbd", "-avx2"))


def test_the_libvirt_reader_receives_the_cpu_options(tmp_path):
    """The code that reads libvirt gets virt_type, the machine types, cpu_mode and cpu_models from the options."""
    text = "cpu_mode = custom\ncpu_models = Haswell\nvirt_type = qemu\nhw_machine_type = x86_64=q35\n"
    guests = host_place("qemu:///system", settings_from(loaded_with(tmp_path, text))).guests
    machine_types = (("x86_64", "q35"),)
    assert guests == GuestChoice(
        virt_type="qemu", machine_types=machine_types, cpu_mode="custom", cpu_models=("Haswell",)
    )


def test_the_cpu_model_is_read_from_the_deprecated_option(tmp_path):
    """The agent still reads `cpu_model`, the deprecated name of cpu_models."""
    nova = "[libvirt]\ncpu_mode = custom\ncpu_model = Haswell\n"
    assert guest_cpu(load_beside_nova(tmp_path, "", nova)).models == ("Haswell",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("cpu_mode = custom", "[libvirt] cpu_mode = custom: needs [libvirt] cpu_models, which is not set"),
        ("cpu_models = Haswell", "[libvirt] cpu_models = Haswell: needs [libvirt] cpu_mode = custom"),
        (
            "cpu_mode = host-model\ncpu_models = Haswell",
            "[libvirt] cpu_models = Haswell: needs [libvirt] cpu_mode = custom",
        ),
    ],
)
def test_cpu_models_belong_to_cpu_mode_custom(tmp_path, text, problem):
    """cpu_mode = custom needs cpu_models, and cpu_models needs cpu_mode = custom."""
    assert refusals(tmp_path, guest_cpu, text) == [problem]


def test_lxc_guests_accept_only_cpu_mode_none(tmp_path):
    (problem,) = refusals(tmp_path, guest_cpu, "virt_type = lxc\ncpu_mode = host-model")
    assert problem.startswith("[libvirt] cpu_mode = host-model: does not work with ")
    assert "virt_type = lxc" in problem
    assert guest_cpu(loaded_with(tmp_path, "virt_type = lxc\ncpu_mode = none")).mode == "none"


def test_the_first_machine_type_of_an_architecture_applies(tmp_path):
    """If hw_machine_type lists x86_64 twice, the agent uses the first of the two machine types."""
    text = "hw_machine_type = x86_64=q35, aarch64 = virt,x86_64=pc"
    assert machine_types(loaded_with(tmp_path, text)) == (("x86_64", "q35"), ("aarch64", "virt"))


@pytest.mark.parametrize("entry", ["q35", "x86_64=", "=q35"])
def test_a_malformed_hw_machine_type_is_rejected(tmp_path, entry):
    (problem,) = refusals(tmp_path, machine_types, f"hw_machine_type = aarch64=virt,{entry}")
    assert problem == (
        f"[libvirt] hw_machine_type = aarch64=virt,{entry}: {entry!r} is not ARCHITECTURE=MACHINE, as in x86_64=q35"
    )
