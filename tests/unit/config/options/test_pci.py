import pytest

from agent.config.build import check, notices
from agent.config.load import load
from agent.config.options.pci import pci
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, load_beside_nova, load_ours, write


def test_pci_devices_in_deprecated_options_come_before_those_in_device_spec(tmp_path):
    text = (
        '[DEFAULT]\npci_passthrough_whitelist = {"vendor_id": "0001"}\n[pci]\nreport_in_placement = true\n'
        'device_spec = [{"vendor_id": "0002"}, {"vendor_id": "0003"}]\ndevice_spec = {"vendor_id": "0004"}\n'
        'passthrough_whitelist = {"vendor_id": "0005"}\n'
    )
    settings = pci(load_beside_nova(tmp_path, "", text))
    assert settings.report_in_placement is True
    assert [spec.vendor_id for spec in settings.specs] == ["0001", "0005", "0002", "0003", "0004"]


def test_by_default_no_device_specs_are_set_and_report_in_placement_is_false(tmp_path):
    settings = pci(load_ours(tmp_path, ALONE))
    assert (settings.specs, settings.report_in_placement) == ((), False)


def test_s120_every_invalid_device_spec_is_reported_with_its_file(tmp_path):
    bad_id, no_json, good = '{"vendor_id": "xyz"}', "{vendor", '{"vendor_id": "8086"}'
    first = write(tmp_path, "a.conf", f"{ALONE}[pci]\ndevice_spec = {bad_id}\ndevice_spec = {good}\n")
    second = write(tmp_path, "b.conf", f"[pci]\ndevice_spec = {no_json}\n")
    with pytest.raises(ConfigError) as caught:
        pci(load([first, second]))
    of_first, of_second = caught.value.problems
    assert of_first.startswith(f"{first}: [pci] device_spec = {bad_id}: ")
    assert of_second.startswith(f"{second}: [pci] device_spec = {no_json!r}: not JSON")


def test_s120_devname_in_a_device_spec_is_rejected_with_report_in_placement(tmp_path):
    text = '[pci]\nreport_in_placement = true\ndevice_spec = {"devname": "eth1"}\n'
    with pytest.raises(ConfigError) as caught:
        pci(load_ours(tmp_path, ALONE + text))
    (problem,) = caught.value.problems
    assert problem.startswith(f'{tmp_path}/stocktake.conf: [pci] device_spec = {{"devname": "eth1"}}: devname cannot')


def test_one_time_use_in_a_device_spec_requires_report_in_placement(tmp_path):
    text = '[pci]\ndevice_spec = {"vendor_id": "10de", "one_time_use": true}\n'
    with pytest.raises(ConfigError, match="one_time_use needs"):
        pci(load_ours(tmp_path, ALONE + text))
    assert len(pci(load_ours(tmp_path, f"{ALONE}{text}report_in_placement = true\n")).specs) == 1


def test_notices_about_questionable_device_specs_name_their_config_file(tmp_path):
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


def test_an_invalid_device_spec_gets_no_notice_but_a_questionable_one_does(tmp_path):
    loaded = load_ours(tmp_path, f"{ALONE}[pci]\ndevice_spec = {{\ndevice_spec = {{}}\n")
    (notice,) = notices(loaded)
    assert notice.startswith(f"{tmp_path}/stocktake.conf: [pci] device_spec = {{}}: offers guests every")
