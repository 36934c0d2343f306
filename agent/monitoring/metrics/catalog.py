"""List every metric: its name without the prefix ``stocktake_``, its type, its help and its labels."""

from __future__ import annotations

from typing import NamedTuple

PREFIX = "stocktake_"
GAUGE, COUNTER, HISTOGRAM, SUMMARY = "gauge", "counter", "histogram", "summary"

_PROVIDER = ("hostname", "provider_kind", "resourcetype")
_CLASS = ("hostname", "resourcetype")


class Metric(NamedTuple):
    """One metric. A counter's name has no ``_total`` here: the text format appends it."""

    kind: str
    help: str
    labels: tuple[str, ...] = ()


CATALOG: dict[str, Metric] = {
    "build_info": Metric(
        GAUGE, "Always 1; the labels are the versions of the agent and of Python.", ("version", "python_version")
    ),
    "agent_info": Metric(
        GAUGE,
        "Always 1; labels: provider's name, [agent] role, [state] source, versions of Placement's API and of libvirt.",
        ("hostname", "role", "state_source", "placement_microversion", "libvirt_version"),
    ),
    "config_last_reload_successful": Metric(
        GAUGE, "1 if the last load of the configuration (start or reload) succeeded, else 0."
    ),
    "config_last_reload_success_timestamp_seconds": Metric(GAUGE, "When the configuration was last loaded."),
    "audits": Metric(COUNTER, "Audits that have ended.", ("outcome",)),
    "audit_reasons": Metric(COUNTER, "Audits per reason; one audit can have several reasons.", ("reason",)),
    "audit_duration_seconds": Metric(HISTOGRAM, "Duration of audits."),
    "audit_running_seconds": Metric(GAUGE, "How long the running audit has run; 0 between audits."),
    "audit_last_timestamp_seconds": Metric(GAUGE, "When the last audit ended."),
    "audit_last_complete_timestamp_seconds": Metric(
        GAUGE, "When the last complete audit ended (it read every source)."
    ),
    "audit_interval_seconds": Metric(GAUGE, "Seconds between periodic audits; 0 if there are none."),
    "audit_outcome": Metric(
        GAUGE, "One series per outcome: 1 if the last audit had this outcome, else 0.", ("outcome",)
    ),
    "source_up": Metric(GAUGE, "1 if the last attempt to read the source succeeded, else 0.", ("source",)),
    "source_last_read_timestamp_seconds": Metric(GAUGE, "When the source was last read.", ("source",)),
    "source_read_duration_seconds": Metric(SUMMARY, "Duration of reads, failed reads included.", ("source",)),
    "source_errors": Metric(COUNTER, "Failed reads.", ("source", "reason")),
    "placement_requests": Metric(
        COUNTER, "Requests to Placement by status, those without an answer included.", ("code",)
    ),
    "placement_request_duration_seconds": Metric(HISTOGRAM, "Duration of requests to Placement.", ("operation",)),
    "placement_conflicts": Metric(COUNTER, "Answers of Placement with status 409.", ("kind",)),
    "placement_pause_seconds": Metric(COUNTER, "Time for which the agent sent nothing because Placement was slow."),
    "placement_writes": Metric(COUNTER, "Writes to Placement, and writes of compute node records.", ("kind", "result")),
    "writes_held_back": Metric(GAUGE, "Pending writes that the agent postpones; the log says why."),
    "findings": Metric(
        GAUGE,
        "Current findings, including those that the last audit could not check.",
        ("code", "severity", "confirmed"),
    ),
    "findings_unknown": Metric(GAUGE, "Findings that the last audit could not check.", ("severity",)),
    "findings_known": Metric(GAUGE, "1 if the last audit checked every finding and read every source, else 0."),
    "finding_causes": Metric(GAUGE, "Findings that are not a symptom of another finding.", ("severity",)),
    "finding_oldest_timestamp_seconds": Metric(GAUGE, "When the oldest finding with this code appeared.", ("code",)),
    "finding_changes": Metric(
        COUNTER, "Logged changes of findings (appeared, confirmed, changed, gone).", ("severity", "change")
    ),
    "resource_inventory": Metric(GAUGE, "Total of the inventory, in the unit of the class.", _PROVIDER),
    "resource_reserved": Metric(GAUGE, "Reserved amount of the inventory.", _PROVIDER),
    "resource_used": Metric(GAUGE, "Amount that Placement counts as used.", _PROVIDER),
    "resource_free": Metric(GAUGE, "Capacity minus use; may be negative.", _PROVIDER),
    "resource_max_unit": Metric(GAUGE, "The most that one request can get.", _PROVIDER),
    "resource_allocation_ratio": Metric(GAUGE, "Allocation ratio of the inventory.", _PROVIDER),
    "resource_differs": Metric(GAUGE, "1 if Placement's inventory is not the one that the agent wants.", _PROVIDER),
    "book_amount": Metric(
        GAUGE,
        "Sum of all consumers' amounts, as three series: promised by nova, held on the host, recorded in Placement.",
        (*_CLASS, "book"),
    ),
    "resource_leaked": Metric(GAUGE, "Leaked amount: counted by Placement and not used on this host.", _CLASS),
    "resource_missing": Metric(GAUGE, "Amount that instances have in nova's database, but not in Placement.", _CLASS),
    "resource_unmanaged": Metric(
        GAUGE, "Amount in use by guests and volumes that nova does not know.", (*_CLASS, "cause")
    ),
    "store_size_bytes": Metric(GAUGE, "Size of the store (file system, volume group or Ceph pool).", ("store",)),
    "store_unaccounted_bytes": Metric(GAUGE, "Bytes in the store that belong to no known owner.", ("store",)),
    "store_owner_bytes": Metric(GAUGE, "Bytes in the store, one series per kind of owner.", ("store", "owner_kind")),
    "thin_pool_data_used_ratio": Metric(GAUGE, "Used part of the pool's space for data, 0 to 1.", ("pool",)),
    "thin_pool_metadata_used_ratio": Metric(GAUGE, "Used part of the pool's space for metadata, 0 to 1.", ("pool",)),
    "thin_pool_overcommit_ratio": Metric(
        GAUGE, "Virtual size of the pool's thin volumes divided by the pool's size.", ("pool",)
    ),
    "guests": Metric(GAUGE, "Guests that libvirt has defined.", ("kind", "state")),
    "numa_dedicated_cpus_free": Metric(GAUGE, "Free CPUs for guests with dedicated CPUs.", ("cell",)),
    "numa_memory_free_bytes": Metric(
        GAUGE, "Memory of the NUMA cell minus the memory of guests with a NUMA topology.", ("cell",)
    ),
    "huge_pages_free": Metric(GAUGE, "Free huge pages, without reserved pages.", ("cell", "page_size_bytes")),
    "heal_enabled": Metric(GAUGE, "1 if the daemon repairs findings by itself, else 0."),
    "heal_waiting": Metric(GAUGE, "Findings whose repair a guard rail delays."),
    "heal_changes": Metric(
        COUNTER, "Changes tried since the daemon's start, by heal, undo or adopt.", ("code", "result")
    ),
    "journal_open_entries": Metric(GAUGE, "Changes in the agent's journal without a recorded result."),
    "bus_up": Metric(GAUGE, "1 if the message bus accepted the last message, else 0."),
    "bus_notices_waiting": Metric(GAUGE, "Notifications that wait for the message bus."),
    "bus_notices_dropped": Metric(COUNTER, "Notifications that were dropped because too many waited."),
    "metrics_left_out": Metric(GAUGE, "Series that are left out because there are too many."),
}
