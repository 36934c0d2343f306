import pytest

from agent.config.build import check, notices
from agent.config.load import load
from agent.config.options.pci import pci
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, load_beside_nova, load_ours, write


def test_deprecated_pci_options_come_before_device_spec(tmp_path):
    """Entries of the deprecated option passthrough_whitelist come before those of [pci] device_spec."""
    text = (
        '[DEFAULT]\npci_passthrough_whitelist = {"vendor_id": "0001"}\n[pci]\nreport_in_placement = true\n'
        'device_spec = [{"vendor_id": "0002"}, {"vendor_id": "0003"}]\ndevice_spec = {"vendor_id": "0004"}\n'
        'passthrough_whitelist = {"vendor_id": "0005"}\n'
    )
    settings = pci(load_beside_nova(tmp_path, "", text))
    assert settings.report_in_placement is True
    assert [spec.vendor_id for spec in settings.specs] == ["0001", "0005", "0002", "0003", "0004"]


def test_no_pci_devices_are_offered_by_default(tmp_path):
    """By default [pci] device_spec is empty and report_in_placement is false."""
    settings = pci(load_ours(tmp_path, ALONE))
    assert (settings.specs, settings.report_in_placement) == ((), False)


def test_s120_invalid_device_specs_are_listed_with_their_files(tmp_path):
    """If two files contain invalid [pci] device_spec entries, one error lists both entries with their files."""
    bad_id, no_json, good = '{"vendor_id": "xyz"}', "{vendor", '{"vendor_id": "8086"}'
    first = write(tmp_path, "a.conf", f"{ALONE}[pci]\ndevice_spec = {bad_id}\ndevice_spec = {good}\n")
    second = write(tmp_path, "b.conf", f"[pci]\ndevice_spec = {no_json}\n")
    with pytest.raises(ConfigError) as caught:
        pci(load([first, second]))
    of_first, of_second = caught.value.problems
    assert of_first.startswith(f"{first}: [pci] device_spec = {bad_id}: ")
    assert of_second.startswith(f"{second}: [pci] device_spec = {no_json!r}: not JSON")


def test_s120_devname_is_rejected_with_report_in_placement(tmp_path):
    """With [pci] report_in_placement = true, a device_spec entry with devname is rejected."""
    text = '[pci]\nreport_in_placement = true\ndevice_spec = {"devname": "eth1"}\n'
    with pytest.raises(ConfigError) as caught:
        pci(load_ours(tmp_path, ALONE + text))
    (problem,) = caught.value.problems
    assert problem.startswith(f'{tmp_path}/stocktake.conf: [pci] device_spec = {{"devname": "eth1"}}: devname cannot')


def test_one_time_use_requires_report_in_placement(tmp_path):
    """A device_spec entry with one_time_use is rejected unless [pci] report_in_placement is true."""
    text = '[pci]\ndevice_spec = {"vendor_id": "10de", "one_time_use": true}\n'
    with pytest.raises(ConfigError, match="one_time_use needs"):
        pci(load_ours(tmp_path, ALONE + text))
    assert len(pci(load_ours(tmp_path, f"{ALONE}{text}report_in_placement = true\n")).specs) == 1


def test_device_spec_notices_show_the_file(tmp_path):
    """Each notice about a questionable [pci] device_spec entry begins with the file that contains the entry."""
    first = write(tmp_path, "a.conf", f'{ALONE}[pci]\ndevice_spec = [{{"vendor_id": "8086"}}, {{"vendor": "10de"}}]\n')
    second = write(tmp_path, "b.conf", '[pci]\ndevice_spec = {"vendor_id": "8086", "physical_network": "n"}\n')
    loaded = load([first, second])
    every, misspelt, never = notices(loaded)
    quoted = f'{first}: [pci] device_spec = {{"vendor": "10de"}}'
    assert every.startswith(f"{quoted}: offers guests every PCI device of the host")
    assert misspelt == (
        f"{quoted}: unknown key 'vendor', which nova ignores, so this key selects no devices; did you mean vendor_id?"
    )
    assert never.startswith(f'{second}: [pci] device_spec = {{"vendor_id": "8086", "physical_network": "n"}}: has no')
    assert check(loaded) == ()


def test_an_invalid_device_spec_causes_no_notice(tmp_path):
    """An invalid [pci] device_spec entry is an error, so the agent writes no notice about it."""
    loaded = load_ours(tmp_path, f"{ALONE}[pci]\ndevice_spec = {{\ndevice_spec = {{}}\n")
    (notice,) = notices(loaded)
    assert notice.startswith(f"{tmp_path}/stocktake.conf: [pci] device_spec = {{}}: offers guests every")
