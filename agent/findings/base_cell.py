"""The command with which an operator marks a row of nova's cell database as deleted, as nova itself does.

The agent never writes to a cell database. The command is for the database of ``[state] connection`` and contains no
password: ``mysql -p`` asks the operator for the password. For an SQLite file, the command runs ``python3``, because the
program ``sqlite3`` may be missing where the agent is installed.
"""

from __future__ import annotations

import json

from agent.findings.base_remedies import line
from agent.model.settings import DatabaseAccess

# The SQL expressions for the present time in UTC, as nova stores times. CURRENT_TIMESTAMP is UTC in SQLite, but not in
# MySQL.
_NOW_OF_MYSQL, _NOW_OF_SQLITE = "UTC_TIMESTAMP()", "CURRENT_TIMESTAMP"


def deletion(database: DatabaseAccess | None, table: str, row_id: int) -> tuple[str, str | None]:
    """Return (text, command). The command marks one row of ``table`` as deleted.

    The caller must append the text to the remedy's text.
    If the agent has no access to nova's database, the command is None, and the text contains the SQL statement.
    """
    if database is None:
        return f" ({_statement(table, row_id, _NOW_OF_MYSQL)})", None
    if database.server is None:
        statement = _statement(table, row_id, _NOW_OF_SQLITE)
        # With isolation_level=None, SQLite commits the statement at once.
        opened = f"sqlite3.connect({_quoted(database.name)}, isolation_level=None)"
        program = f"import sqlite3; {opened}.execute({_quoted(statement)})"
        return "", line("python3", "-c", program)
    host, port = database.server.host, str(database.server.port)
    user = ("-u", database.user) if database.user else ()
    statement = _statement(table, row_id, _NOW_OF_MYSQL)
    words = f"; the database user{f' {database.user}' if database.user else ''} needs the right to UPDATE"
    return words, line("mysql", "-h", host, "-P", port, *user, "-p", database.name, "-e", statement)


def _quoted(text: str) -> str:
    """Return the text as a Python string in double quotes: ``line`` puts single quotes around the Python program."""
    return json.dumps(text, ensure_ascii=False)


def _statement(table: str, row_id: int, now: str) -> str:
    return f"UPDATE {table} SET deleted = id, deleted_at = {now} WHERE id = {row_id} AND deleted = 0"
