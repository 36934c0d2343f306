"""Entries of nova.conf's reserved_huge_pages, read as nova-compute 34 reads them (virt/hardware.py)."""

import pytest

from agent.config.reading.memory import huge_page_notices, reserved_huge_pages
from agent.config.reading.novas_pages import parse_novas_pages
from agent.model.settings import ReservedPages
from tests.rigs.configs import load_beside_nova


@pytest.mark.parametrize(
    ("size", "kib"),
    [
        ("2048", 2048),
        ("+2_048", 2048),
        ("2MB", 2048),
        ("1.5MB", 1536),
        ("16Mb", 2048),
        ("1GiB", 1 << 20),
        (".5KB", None),
    ],
)
def test_a_huge_page_size_in_nova_conf_without_a_unit_is_in_kib(size, kib):
    found = parse_novas_pages(f"node:0,size:{size},count:3")
    assert found == (ReservedPages(cell=0, size_kib=kib, count=3) if kib else None)


@pytest.mark.parametrize("text", ["node:0,size:0,count:1", "node:-1,size:4,count:1", "node:0,size:4,count:-1"])
def test_a_huge_page_entry_in_nova_conf_with_impossible_numbers_is_ignored(text):
    assert parse_novas_pages(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("node:0,size:2048", "the entry lacks count"),
        ("node:0,size:2M,count:1", "size '2M' is not a page size"),
        ("node:0,size:4,count:many", "count 'many' is not a whole number"),
        ("node:0,size:4,count:1,", "'' is not KEY:VALUE"),
    ],
)
def test_the_agent_rejects_a_reserved_huge_pages_value_that_nova_rejects(text, said):
    with pytest.raises(ValueError, match=said):
        parse_novas_pages(text)


def test_an_impossible_huge_page_size_in_nova_conf_is_ignored_with_a_notice(tmp_path):
    text = "reserved_huge_pages = node:0,size:512B,count:1"
    loaded = load_beside_nova(tmp_path, "", f"[DEFAULT]\n{text}\nreserved_huge_pages = node:0,size:4,count:2\n")
    assert reserved_huge_pages(loaded) == (ReservedPages(cell=0, size_kib=4, count=2),)
    (notice,) = huge_page_notices(loaded)
    assert notice.startswith(
        f"{tmp_path}/nova.conf: [DEFAULT] {text}: the node, the size or the count is impossible. nova-compute starts"
    )
