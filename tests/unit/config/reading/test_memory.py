"""Scenario 87: pages that are reserved for the host; and the requirements of file-backed memory."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config.reading.memory import (
    file_backed_memory_mib,
    huge_page_notices,
    memory_notices,
    parse_reserved_pages,
    reserved_huge_pages,
)
from agent.errors import ConfigError
from agent.model.settings import ReservedPages
from tests.rigs.configs import ALONE, load_beside_nova, load_ours

PAGES = "reserved_huge_pages = "


def pages(cell, size_kib, count):
    return ReservedPages(cell=cell, size_kib=size_kib, count=count)


def test_s87_a_page_size_without_a_unit_is_in_kib(tmp_path):
    """In reserved_huge_pages, `size:2048` means 2048 KiB, and `size:1GB` means 1048576 KiB."""
    text = f"[DEFAULT]\n{PAGES}node:0,size:2048,count:64\n{PAGES}node:1,size:1GB,count:1\n"
    assert reserved_huge_pages(load_ours(tmp_path, ALONE + text)) == (pages(0, 2048, 64), pages(1, 1048576, 1))


@pytest.mark.parametrize(
    ("size", "kib"),
    [
        ("4", 4),
        ("2048", 2048),
        ("2MB", 2048),
        ("2MiB", 2048),
        ("1GB", 1048576),
        ("1GiB", 1048576),
        ("64KB", 64),
        ("2097152B", 2048),
        ("1TB", 1 << 30),
    ],
)
def test_s87_page_size_units_are_powers_of_1024(size, kib):
    """In reserved_huge_pages, `2MB` and `2MiB` both mean 2048 KiB, and `1GB` means 1048576 KiB."""
    assert parse_reserved_pages(f"node:0,size:{size},count:1").size_kib == kib


def test_reserved_huge_pages_accept_blanks_and_any_order():
    """The keys of a reserved_huge_pages entry may stand in any order, with blanks around them."""
    assert parse_reserved_pages(" count: 3 , node : 2,size:4") == pages(2, 4, 3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("node:0,size:2048", "the entry lacks count"),
        ("count:1", "the entry lacks node and size"),
        ("node:0,size:2048,count:many", "count 'many' is not a whole number"),
        ("node:0,size:2048,count:-1", "count '-1' is not a whole number"),
        ("node:x,size:2048,count:1", "node 'x' is not a whole number"),
        ("node:0,size:big,count:1", "size 'big' is not a page size"),
        ("node:0,size:0,count:1", "size '0' is not a page size"),
        ("node:0,size:2M,count:1", "size '2M' is not a page size"),
        ("node:0,size:2Mb,count:1", "size '2Mb' is not a page size"),
        ("node:0,size:1000B,count:1", "size '1000B' is not a whole number of KiB"),
        ("node:0,size:2iB,count:1", "size '2iB' is not a page size"),
        ("node:0,sise:2048,count:1,size:4", "unknown key 'sise'"),
        ("2048", "'2048' is not KEY:VALUE"),
    ],
)
def test_s87_an_invalid_reserved_huge_pages_entry_is_rejected(tmp_path, text, said):
    """An entry of reserved_huge_pages is invalid, for example because the count is missing.

    The agent reports an error that quotes the entry and says what is wrong.
    """
    loaded = load_ours(tmp_path, f"{ALONE}[DEFAULT]\n{PAGES}node:0,size:4,count:1\n{PAGES}{text}\n")
    with pytest.raises(ConfigError) as caught:
        reserved_huge_pages(loaded)
    (problem,) = caught.value.problems
    assert problem.startswith(f"{tmp_path}/stocktake.conf: [DEFAULT] reserved_huge_pages = {text}: {said}")


def test_the_last_of_two_huge_page_entries_applies(tmp_path):
    """If two reserved_huge_pages entries have the same NUMA node and page size, the agent uses the last."""
    text = f"[DEFAULT]\n{PAGES}node:0,size:2048,count:64\n{PAGES}node:0,size:2MB,count:3\n"
    assert reserved_huge_pages(load_ours(tmp_path, ALONE + text)) == (pages(0, 2048, 3),)


def test_stocktake_conf_replaces_huge_pages_of_nova_conf(tmp_path):
    """If stocktake.conf sets reserved_huge_pages, the agent ignores those of nova.conf."""
    nova = f"[DEFAULT]\n{PAGES}node:0,size:2048,count:64\n{PAGES}node:1,size:2048,count:64\n"
    assert len(reserved_huge_pages(load_beside_nova(tmp_path, "", nova))) == 2
    ours = f"[DEFAULT]\n{PAGES}node:2,size:4,count:1\n"
    assert reserved_huge_pages(load_beside_nova(tmp_path, ours, nova)) == (pages(2, 4, 1),)


def test_an_overridden_huge_page_entry_causes_a_notice(tmp_path):
    """If a later reserved_huge_pages entry overrides an earlier one, the notice shows both entries."""
    small, large = "node:0,size:2048,count:2", "node:0, size:2MB, count:3"
    others = f"{PAGES}node:1,size:2048,count:9\n{PAGES}node:0,size:1GB,count:9\n{PAGES}nonsense\n"
    (notice,) = huge_page_notices(load_ours(tmp_path, f"{ALONE}[DEFAULT]\n{PAGES}{small}\n{others}{PAGES}{large}\n"))
    quoted = f"{tmp_path}/stocktake.conf: [DEFAULT] reserved_huge_pages = "
    assert notice == f"{quoted}{small}: has no effect, because a later entry applies to the same pages: {quoted}{large}"


def test_equal_huge_page_entries_cause_no_notice(tmp_path):
    """Two entries of reserved_huge_pages for the same pages with the same count cause no notice."""
    text = f"{ALONE}[DEFAULT]\n{PAGES}node:0,size:2048,count:2\n{PAGES}node:0,size:2MB,count:2\n"
    assert list(huge_page_notices(load_ours(tmp_path, text))) == []


ENTRIES = st.builds("node:{},size:{}{},count:{}".format, st.text(), st.integers(), st.text("KMGTiBb"), st.text())


@given(st.text() | ENTRIES)
def test_any_reserved_huge_pages_text_is_parsed_or_rejected(text):
    """Random text as reserved_huge_pages is parsed or rejected with ValueError; no other exception occurs."""
    with contextlib.suppress(ValueError):
        assert parse_reserved_pages(text).size_kib > 0


BACKED = "[libvirt]\nfile_backed_memory = 4096\n"


def refusals(tmp_path, text):
    with pytest.raises(ConfigError) as caught:
        file_backed_memory_mib(load_ours(tmp_path, ALONE + text))
    return [problem.removeprefix(f"{tmp_path}/stocktake.conf: ") for problem in caught.value.problems]


def test_file_backed_memory_is_accepted_with_ram_ratio_one(tmp_path):
    """With ram_allocation_ratio = 1.0, the agent accepts file_backed_memory."""
    loaded = load_ours(tmp_path, ALONE + BACKED + "[DEFAULT]\nram_allocation_ratio = 1.0\n")
    assert file_backed_memory_mib(loaded) == 4096
    (notice,) = memory_notices(loaded)
    assert notice.startswith("default: [DEFAULT] reserved_host_memory_mb = 512: this amount is subtracted from ")
    assert file_backed_memory_mib(load_ours(tmp_path, ALONE)) == 0


def test_file_backed_memory_without_reserve_causes_no_notice(tmp_path):
    """With reserved_host_memory_mb = 0, the option file_backed_memory causes no notice."""
    text = BACKED + "[DEFAULT]\nram_allocation_ratio = 1.0\nreserved_host_memory_mb = 0\n"
    assert list(memory_notices(load_ours(tmp_path, ALONE + text))) == []


@pytest.mark.parametrize("ratio", ["1.5", "0.0"])
def test_file_backed_memory_requires_ram_ratio_one(tmp_path, ratio):
    """The option file_backed_memory requires ram_allocation_ratio = 1.0, so the agent rejects 1.5 and 0.0."""
    (problem,) = refusals(tmp_path, BACKED + f"[DEFAULT]\nram_allocation_ratio = {ratio}\n")
    assert problem.startswith(f"[DEFAULT] ram_allocation_ratio = {ratio}: must be 1.0 because of ")


def test_file_backed_memory_needs_ram_allocation_ratio(tmp_path):
    """With file_backed_memory, an unset ram_allocation_ratio is an error."""
    (problem,) = refusals(tmp_path, BACKED)
    own = f"{tmp_path}/stocktake.conf: [libvirt] file_backed_memory = 4096"
    assert problem == f"[DEFAULT] ram_allocation_ratio is not set: must be 1.0 because of {own}"


@pytest.mark.parametrize("reserved", [4096, 4097])
def test_the_memory_reserve_must_be_below_file_backed_memory(tmp_path, reserved):
    """If reserved_host_memory_mb is not below file_backed_memory, the agent rejects the configuration."""
    (problem,) = refusals(
        tmp_path, BACKED + f"[DEFAULT]\nram_allocation_ratio = 1.0\nreserved_host_memory_mb = {reserved}\n"
    )
    assert problem.startswith(f"[DEFAULT] reserved_host_memory_mb = {reserved}: must be less than ")


@pytest.mark.parametrize("kind", ["lxc", "parallels"])
def test_file_backed_memory_requires_kvm_or_qemu(tmp_path, kind):
    """With virt_type lxc or parallels, the agent rejects the option file_backed_memory."""
    (problem,) = refusals(tmp_path, BACKED + f"virt_type = {kind}\n[DEFAULT]\nram_allocation_ratio = 1.0\n")
    assert problem.startswith("[libvirt] file_backed_memory = 4096: needs virt_type kvm or qemu, not ")
