import pytest

from agent.config.build import check, notices
from agent.config.load import load
from agent.config.reading.pci import pci
from agent.errors import ConfigError
from tests.rigs.configs import ALONE, load_beside_nova, load_ours, write


def test_specs_are_read_in_order_old_names_first_and_a_list_is_several(tmp_path):
    text = (
        '[DEFAULT]\npci_passthrough_whitelist = {"vendor_id": "0001"}\n[pci]\nreport_in_placement = true\n'
        'device_spec = [{"vendor_id": "0002"}, {"vendor_id": "0003"}]\ndevice_spec = {"vendor_id": "0004"}\n'
        'passthrough_whitelist = {"vendor_id": "0005"}\n'
    )
    settings = pci(load_beside_nova(tmp_path, "", text))
    assert settings.report_in_placement is True
    assert [spec.vendor_id for spec in settings.specs] == ["0001", "0005", "0002", "0003", "0004"]


def test_nothing_configured_is_nothing(tmp_path):
    settings = pci(load_ours(tmp_path, ALONE))
    assert (settings.specs, settings.report_in_placement) == ((), False)


def test_s120_every_bad_spec_is_named_with_the_file_that_it_stands_in(tmp_path):
    bad_id, no_json, good = '{"vendor_id": "xyz"}', "{vendor", '{"vendor_id": "8086"}'
    first = write(tmp_path, "a.conf", f"{ALONE}[pci]\ndevice_spec = {bad_id}\ndevice_spec = {good}\n")
    second = write(tmp_path, "b.conf", f"[pci]\ndevice_spec = {no_json}\n")
    with pytest.raises(ConfigError) as caught:
        pci(load([first, second]))
    of_first, of_second = caught.value.problems
    assert of_first.startswith(f"{first}: [pci] device_spec = {bad_id}: ")
    assert of_second.startswith(f"{second}: [pci] device_spec = {no_json!r}: not JSON")


def test_s120_a_device_by_its_interface_cannot_be_reported(tmp_path):
    text = '[pci]\nreport_in_placement = true\ndevice_spec = {"devname": "eth1"}\n'
    with pytest.raises(ConfigError) as caught:
        pci(load_ours(tmp_path, ALONE + text))
    (problem,) = caught.value.problems
    assert problem.startswith(f'{tmp_path}/stocktake.conf: [pci] device_spec = {{"devname": "eth1"}}: devname cannot')


def test_a_device_for_one_use_needs_placement(tmp_path):
    text = '[pci]\ndevice_spec = {"vendor_id": "10de", "one_time_use": true}\n'
    with pytest.raises(ConfigError, match="one_time_use needs"):
        pci(load_ours(tmp_path, ALONE + text))
    assert len(pci(load_ours(tmp_path, f"{ALONE}{text}report_in_placement = true\n")).specs) == 1


def test_an_entry_that_matches_every_device_is_noticed_with_its_file(tmp_path):
    first = write(tmp_path, "a.conf", f'{ALONE}[pci]\ndevice_spec = [{{"vendor_id": "8086"}}, {{"vendor": "10de"}}]\n')
    second = write(tmp_path, "b.conf", '[pci]\ndevice_spec = {"vendor_id": "8086", "physical_network": "n"}\n')
    loaded = load([first, second])
    every, misspelt, never = notices(loaded)
    quoted = f'{first}: [pci] device_spec = {{"vendor": "10de"}}'
    assert every.startswith(f"{quoted}: hands out every PCI device of the host")
    assert misspelt == f"{quoted}: 'vendor' is no key of nova's and filters nothing; the nearest is vendor_id"
    assert never.startswith(f'{second}: [pci] device_spec = {{"vendor_id": "8086", "physical_network": "n"}}: has no')
    assert check(loaded) == ()


def test_what_is_refused_is_not_noticed_too(tmp_path):
    loaded = load_ours(tmp_path, f"{ALONE}[pci]\ndevice_spec = {{\ndevice_spec = {{}}\n")
    (notice,) = notices(loaded)
    assert notice.startswith(f"{tmp_path}/stocktake.conf: [pci] device_spec = {{}}: hands out every")
