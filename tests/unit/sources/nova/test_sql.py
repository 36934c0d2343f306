"""Which failures of a database the agent retries once, at once."""

import pymysql
import pytest
import sqlalchemy

from agent.sources.nova.sql import _worth_repeating


def failure(code, *, invalidated=False):
    cause = pymysql.err.OperationalError(code, "text")
    return sqlalchemy.exc.OperationalError("SELECT 1", {}, cause, connection_invalidated=invalidated)


# Lock wait time-out, deadlock, Galera node not prepared, server gone, connection lost, unknown column, unknown table.
@pytest.mark.parametrize("code", [1205, 1213, 1047, 2006, 2013, 1054, 1146])
def test_a_query_is_retried_after_certain_mysql_errors(code):
    """The agent repeats a query after certain MySQL errors, for example a deadlock or a lost connection."""
    assert _worth_repeating(failure(code))


# Wrong password, no such database, no server on the port, too many connections, statement limit reached.
@pytest.mark.parametrize("code", [1045, 1049, 2003, 1040, 1969])
def test_a_query_is_not_retried_after_a_refused_login(code):
    """The agent does not retry a query after a MySQL error such as a refused login or a statement's time limit."""
    assert not _worth_repeating(failure(code))


def test_a_query_is_retried_if_its_connection_was_invalidated():
    """The agent repeats a query if the database server had closed the connection because of inactivity."""
    # 4031: the server closed the connection for inactivity.
    assert _worth_repeating(failure(4031, invalidated=True))


def test_a_query_is_not_retried_after_an_error_inside_sqlalchemy():
    assert not _worth_repeating(sqlalchemy.exc.InvalidRequestError("text"))
