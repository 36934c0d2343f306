"""The number of SELECT statements that a MariaDB has carried out."""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy


def selects_of(url: str | None) -> Callable[[], int]:
    """Return a function that counts all clients' SELECT statements on a MariaDB so far; it returns 0 without a URL."""
    if url is None:
        return lambda: 0
    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT")
    connection = engine.connect()
    return lambda: int(connection.exec_driver_sql("SHOW GLOBAL STATUS LIKE 'Com_select'").one()[1])
