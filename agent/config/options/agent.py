"""Define the options of [agent], such as the role, the folders and the triggers of audits.

nova does not have these options, and the agent does not read them from nova.conf.
"""

from __future__ import annotations

from oslo_config import cfg

GROUP = "agent"

OPTS = [
    cfg.StrOpt(
        "role",
        default="owner",
        choices=[
            ("owner", "the agent replaces nova-compute's reporting: it writes all that nova-compute would write"),
            (
                "companion",
                "nova-compute runs too and writes the inventory; the agent writes only allocations, for example "
                "for guests that nova does not know",
            ),
            ("observer", "the agent writes nothing: every audit is a dry run"),
        ],
        mutable=True,
        help="The role decides what the agent writes to Placement and to nova's database. owner is the normal role. "
        "Begin with observer: the agent then only reports what it would write. SIGHUP applies a new value.",
    ),
    cfg.BoolOpt(
        "takeover",
        default=False,
        mutable=True,
        help="Let the agent write a root provider that has the trait OWNER_NOVA, once the host's nova-compute is "
        "down. Off by default: if nova-compute runs again, the two programs undo each other's writes. SIGHUP applies "
        "a new value.",
    ),
    cfg.ListOpt(
        "nova_conf",
        default=["/etc/nova/nova.conf"],
        help="Configuration files of nova-compute on this host; a later file overrides an earlier one. Stocktake "
        "has many of nova's options. If Stocktake's own files do not set such an option, the agent uses nova's value "
        "from these files. The default file may be absent; a file named here must exist. Empty: the agent does "
        "not read nova-compute's configuration. A new value needs a restart.",
    ),
    cfg.StrOpt(
        "state_dir",
        default="/var/lib/stocktake",
        help="Folder for the files that must survive a reboot: compute_id, findings.json, store.json, "
        "journal.jsonl. A new value needs a restart.",
    ),
    cfg.StrOpt(
        "run_dir",
        default="/run/stocktake",
        help="Folder for the last report, which stocktake status reads. A new value needs a restart.",
    ),
    cfg.BoolOpt(
        "event_driven",
        default=True,
        help="Audit also when libvirt sends an event, and not only at the interval. A new value needs a restart.",
    ),
    cfg.FloatOpt(
        "event_settle",
        default=0.2,
        min=0.0,
        help="Seconds without a further event before an audit begins, so that a burst of events causes one audit. A "
        "new value needs a restart.",
    ),
    cfg.FloatOpt(
        "event_cap",
        default=1.0,
        min=0.0,
        help="Maximum seconds between the first event from libvirt and the audit, even if more events follow. The "
        "value must not be below event_settle. With the default, Placement shows a change on the host after at most "
        "2 s: 1 s until the audit begins, and 1 s for the audit. A new value needs a restart.",
    ),
    cfg.FloatOpt(
        "peer_audit_interval",
        default=10.0,
        min=0.1,
        mutable=True,
        help="Minimum seconds between two audits that are requested on the message bus (by audit_now). Every user of "
        "the broker may send such requests. With the default, even a flood of requests causes at most one audit in "
        "ten seconds. All requests within this time cause one audit, and the reply says when that audit begins. "
        "SIGUSR1 and commands do not wait. SIGHUP applies a new value.",
    ),
    cfg.FloatOpt(
        "start_splay",
        default=0.0,
        min=0.0,
        help="Seconds over which the first audits of all hosts are spread when all daemons start at the same time; "
        "a host's delay depends on its name. During the delay, neither libvirt's events nor the periodic timer "
        "trigger an audit, but an operator can trigger an audit. 0: the first audit begins at once. Usually no "
        "delay is needed, because all agents send fewer requests while Placement is slow. A new value needs a "
        "restart.",
    ),
    cfg.IntOpt(
        "confirm_audits",
        default=2,
        min=1,
        mutable=True,
        help="A finding is confirmed once this number of audits in a row has reported the finding with the same "
        "evidence. The default is 2: a single audit may run in the middle of a build or a delete, and "
        "report a difference that is gone a moment later. SIGHUP applies a new value.",
    ),
    cfg.IntOpt(
        "confirm_spacing",
        default=10,
        min=0,
        mutable=True,
        help="Minimum seconds between two audits that together confirm a finding. The default is 10, because two "
        "audits that events trigger may be milliseconds apart and see the same moment of a build or a delete. The "
        "two audits may be at most three times update_resources_interval apart. SIGHUP applies a new value.",
    ),
    cfg.StrOpt(
        "unknown_guests",
        default="reserve",
        choices=["reserve", "report", "ignore"],
        mutable=True,
        help="What the agent does about guests that nova does not know. ignore: nothing. report: the agent only "
        "reports the guests. reserve: the agent also makes Placement count the guests' resources as taken. It raises "
        "the inventories' reserved amounts; if its role is companion, it creates allocations instead. SIGHUP applies "
        "a new value.",
    ),
    cfg.IntOpt(
        "summary_interval",
        default=3600,
        min=1,
        mutable=True,
        help="Seconds between two summaries in the log when nothing changes. With the default, a day without changes "
        "takes fewer than 150 lines of log. SIGHUP applies a new value.",
    ),
    cfg.FloatOpt(
        "source_deadline",
        default=30.0,
        min=0.1,
        mutable=True,
        help="Maximum seconds for one read of libvirt, of a file system or of the cloud's state. A longer read "
        "counts as failed, and the agent then changes no value that depends on this source. SIGHUP applies a new "
        "value.",
    ),
    cfg.StrOpt(
        "probe_socket",
        help="Socket of stocktake-probe, such as /run/stocktake-probe.sock, for an agent that does not run as root: "
        "through this program the agent reads LVM, Ceph, persistent memory, file systems, guests' disk files and "
        "libvirt's domain capabilities. Not set: the agent reads these sources itself. A new value needs a restart.",
    ),
    cfg.StrOpt(
        "probe_user",
        default="stocktake",
        help="stocktake-probe answers only this user and root. It reads this option again for each request.",
    ),
]
