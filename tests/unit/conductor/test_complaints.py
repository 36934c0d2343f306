"""The error that an operator reads when conductor does not answer: the cause, the remedy, and never a password."""

import pytest

from agent.bus.options import BusOptions
from agent.conductor.complaints import Complaints, RemoteFailure
from agent.conductor.manifest import MANIFEST
from agent.errors import SourceInconsistent, SourceUnavailable

OPTIONS = BusOptions(url="rabbit://st%40ck:p%40ss-1@192.0.2.1:5672,nova:p%40ss-2@192.0.2.2:5672/cell1")
COMPLAINTS = Complaints(OPTIONS, "conductor")


def test_a_refused_login_error_shows_the_user():
    """If RabbitMQ refuses the login, the error shows the user name and the broker's address."""
    error = COMPLAINTS.undelivered(ConnectionError("(0, 0): (403) ACCESS_REFUSED - Login was refused using PLAIN"))

    assert "refuses user 'st@ck'" in error.message
    assert "rabbit://192.0.2.1:5672,192.0.2.2:5672/cell1" in error.message


@pytest.mark.parametrize("secret", ["p@ss-1", "p%40ss-1", "p@ss-2", "p%40ss-2"])
def test_passwords_in_rpc_errors_are_masked(secret):
    """Errors about nova-conductor show `***` in place of each password of the transport URL."""
    words = f"cannot connect with {secret} anywhere"
    errors = [
        COMPLAINTS.undelivered(OSError(words)),
        COMPLAINTS.other(RuntimeError(words)),
        COMPLAINTS.remote("DBError", words, MANIFEST, {}),
        COMPLAINTS.remote("UnsupportedVersion", words, MANIFEST, {}),
    ]

    assert all(secret not in str(error) and "***" in str(error) for error in errors)


def test_a_long_rpc_error_becomes_one_short_line():
    error = COMPLAINTS.undelivered(OSError("one\n  two\n" + "x" * 5000))

    assert "one two xxx" in error.message
    assert len(error.message) < 500


def test_a_version_error_shows_both_object_versions():
    """If nova-conductor rejects an object version, the error shows the requested and the supported version."""
    error = COMPLAINTS.remote(
        "IncompatibleObjectVersion",
        "Version 1.6 of MigrationList is not supported, supported version is 1.5",
        MANIFEST,
        {"objname": "MigrationList"},
    )

    assert isinstance(error, SourceInconsistent)
    assert "asks nova-conductor for MigrationList 1.6; nova-conductor supports only 1.5:" in error.message
    assert "upgrade" in error.message


def test_a_version_error_shows_the_requested_object():
    """If nova-conductor rejects an object version without details, the error still shows the object and its version."""
    error = COMPLAINTS.remote("IncompatibleObjectVersion", "no", MANIFEST, {"objname": "MigrationList"})

    assert f"MigrationList {MANIFEST['MigrationList']}" in error.message


@pytest.mark.parametrize("kind", ["UnsupportedObjectError", "UnsupportedVersion", "RPCVersionCapError", "NoSuchMethod"])
def test_an_unsupported_rpc_call_means_an_old_conductor(kind):
    """If nova-conductor does not know an RPC call, the agent's error says that nova-conductor is too old."""
    error = COMPLAINTS.remote(kind, "Unsupported object type InstanceList", MANIFEST, {})

    assert isinstance(error, SourceInconsistent)
    assert "too old" in error.message


@pytest.mark.parametrize(
    ("kind", "is_transient"),
    [("DBConnectionError", True), ("OperationalError", True), ("DBDeadlock", True), ("ObjectActionError", False)],
)
def test_a_database_failure_is_marked_as_transient(kind, is_transient):
    """A database error in nova-conductor, such as DBDeadlock, is marked as transient; another error is not."""
    error = COMPLAINTS.remote(kind, "words", MANIFEST, {})

    assert isinstance(error, RemoteFailure)
    assert isinstance(error, SourceUnavailable)
    assert (error.is_transient, error.kind, error.words) == (is_transient, kind, "words")
