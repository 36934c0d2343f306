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
        help="PCI devices that guests may get. Set the option once per filter: a JSON object or a list of objects, as "
        'in {"vendor_id": "10de", "product_id": "1eb8", "resource_class": "CUSTOM_T4"}. The first entry that '
        "matches a device wins. Needs a restart.",
    ),
    cfg.BoolOpt(
        "report_in_placement",
        default=False,
        help="Report the devices of device_spec as providers in Placement, except those with physical_network. The "
        "default is nova's; once on, it cannot be turned off again. Needs a restart.",
    ),
]
