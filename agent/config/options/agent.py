"""[agent]: options that nova does not have: role, folders, audit triggers, confirmation; none comes from nova.conf."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "agent"

OPTS = [
    cfg.StrOpt(
        "role",
        default="owner",
        choices=[
            ("owner", "writes all that nova-compute would report of this host"),
            (
                "companion",
                "beside a running nova-compute: writes allocations of its own for use that the cloud does not know",
            ),
            ("observer", "writes nothing: every audit is a dry run"),
        ],
        mutable=True,
        help="What the agent writes. owner is the normal role; begin with observer to see what the agent would write. "
        "SIGHUP applies it.",
    ),
    cfg.BoolOpt(
        "takeover",
        default=False,
        mutable=True,
        help="Write a root provider that carries the trait OWNER_NOVA, once its nova-compute is down. Off by default, "
        "because two writers of one provider undo each other's work. SIGHUP applies it.",
    ),
    cfg.ListOpt(
        "nova_conf",
        default=["/etc/nova/nova.conf"],
        help="Configuration files of the compute service on this host; later files win. For an option with the same "
        "meaning in both, the agent takes their value if Stocktake's own files do not set the option. The "
        "default may be absent; a file named here must exist. Empty: the agent reads no file of nova-compute. "
        "Needs a restart.",
    ),
    cfg.StrOpt(
        "state_dir",
        default="/var/lib/stocktake",
        help="Folder for the files that must survive a reboot: compute_id, findings.json and journal.jsonl. Needs a "
        "restart.",
    ),
    cfg.StrOpt(
        "run_dir",
        default="/run/stocktake",
        help="Folder for the last report, which stocktake status reads. Needs a restart.",
    ),
    cfg.BoolOpt(
        "event_driven",
        default=True,
        help="Audit also when libvirt sends an event, and not only at the interval. Needs a restart.",
    ),
    cfg.FloatOpt(
        "event_settle",
        default=0.2,
        min=0.0,
        help="Seconds without a further event before an audit begins, so that a burst of events causes one audit. "
        "Needs a restart.",
    ),
    cfg.FloatOpt(
        "event_cap",
        default=1.0,
        min=0.0,
        help="Maximum seconds between the first event and its audit, however many events follow; not below "
        "event_settle. With the default, a change reaches the inventory within 2 s. Needs a restart.",
    ),
    cfg.FloatOpt(
        "peer_audit_interval",
        default=10.0,
        min=0.1,
        mutable=True,
        help="Minimum seconds between two audits that audit_now on the message bus triggers: every user of the broker "
        "may send it, as often as they like. Requests in between become one audit, and the answer says when it "
        "begins. SIGUSR1 and commands do not wait. The default is a fraction of the interval and keeps a flood "
        "of requests below one audit in ten seconds. SIGHUP applies it.",
    ),
    cfg.FloatOpt(
        "start_splay",
        default=0.0,
        min=0.0,
        help="Seconds over which the first audits of a fleet are spread when all its daemons start at once; the "
        "host's name decides its moment. Until that moment events and the interval trigger no audit, but an "
        "operator can. 0: the first audit begins at once; the client slows down by itself when Placement answers "
        "late. Needs a restart.",
    ),
    cfg.IntOpt(
        "confirm_audits",
        default=2,
        min=1,
        mutable=True,
        help="Consecutive audits that must see a finding with equal evidence before it counts as confirmed. Two, "
        "because a single audit can run in the middle of a build or a delete. SIGHUP applies it.",
    ),
    cfg.IntOpt(
        "confirm_spacing",
        default=10,
        min=0,
        mutable=True,
        help="Minimum seconds between two audits that together confirm a finding. 10, because two audits that events "
        "trigger may be milliseconds apart and see the same moment of a build or a delete. The two may be at "
        "most three times update_resources_interval apart. SIGHUP applies it.",
    ),
    cfg.StrOpt(
        "unknown_guests",
        default="reserve",
        choices=["reserve", "report", "ignore"],
        mutable=True,
        help="What the agent does about use by guests that the cloud does not know. reserve: raise reserved (in role "
        "companion: write allocations of the agent's own consumers); report: only report the guests; ignore: "
        "neither. SIGHUP applies it.",
    ),
    cfg.IntOpt(
        "summary_interval",
        default=3600,
        min=1,
        mutable=True,
        help="Seconds between two summaries in the log when nothing changes. One an hour keeps the log of a quiet day "
        "under 150 lines. SIGHUP applies it.",
    ),
    cfg.FloatOpt(
        "source_deadline",
        default=30.0,
        min=0.1,
        mutable=True,
        help="Maximum seconds for one read of libvirt, of a file system or of the cloud's state. If a read takes "
        "longer, every value that rests on its source is frozen. SIGHUP applies it.",
    ),
]
