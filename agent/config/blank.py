"""Decide what an empty line such as ``option =`` means: the option is not set, except where empty means "none".

Configuration templates leave options empty. Depending on the option's type, oslo.config turns an empty line
into a None that no caller expects, an error or an empty string. Stocktake ignores an empty line: the value of
an earlier file applies, then the value in nova.conf, then the default.
"""

from __future__ import annotations

from collections.abc import Mapping

# (group, option) whose empty value has its own meaning, and that meaning.
MEANS_NONE: Mapping[tuple[str, str], str] = {
    ("agent", "nova_conf"): "no file of nova-compute is read",
    ("heal", "codes"): "the daemon repairs nothing by itself; the default would change allocations",
    ("compute", "provider_config_location"): "no provider.yaml is read: nova-compute looks into no folder of its own",
    ("libvirt", "supported_tpm_secret_security"): "nova-compute offers none",
    ("placement", "valid_interfaces"): "keystoneauth asks for the public endpoint alone",
}


def is_set(group: str, option: str, raw: str) -> bool:
    """Return whether a line with this raw value sets the option."""
    return bool(raw.strip()) or (group, option) in MEANS_NONE
