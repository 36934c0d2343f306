"""Read a flavor's extra specs: NUMA cells, page size, traits, and notes on other specs. Pure: no I/O.

``stocktake why`` asks Placement only for amounts and for the traits in ``trait:`` specs. nova also turns other extra
specs into parts of its request, which only nova-scheduler's log shows. The notes tell the operator which extra specs
``stocktake why`` does not check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from agent.model.nova import Flavor
from agent.resources.demand import ASKED
from agent.why.host_room import LARGE

_COUNT = re.compile(r"[1-9][0-9]{0,8}")
_SIZE = re.compile(r"([1-9][0-9]{0,8})(?:([KMG])i?B)?")
_KIB_IN = {None: 1, "K": 1, "M": 1 << 10, "G": 1 << 20}
_PAGE_WORDS = frozenset({"small", "any", LARGE})
# Maps the value of a ``trait:`` spec to the prefix of the trait in a query to Placement.
_SIGNS = {"required": "", "forbidden": "!"}
_TRAIT = re.compile(r"trait([a-zA-Z0-9_-]{1,64})?:(.+)")
_CELLS = "hw:numa_nodes"
_PAGE = "hw:mem_page_size"
# Specs that nova turns into traits, amounts and groups (nova/scheduler/utils.py:ResourceRequest.from_request_spec).
_OF_NOVA = (
    "accel:device_profile",
    "group_policy",
    "hw:cpu_thread_policy",
    "hw:maxphysaddr_mode",
    "hw:mem_encryption",
    "hw:pci_numa_affinity_policy",
    "hw:tpm_model",
    "hw:tpm_version",
    "os:secure_boot",
    "pci_passthrough:alias",
)
_ASK = "; to check everything, run stocktake why --query with the request from nova-scheduler's log"


def cells_and_page(flavor: Flavor) -> tuple[int | None, int | str | None]:
    """Return (number of NUMA cells, page size in KiB or LARGE); None for each that the flavor does not request.

    Without hw:numa_nodes, a flavor with pinned CPUs or a page size requests one cell (nova's numa_get_constraints).
    The page sizes ``small`` and ``any`` accept all pages, so their result is None.
    """
    specs = dict(flavor.extra_specs)
    number, size = specs.get(_CELLS, ""), specs.get(_PAGE, "")
    pinned = specs.get("hw:cpu_policy", "") in ("dedicated", "mixed")
    cells = int(number) if _COUNT.fullmatch(number) else 1 if pinned or size else None
    return cells, LARGE if size == LARGE else _kib(size)


def _kib(size: str) -> int | None:
    """Convert a page size such as ``2048``, ``2MB`` or ``1GiB`` to KiB; return None for a word such as ``large``."""
    match = _SIZE.fullmatch(size)
    return int(match[1]) * _KIB_IN[match[2]] if match else None


def trait_specs(flavor: Flavor) -> tuple[str, ...]:
    """Return the traits of the specs ``trait:NAME`` (no group suffix): NAME if required, !NAME if forbidden."""
    specs = ((_TRAIT.fullmatch(key), text) for key, text in flavor.extra_specs)
    return tuple(f"{_SIGNS[text]}{match[2]}" for match, text in specs if match and not match[1] and text in _SIGNS)


def flavor_notes(flavor: Flavor) -> tuple[str, ...]:
    """Return sentences on the extra specs that nova may use, but that this check does not fully take into account."""
    specs = dict(sorted(flavor.extra_specs))
    unread = {key: text for key, text in specs.items() if _is_unread(key, text)}
    read = {key: text for key, text in specs.items() if key not in unread}
    lines = (f"extra spec {key}={text} is not understood, so the request leaves it out" for key, text in unread.items())
    return (*lines, *_unchecked(read))


def _is_unread(key: str, text: str) -> bool:
    if ASKED.fullmatch(key):
        return not text.isdecimal()
    if _TRAIT.fullmatch(key):
        return text not in _SIGNS
    if key == _PAGE:
        return text not in _PAGE_WORDS and _kib(text) is None
    return key == _CELLS and not _COUNT.fullmatch(text)


def _unchecked(specs: Mapping[str, str]) -> Iterator[str]:
    if resources := _with_suffix(ASKED, specs):
        yield (
            f"{_listed(resources)}: only the sum of all groups is checked, though nova-scheduler requires one "
            f"provider for each group{_ASK}"
        )
    if traits := _with_suffix(_TRAIT, specs):
        yield f"{_listed(traits)}: not checked, because a suffix after 'trait' means a separate request group{_ASK}"
    if keys := [key for key in _OF_NOVA if key in specs]:
        yield f"{_listed(keys)}: not checked, although nova requests further resources or traits for them{_ASK}"


def _with_suffix(pattern: re.Pattern[str], specs: Mapping[str, str]) -> list[str]:
    return [key for key in specs if (match := pattern.fullmatch(key)) and match[1]]


def _listed(keys: Sequence[str]) -> str:
    return f"extra spec{'s' if len(keys) > 1 else ''} {', '.join(keys)}"
