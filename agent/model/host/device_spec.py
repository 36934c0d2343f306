"""``[pci] device_spec``: which devices the cloud may hand out, and the tags that they carry."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSpec:
    """One entry, as hypervisor-audit 7.2 reads it.

    ``text`` is the entry as configured, for messages. ``vendor_id`` and
    ``product_id`` are four lower-case hex digits or ``*``. ``address_parts`` are
    four regular expressions (domain, bus, slot, function) that must match the
    whole part; ``single_address`` is set where they name one function. ``tags``
    are the remaining keys, sorted, values as normalised text; one that is null in the
    file is there and has None.
    """

    text: str
    vendor_id: str = "*"
    product_id: str = "*"
    address_parts: tuple[str, str, str, str] = (".*", ".*", ".*", ".*")
    single_address: str | None = None
    devname: str | None = None
    tags: tuple[tuple[str, str | None], ...] = ()

    def tag(self, name: str) -> str | None:
        """The value of that tag, or None."""
        return dict(self.tags).get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class PciSettings:
    """``[pci]``: the first spec that matches a device wins."""

    specs: tuple[DeviceSpec, ...] = ()
    report_in_placement: bool = False
