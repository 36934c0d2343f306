"""``[pci] device_spec``: the PCI devices that the cloud may assign to guests, and the tags of these devices."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceSpec:
    """One entry of ``device_spec``.

    ``text``: the configured entry, for messages.
    ``vendor_id``, ``product_id``: four lower-case hex digits, or ``*``.
    ``address_parts``: regular expressions for domain, bus, slot and function. Each must match the whole part.
    ``single_address``: the address, if the entry names exactly one function by its address.
    ``devname``: name of the network device, if the entry names one.
    ``tags``: the remaining keys, sorted, with values as normalised text. A key whose value is null is kept with None.
    """

    text: str
    vendor_id: str = "*"
    product_id: str = "*"
    address_parts: tuple[str, str, str, str] = (".*", ".*", ".*", ".*")
    single_address: str | None = None
    devname: str | None = None
    tags: tuple[tuple[str, str | None], ...] = ()

    def tag(self, name: str) -> str | None:
        """Return the value of the tag, None if the entry does not have the tag or its value is null."""
        return dict(self.tags).get(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class PciSettings:
    """Options of ``[pci]``. The first spec that matches a device applies to it."""

    specs: tuple[DeviceSpec, ...] = ()
    report_in_placement: bool = False
