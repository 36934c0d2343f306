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
def test_lock_errors_connection_errors_and_schema_errors_are_retried(code):
    assert _worth_repeating(failure(code))


# Wrong password, no such database, no server on the port, too many connections, statement limit reached.
@pytest.mark.parametrize("code", [1045, 1049, 2003, 1040, 1969])
def test_login_errors_connect_errors_and_limit_errors_are_not_retried(code):
    assert not _worth_repeating(failure(code))


def test_an_invalidated_connection_is_retried():
    # 4031: the server closed the connection for inactivity.
    assert _worth_repeating(failure(4031, invalidated=True))


def test_an_error_without_a_code_is_not_retried():
    assert not _worth_repeating(sqlalchemy.exc.InvalidRequestError("text"))
