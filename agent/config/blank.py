"""Decide what an option means that a file leaves empty: it is not set, but for the few where empty means "none".

Templates leave options empty. oslo.config makes of that, by the option's type, a None that no reader
expects, a refusal or an empty text. Here an empty line counts as if it were not in the file: an earlier
file holds, then nova.conf, then the default.
"""

from __future__ import annotations

from collections.abc import Mapping

# (group, option) where empty is a value of its own, and what it says.
MEANS_NONE: Mapping[tuple[str, str], str] = {
    ("agent", "nova_conf"): "no file of nova-compute is read",
    ("heal", "codes"): "the daemon repairs nothing by itself; the default would change allocations",
    ("compute", "provider_config_location"): "no provider.yaml is read: nova-compute looks into no folder of its own",
    ("libvirt", "supported_tpm_secret_security"): "nova-compute offers none",
    ("placement", "valid_interfaces"): "keystoneauth asks for the public endpoint alone",
}


def is_set(group: str, option: str, raw: str) -> bool:
    """Whether a line of a file with this value sets the option."""
    return bool(raw.strip()) or (group, option) in MEANS_NONE
