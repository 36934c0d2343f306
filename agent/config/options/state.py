"""[state]: where the agent reads the cloud's instances and migrations; reading/state_choice.py chooses the source."""

from __future__ import annotations

from oslo_config import cfg

GROUP = "state"

OPTS = [
    cfg.StrOpt(
        "source",
        choices=[
            ("conductor", "nova-conductor over [DEFAULT] transport_url: no database password on this host"),
            ("sql", "the cell database, read-only"),
            ("none", "no cloud database: libvirt's guests count as promised"),
        ],
        help="Unset: sql when [state] connection is set; else conductor when transport_url is set; else sql with "
        "nova.conf's [database] connection. Without any of these options the agent does not start; a fleet "
        "without Nova sets source = none. Needs a restart.",
    ),
    cfg.StrOpt(
        "connection",
        secret=True,
        help="SQLAlchemy URL of the cell database, e.g. mysql+pymysql://reader:PASSWORD@db/nova_cell1 or "
        "sqlite:////path. A database user with SELECT is enough. Unset: nova.conf's [database] connection. Needs "
        "a restart.",
    ),
]
