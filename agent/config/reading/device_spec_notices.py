"""Find entries of ``[pci] device_spec`` that nova-compute accepts but that are probably mistakes.

nova-compute treats any unknown key as a tag. So a misspelt ``vendor_id`` is no error but
a missing filter: the entry matches more devices than intended, up to all devices of the host.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from agent.config.reading.device_spec import ANY, MATCHED
from agent.model.host.device_spec import DeviceSpec

#: Tags that have a meaning for nova-compute.
TAGS = frozenset(
    (
        *("physical_network", "trusted", "remote_managed", "managed", "live_migratable", "one_time_use"),
        *("resource_class", "traits"),
    )
)
_KNOWN = sorted(MATCHED | TAGS)


def oddities(spec: DeviceSpec) -> Iterable[str]:
    """Yield a sentence for each part of an entry that has no effect, and for an entry that matches every device."""
    if _matches_all(spec):
        yield "hands out every PCI device of the host: it names no vendor_id, product_id, address or devname"
    for name, _ in spec.tags:
        if name not in TAGS and (nearest := _nearest(name)):
            yield f"{name!r} is no key of nova's and filters nothing; the nearest is {nearest}"
    idle = [name for name in ("resource_class", "traits") if spec.tag(name) is not None]
    if spec.tag("physical_network") and idle:
        verb = "has" if len(idle) == 1 else "have"
        yield f"{' and '.join(idle)} {verb} no effect beside physical_network: such devices are not in Placement"


def earlier_twin(spec: DeviceSpec, earlier: Sequence[DeviceSpec]) -> DeviceSpec | None:
    """Return the first earlier entry with the same filters, because of which this entry has no effect; or None."""
    return next((other for other in earlier if _filter(other) == _filter(spec)), None)


def _filter(spec: DeviceSpec) -> tuple[object, ...]:
    # remote_managed is the only tag that filters: devices without a card's serial number do not match.
    remote = spec.tag("remote_managed") == "true"
    return spec.vendor_id, spec.product_id, spec.address_parts, spec.devname, remote


def _matches_all(spec: DeviceSpec) -> bool:
    return _filter(spec) == (ANY, ANY, (".*",) * 4, None, False)


def _nearest(name: str) -> str | None:
    written = name.strip().lower().replace("-", "_").replace(" ", "_")
    return next(iter(difflib.get_close_matches(written, _KNOWN, n=1)), None)
