import pytest

from agent.config.load import load
from agent.config.reading.tpm import tpm
from agent.errors import ConfigError
from agent.model.settings import Tpm
from tests.rigs.configs import ALONE, load_ours, write


def loaded_with(tmp_path, text):
    return load_ours(tmp_path, f"{ALONE}[libvirt]\n{text}\n")


def test_swtpm_is_disabled_by_default(tmp_path):
    assert tpm(loaded_with(tmp_path, "")) == Tpm(enabled=False, secret_security=("user", "host", "deployment"))


def test_configured_tpm_security_modes_are_read(tmp_path):
    """The agent reads supported_tpm_secret_security, the allowed ways to protect the secret of a guest's TPM."""
    text = "swtpm_enabled = true\nsupported_tpm_secret_security = host"
    assert tpm(loaded_with(tmp_path, text)) == Tpm(enabled=True, secret_security=("host",))


@pytest.mark.parametrize("kind", ["lxc", "parallels"])
def test_swtpm_requires_virt_type_kvm_or_qemu(tmp_path, kind):
    with pytest.raises(ConfigError) as caught:
        tpm(loaded_with(tmp_path, f"swtpm_enabled = true\nvirt_type = {kind}"))
    path = f"{tmp_path}/stocktake.conf"
    assert caught.value.problems == (
        f"{path}: [libvirt] swtpm_enabled = true: needs virt_type kvm or qemu, not "
        f"{path}: [libvirt] virt_type = {kind}",
    )


def test_an_unknown_tpm_security_mode_is_rejected(tmp_path):
    """The option supported_tpm_secret_security accepts only nova's values; `nobody` is rejected."""
    path = write(tmp_path, "stocktake.conf", f"{ALONE}[libvirt]\nsupported_tpm_secret_security = user,nobody\n")
    with pytest.raises(ConfigError) as caught:
        tpm(load([path]))
    (problem,) = caught.value.problems
    assert problem.startswith(f"{path}: [libvirt] supported_tpm_secret_security = user,nobody: ")
