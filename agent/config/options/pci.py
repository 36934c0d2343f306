"""[pci]: the PCI devices that guests may get; names and meaning are those of nova.conf."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "pci"

OPTS = FROM_NOVA = [
    cfg.MultiStrOpt(
        "device_spec",
        default=[],
        deprecated_opts=[
            cfg.DeprecatedOpt("passthrough_whitelist", group=GROUP),
            cfg.DeprecatedOpt("pci_passthrough_whitelist", group="DEFAULT"),
        ],
        help="Devices that guests may get, once per filter: a JSON object or a list of them, as in "
        '{"vendor_id": "10de", "product_id": "1eb8", "resource_class": "CUSTOM_T4"}. The first that matches a device '
        "wins. Needs a restart.",
    ),
    cfg.BoolOpt(
        "report_in_placement",
        default=False,
        help="Devices of device_spec are providers in Placement, but for those with physical_network. The default is "
        "nova's; once on, it cannot be turned off again. Needs a restart.",
    ),
]
