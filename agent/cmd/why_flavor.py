"""Say what a flavor's extra specs ask of the host's cells and pages, and which of them ask for nothing here.

What nova-scheduler cannot read of them it leaves out with a warning in its own log
(nova/scheduler/utils.py:ResourceRequest); cells and pages that it cannot read make nova
refuse the flavor (nova/virt/hardware.py:numa_get_constraints). Neither must look like a yes. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from agent.model.nova import Flavor
from agent.stages.why_host import LARGE

_SIZE = re.compile(r"([1-9][0-9]{0,8})(?:([KMG])i?B)?")
_KIB_IN = {None: 1, "K": 1, "M": 1 << 10, "G": 1 << 20}
_PAGE_WORDS = frozenset({"small", "any", LARGE})
_SIGNS = frozenset({"required", "forbidden"})
_RESOURCES = re.compile(r"resources([a-zA-Z0-9_-]{1,64})?:(.+)")
_TRAIT = re.compile(r"trait([a-zA-Z0-9_-]{1,64})?:(.+)")
_CELLS = "hw:numa_nodes"
_PAGE = "hw:mem_page_size"


def cells_and_page(flavor: Flavor) -> tuple[int | None, int | str | None]:
    """How many NUMA cells the flavor asks for, and the size of its pages in KiB or LARGE; None: it asks for none.

    Pinned CPUs and a page size are one cell where no number is given (nova's numa_get_constraints); ``small`` and
    ``any`` take what there is.
    """
    specs = dict(flavor.extra_specs)
    number, size = specs.get("hw:numa_nodes", ""), specs.get("hw:mem_page_size", "").strip()
    pinned = specs.get("hw:cpu_policy", "") in ("dedicated", "mixed")
    cells = int(number) if _is_small_number(number) else 1 if pinned or size else None
    return cells, LARGE if size.lower() == LARGE else _kib(size)


def _is_small_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and 0 < len(text) < 10 and int(text) > 0


def _kib(size: str) -> int | None:
    """KiB of ``2048``, ``2MB`` or ``1GiB``, None for a word."""
    match = _SIZE.fullmatch(size)
    return int(match[1]) * _KIB_IN[match[2]] if match else None


def flavor_notes(flavor: Flavor) -> tuple[str, ...]:
    """A sentence for each extra spec that the question to Placement does not hold as it stands."""
    specs = dict(sorted(flavor.extra_specs))
    return (*_left_out(specs), *_in_groups(specs), *_refused(specs))


def _left_out(specs: Mapping[str, str]) -> Iterator[str]:
    for key, text in specs.items():
        if _RESOURCES.fullmatch(key) and not text.isdecimal():
            yield f"extra spec {key}={text} is no amount and asks for nothing: nova-scheduler leaves it out too"
        if _TRAIT.fullmatch(key) and text not in _SIGNS:
            yield (
                f"extra spec {key}={text} is neither required nor forbidden and asks for nothing: "
                "nova-scheduler leaves it out too"
            )


def _in_groups(specs: Mapping[str, str]) -> Iterator[str]:
    resources = [key for key, match in _matched(_RESOURCES, specs) if match[1]]
    traits = [key for key, match in _matched(_TRAIT, specs) if match[1]]
    if resources:
        yield (
            f"{_listed(resources)}: summed up over the whole tree, though nova-scheduler asks one provider for each "
            "group; --query with the line of its log asks the same"
        )
    if traits:
        yield f"{_listed(traits)}: not asked, a trait of a group of its own; --query with nova-scheduler's line asks it"


def _matched(pattern: re.Pattern[str], specs: Mapping[str, str]) -> Iterator[tuple[str, re.Match[str]]]:
    for key in specs:
        if match := pattern.fullmatch(key):
            yield key, match


def _listed(keys: Sequence[str]) -> str:
    return f"extra spec{'s' if len(keys) > 1 else ''} {', '.join(keys)}"


def _refused(specs: Mapping[str, str]) -> Iterator[str]:
    """What nova's API refuses when it is set today; a flavor that is old may have it."""
    number, size = specs.get(_CELLS, "").strip(), specs.get(_PAGE, "").strip()
    if number and not _is_small_number(number):
        yield f"extra spec {_CELLS}={number} is no number of cells: nova refuses it, and it asks for nothing here"
    if size and size.lower() not in _PAGE_WORDS and _kib(size) is None:
        yield f"extra spec {_PAGE}={size} is no size of pages: nova refuses it, and it asks for nothing here"
