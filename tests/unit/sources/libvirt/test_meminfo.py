"""Used memory by nova's formula."""

import pytest

from agent.sources.libvirt.meminfo import parse_used_mib, used_mib

TEXT = """MemTotal:        8388608 kB
MemFree:         1048576 kB
MemAvailable:    6000000 kB
Buffers:          524288 kB
Cached:          2097152 kB
SwapCached:       999999 kB
SReclaimable:     888888 kB
HugePages_Total:     512
"""


def test_used_memory_excludes_free_buffers_and_cached():
    """The agent computes used memory as nova does: total minus MemFree minus Buffers minus Cached of /proc/meminfo."""
    assert parse_used_mib(TEXT, 8192) == 8192 - 1024 - 512 - 2048


@pytest.mark.parametrize("line", ["MemFree", "Buffers", "Cached"])
def test_used_memory_is_unknown_without_a_required_line(line):
    """The used memory is unknown if /proc/meminfo lacks the line MemFree, Buffers or Cached."""
    assert parse_used_mib(TEXT.replace(f"\n{line}:", "\nX:"), 8192) is None


def test_used_memory_is_unknown_if_free_exceeds_total():
    assert parse_used_mib(TEXT, 1024) is None


def test_used_memory_is_read_from_the_file_meminfo(tmp_path):
    """The host's used memory is computed from the file meminfo, and is unknown without that file."""
    assert used_mib(tmp_path, 8192) is None
    (tmp_path / "meminfo").write_text(TEXT)
    assert used_mib(tmp_path, 8192) == 4608
