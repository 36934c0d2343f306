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
            ("companion", "beside a living nova-compute: use that it does not know, as allocations of our own"),
            ("observer", "writes nothing: every audit is a dry run"),
        ],
        mutable=True,
        help="Who writes what. The default is the job itself; begin with observer to look first. SIGHUP applies it.",
    ),
    cfg.BoolOpt(
        "takeover",
        default=False,
        mutable=True,
        help="Write a root provider that carries OWNER_NOVA, once its nova-compute is down. Off, because two "
        "writers of one provider undo each other. SIGHUP applies it.",
    ),
    cfg.ListOpt(
        "nova_conf",
        default=["/etc/nova/nova.conf"],
        help="Configuration files of the compute service on this host, later ones win. What ours does not set is "
        "taken from them, for the options that mean the same. The default may be absent; a file named here must "
        "exist; empty takes nothing. Needs a restart.",
    ),
    cfg.StrOpt(
        "state_dir",
        default="/var/lib/stocktake",
        help="Folder for what must survive a reboot: compute_id, findings.json and journal.jsonl. Needs a restart.",
    ),
    cfg.StrOpt(
        "run_dir",
        default="/run/stocktake",
        help="Folder for the last report, which status reads. Needs a restart.",
    ),
    cfg.BoolOpt(
        "event_driven",
        default=True,
        help="Audit on libvirt's events too, and not on the interval alone. Needs a restart.",
    ),
    cfg.FloatOpt(
        "event_settle",
        default=0.2,
        min=0.0,
        help="Seconds without a further event before an audit begins: a burst becomes one audit. Needs a restart.",
    ),
    cfg.FloatOpt(
        "event_cap",
        default=1.0,
        min=0.0,
        help="Seconds after the first event at which an audit begins, however busy the host is; not below "
        "event_settle. The default keeps cause to inventory within 2 s. Needs a restart.",
    ),
    cfg.FloatOpt(
        "peer_audit_interval",
        default=10.0,
        min=0.1,
        mutable=True,
        help="Least seconds between two audits that audit_now on the message bus asks for: whoever may log in to the "
        "broker may send it as often as they like. Requests in between become one audit, and the answer says when it "
        "begins; SIGUSR1 and commands wait for nothing. The default is a fraction of an interval, and keeps a flood "
        "below one audit in ten seconds. SIGHUP applies it.",
    ),
    cfg.FloatOpt(
        "start_splay",
        default=0.0,
        min=0.0,
        help="Seconds over which the first audits of a fleet are spread when one command starts it; each host's place "
        "in them comes from its name. Until then events and the interval ask for nothing, an operator may. 0: at once, "
        "since a client slows down by itself when Placement answers late. Needs a restart.",
    ),
    cfg.IntOpt(
        "confirm_audits",
        default=2,
        min=1,
        mutable=True,
        help="Consecutive audits that must see a finding with equal evidence before it counts as confirmed. Two, "
        "because one look can fall into the middle of a build or a delete. SIGHUP applies it.",
    ),
    cfg.IntOpt(
        "confirm_spacing",
        default=10,
        min=0,
        mutable=True,
        help="Least seconds between two audits that together confirm a finding. 10, because two audits that events ask "
        "for may come within milliseconds and see the same moment of a build or a delete. At most three times "
        "update_resources_interval may lie between them. SIGHUP applies it.",
    ),
    cfg.StrOpt(
        "unknown_guests",
        default="reserve",
        choices=["reserve", "report", "ignore"],
        mutable=True,
        help="What to do with the use of guests that the cloud does not know: raise reserved (role companion: hold it "
        "by allocations of our own), report it only, or neither. SIGHUP applies it.",
    ),
    cfg.IntOpt(
        "summary_interval",
        default=3600,
        min=1,
        mutable=True,
        help="Seconds between two summaries in the log when nothing changes. One an hour keeps a quiet day under "
        "150 lines. SIGHUP applies it.",
    ),
    cfg.FloatOpt(
        "source_deadline",
        default=30.0,
        min=0.1,
        mutable=True,
        help="Seconds that one read of libvirt, of a file system or of the cloud's state may take; a miss freezes what "
        "rests on it. SIGHUP applies it.",
    ),
]
