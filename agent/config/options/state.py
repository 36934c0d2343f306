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
            ("none", "no cloud database: libvirt is the promise"),
        ],
        help="Unset: sql when connection is set here; else conductor when transport_url is set; else sql with "
        "nova.conf's [database] connection. Nothing of that is refused: a fleet without Nova says none. "
        "Needs a restart.",
    ),
    cfg.StrOpt(
        "connection",
        secret=True,
        help="SQLAlchemy URL of the cell database, e.g. mysql+pymysql://reader:PASSWORD@db/nova_cell1 or "
        "sqlite:////path. A user that may only read is enough. Unset: nova.conf's [database] connection. "
        "Needs a restart.",
    ),
]
