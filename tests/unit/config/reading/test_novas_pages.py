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
def test_huge_page_sizes_of_nova_conf_are_read_as_nova_does(size, kib):
    """In nova.conf, `size:2048` means KiB, and unusual sizes such as `1.5MB` or `16Mb` are accepted."""
    found = parse_novas_pages(f"node:0,size:{size},count:3")
    assert found == (ReservedPages(cell=0, size_kib=kib, count=3) if kib else None)


@pytest.mark.parametrize("text", ["node:0,size:0,count:1", "node:-1,size:4,count:1", "node:0,size:4,count:-1"])
def test_an_impossible_huge_page_entry_is_ignored(text):
    """The agent ignores a reserved_huge_pages entry of nova.conf with a size of 0 or a negative number."""
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
def test_huge_page_entries_that_nova_rejects_are_rejected(text, said):
    """If nova-compute would refuse a reserved_huge_pages entry, the agent refuses it too."""
    with pytest.raises(ValueError, match=said):
        parse_novas_pages(text)


def test_an_impossible_huge_page_size_causes_a_notice(tmp_path):
    """The agent ignores a page size of 512 bytes in nova.conf, and its notice quotes the entry."""
    text = "reserved_huge_pages = node:0,size:512B,count:1"
    loaded = load_beside_nova(tmp_path, "", f"[DEFAULT]\n{text}\nreserved_huge_pages = node:0,size:4,count:2\n")
    assert reserved_huge_pages(loaded) == (ReservedPages(cell=0, size_kib=4, count=2),)
    (notice,) = huge_page_notices(loaded)
    assert notice.startswith(
        f"{tmp_path}/nova.conf: [DEFAULT] {text}: the node, the size or the count is impossible. nova-compute starts"
    )
