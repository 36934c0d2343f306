"""[state]: where the agent reads the cloud's instances and migrations: nova-conductor, the cell database or nowhere.

The option [state] source has no default. If it is unset, the source depends on the URLs that are set. A database
connection in nova.conf is then used only if no ``transport_url`` is set, because the agent must not read a database by
accident. Compute hosts normally have a ``transport_url``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from oslo_config import cfg

from agent.config.loaded import Loaded
from agent.errors import ConfigError
from agent.model.nova import StateKind

GROUP = "state"

OPTS = [
    cfg.StrOpt(
        "source",
        choices=[
            ("conductor", "nova-conductor over [DEFAULT] transport_url; this host needs no database password"),
            ("sql", "the cell database, read-only"),
            ("none", "no cloud database: the agent treats every libvirt guest as an instance of the cloud"),
        ],
        help="Source of the cloud's instances and migrations. If this option is unset, the agent uses the first of "
        "these options that is set: [state] connection (sql), [DEFAULT] transport_url (conductor), [database] "
        "connection of nova.conf (sql). If none of them is set, the agent does not start. For a fleet without Nova, "
        "set the value none. A new value needs a restart.",
    ),
    cfg.StrOpt(
        "connection",
        secret=True,
        help="SQLAlchemy URL of the cell database, e.g. mysql+pymysql://reader:PASSWORD@db/nova_cell1 or "
        "sqlite:////path. A database user with SELECT is enough. Unset: nova.conf's [database] connection. A new "
        "value needs a restart.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOptions:
    """How to read nova's database. ``connection`` (a URL with a password) is None unless SQL is used; repr omits it."""

    kind: StateKind
    connection: str | None = field(default=None, repr=False)


def state_options_from(loaded: Loaded) -> StateOptions:
    """Return the state source.

    If ``[state] source`` is unset, the first option of this list that is set decides:

    - ``[state] connection``: source sql
    - ``transport_url``: source conductor
    - ``[database] connection`` in nova.conf: source sql

    If none of these options is set, raises ConfigError, which names the possible sources.
    """
    source = loaded.value("state", "source")
    if source == "none":
        return StateOptions(kind=StateKind.NONE)
    has_broker = bool(loaded.value("DEFAULT", "transport_url"))
    if source == "conductor":
        if not has_broker:
            raise ConfigError(f"{loaded.quote('state', 'source')}: needs [DEFAULT] transport_url, which is not set")
        return StateOptions(kind=StateKind.CONDUCTOR)
    connection = loaded.value("state", "connection") or None
    if connection is None and source is None and has_broker:
        return StateOptions(kind=StateKind.CONDUCTOR)
    connection = connection or loaded.nova.connection
    if connection is None:
        raise ConfigError(_nothing_set(loaded))
    return StateOptions(kind=StateKind.SQL, connection=connection)


def _nothing_set(loaded: Loaded) -> str:
    searched = loaded.all_searched()
    if loaded.value("state", "source") == "sql":
        return f"{loaded.quote('state', 'source')}: needs [state] connection, which is not set (looked in {searched})"
    return (
        "[state] source is not set, and no other option implies it: set conductor (with [DEFAULT] transport_url), sql "
        f"(with [state] connection, the cell database) or none (no cloud database); looked in {searched}"
    )
