"""Choose the state source: nova-conductor, the cell database or none.

The choice is a rule and not the default of an option, because it depends on the file
that sets a URL. The nova.conf of a compute host normally has ``transport_url`` and no
database connection, and the agent on that host must not read a database by accident.
"""

from __future__ import annotations

from agent.config.load import Loaded
from agent.config.values import StateOptions
from agent.errors import ConfigError
from agent.model.nova import StateKind


def state_options_from(loaded: Loaded) -> StateOptions:
    """Return the state source.

    ``[state] source`` decides if it is set. If it is unset, the first match applies: sql with [state] connection;
    conductor with transport_url; sql with nova.conf's [database] connection. Otherwise, raise ConfigError, which
    names the possible sources.
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
    looked = ", ".join((*loaded.searched, *loaded.value("agent", "nova_conf")))
    if loaded.value("state", "source") == "sql":
        return f"{loaded.quote('state', 'source')}: needs [state] connection, which is not set (looked in {looked})"
    return (
        "[state] source is not set, and no other option decides it: set conductor (with [DEFAULT] transport_url), sql "
        f"(with [state] connection, the cell database) or none (no cloud database) (looked in {looked})"
    )
