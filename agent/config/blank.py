"""Decide whether an empty line such as ``option =`` sets the option: only if an empty value has its own meaning.

Configuration templates leave options empty. Depending on the option's type, oslo.config turns an empty line into an
unexpected None, an error or an empty string. Stocktake ignores an empty line: the value of an earlier file applies, or
else the value in nova.conf, or else the default.
"""

from __future__ import annotations

from collections.abc import Mapping

# The options for which an empty value has its own meaning, and that meaning.
MEANS_NONE: Mapping[tuple[str, str], str] = {
    ("agent", "nova_conf"): "the agent does not read nova-compute's configuration",
    ("healthcheck", "uri"): "the daemon answers no health checks",
    ("heal", "codes"): "the daemon repairs nothing by itself; with the default, it would repair leaked allocations",
    (
        "compute",
        "provider_config_location",
    ): "the agent reads no provider.yaml file; an empty value means this to nova-compute too",
    (
        "libvirt",
        "supported_tpm_secret_security",
    ): "the host offers no kind of TPM secret; an empty value means this to nova-compute too",
    ("placement", "valid_interfaces"): "the agent uses the public endpoint, which is keystoneauth's default",
}


def is_set(group: str, option: str, raw: str) -> bool:
    """Return whether the value ``raw`` sets the option. An empty value sets only the options in MEANS_NONE."""
    return bool(raw.strip()) or (group, option) in MEANS_NONE
