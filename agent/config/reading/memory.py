"""Read the memory options that need checks: file-backed memory and reserved huge pages.

File-backed memory cannot be overcommitted, so ``ram_allocation_ratio`` must be set to 1.0. If the option were unset, a
ratio that an API user sets in Placement would apply.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator

from agent.config.loaded import Loaded
from agent.config.problems import is_novas, novas_notices, refuse
from agent.config.reading.guest_cpu import EMULATED
from agent.config.reading.novas_pages import KEYS, parse_novas_pages
from agent.model.settings import ReservedPages

_HUGE_PAGES = ("DEFAULT", "reserved_huge_pages")
_SIZE = re.compile(r"(?P<number>[0-9]{1,15})(?:(?P<unit>[KMGT]?)(?P<binary>i?)B)?\Z")
_KIB_PER = {"K": 1, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30}


def file_backed_memory_mib(loaded: Loaded) -> int:
    """Return ``[libvirt] file_backed_memory`` in MiB, 0 for off. Raises ConfigError if another option conflicts."""
    refuse(_file_backed_problems(loaded))
    mib: int = loaded.value("libvirt", "file_backed_memory")
    return mib


def reserved_huge_pages(loaded: Loaded) -> tuple[ReservedPages, ...]:
    """Return the reserved huge pages, sorted by NUMA cell and page size. Raises ConfigError if an entry is malformed.

    If two entries have the same NUMA cell and page size, the later entry applies.
    """
    problems: list[str] = []
    found: dict[tuple[int, int], ReservedPages] = {}
    for text, origin in loaded.entries(*_HUGE_PAGES):
        try:
            pages = _pages_of(loaded, text)
        except ValueError as error:
            problems.append(f"{origin}: [DEFAULT] reserved_huge_pages = {text}: {error}")
        else:
            found |= {(pages.cell, pages.size_kib): pages} if pages else {}
    refuse(problems)
    return tuple(found[key] for key in sorted(found))


def memory_notices(loaded: Loaded) -> Iterator[str]:
    """Yield a notice if ``reserved_host_memory_mb`` is set with file-backed memory: valid, but seldom intended."""
    own = loaded.quote("libvirt", "file_backed_memory")
    if loaded.value("libvirt", "file_backed_memory") and loaded.value("DEFAULT", "reserved_host_memory_mb"):
        reserved = loaded.quote("DEFAULT", "reserved_host_memory_mb")
        why = "the host's own programs use none of that memory, so 0 is usually right"
        yield f"{reserved}: this amount is subtracted from {own}; {why}"


def huge_page_notices(loaded: Loaded) -> Iterator[str]:
    """Yield a notice for each entry of reserved_huge_pages that has no effect because a later entry replaces it.

    Also yield a notice for each entry of nova.conf with an unknown key, or with an impossible size, cell or count.
    """
    held: dict[tuple[int, int], tuple[str, ReservedPages]] = {}
    for text, origin in loaded.entries(*_HUGE_PAGES):
        quoted = f"{origin}: [DEFAULT] reserved_huge_pages = {text}"
        if strange := _strange_keys(text):
            problem = f"{quoted}: the entry has the unknown key {', '.join(strange)}"
            yield from novas_notices(loaded, _HUGE_PAGES, [problem], "the agent ignores the unknown key")
        with contextlib.suppress(ValueError):
            pages = _pages_of(loaded, text)
            if pages is None:
                problem = f"{quoted}: the node, the size or the count is impossible"
                yield from novas_notices(loaded, _HUGE_PAGES, [problem], "the agent ignores the entry")
                continue
            before, earlier = held.get((pages.cell, pages.size_kib), (quoted, pages))
            if earlier != pages:
                yield f"{before}: has no effect, because a later entry applies to the same pages: {quoted}"
            held[pages.cell, pages.size_kib] = quoted, pages


def _pages_of(loaded: Loaded, text: str) -> ReservedPages | None:
    """Parse an entry of reserved_huge_pages. Return None if nova.conf has the entry and no host can have such pages."""
    return parse_novas_pages(text) if is_novas(loaded, _HUGE_PAGES) else parse_reserved_pages(text)


def _strange_keys(text: str) -> tuple[str, ...]:
    return tuple(_key_of(item) for item in text.split(",") if ":" in item and _key_of(item) not in KEYS)


def _key_of(item: str) -> str:
    return item.partition(":")[0].strip()


def parse_reserved_pages(text: str) -> ReservedPages:
    """Parse ``node:N,size:S,count:C``, in any order; S is in KiB or has a unit (2MB). Raises ValueError if invalid."""
    fields = dict(_pair(item) for item in text.split(","))
    if missing := [key for key in KEYS if key not in fields]:
        raise ValueError(f"the entry lacks {' and '.join(missing)}; a whole entry is node:N,size:S,count:C")
    if strange := sorted(fields.keys() - set(KEYS)):
        raise ValueError(f"unknown key {strange[0]!r}; an entry is node:N,size:S,count:C")
    return ReservedPages(
        cell=_number("node", fields["node"]),
        size_kib=_size_kib(fields["size"]),
        count=_number("count", fields["count"]),
    )


def _pair(item: str) -> tuple[str, str]:
    key, colon, value = item.partition(":")
    if not colon:
        raise ValueError(f"{item.strip()!r} is not KEY:VALUE; an entry is node:N,size:S,count:C")
    return key.strip(), value.strip()


def _number(key: str, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 16):
        raise ValueError(f"{key} {text!r} is not a whole number")
    return int(text)


def _size_kib(text: str) -> int:
    match = _SIZE.match(text)
    if match is None or (match["binary"] and not match["unit"]):
        raise ValueError(f"size {text!r} is not a page size; write it in KiB, or with a unit as in 2MB or 1GB")
    kib = int(match["number"]) * _KIB_PER.get(match["unit"] or "K", 1)
    if match["unit"] == "":
        kib, rest = divmod(int(match["number"]), 1 << 10)
        if rest:
            raise ValueError(f"size {text!r} is not a whole number of KiB")
    if not kib:
        raise ValueError(f"size {text!r} is not a page size: it must be more than 0")
    return kib


def _file_backed_problems(loaded: Loaded) -> Iterable[str]:
    mib = loaded.value("libvirt", "file_backed_memory")
    if not mib:
        return
    own = loaded.quote("libvirt", "file_backed_memory")
    if loaded.value("libvirt", "virt_type") not in EMULATED:
        yield f"{own}: needs virt_type kvm or qemu, not {loaded.quote('libvirt', 'virt_type')}"
    if loaded.value("DEFAULT", "ram_allocation_ratio") != 1.0:
        yield f"{loaded.quote('DEFAULT', 'ram_allocation_ratio')}: must be 1.0 because of {own}"
    if loaded.value("DEFAULT", "reserved_host_memory_mb") >= mib:
        yield f"{loaded.quote('DEFAULT', 'reserved_host_memory_mb')}: must be less than {own}"
