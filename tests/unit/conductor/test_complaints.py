"""The error that an operator reads when conductor does not answer: the cause, the remedy, and never a password."""

import pytest

from agent.bus.options import BusOptions
from agent.conductor.complaints import Complaints, RemoteFailure
from agent.conductor.manifest import MANIFEST
from agent.errors import SourceInconsistent, SourceUnavailable

OPTIONS = BusOptions(url="rabbit://st%40ck:p%40ss-1@192.0.2.1:5672,nova:p%40ss-2@192.0.2.2:5672/cell1")
COMPLAINTS = Complaints(OPTIONS, "conductor")


def test_the_error_about_a_refused_login_names_the_user():
    error = COMPLAINTS.undelivered(ConnectionError("(0, 0): (403) ACCESS_REFUSED - Login was refused using PLAIN"))

    assert "refuses user 'st@ck'" in error.message
    assert "rabbit://192.0.2.1:5672,192.0.2.2:5672/cell1" in error.message


@pytest.mark.parametrize("secret", ["p@ss-1", "p%40ss-1", "p@ss-2", "p%40ss-2"])
def test_a_password_in_the_message_of_an_rpc_error_is_masked(secret):
    words = f"cannot connect with {secret} anywhere"
    errors = [
        COMPLAINTS.undelivered(OSError(words)),
        COMPLAINTS.other(RuntimeError(words)),
        COMPLAINTS.remote("DBError", words, MANIFEST, {}),
        COMPLAINTS.remote("UnsupportedVersion", words, MANIFEST, {}),
    ]

    assert all(secret not in str(error) and "***" in str(error) for error in errors)


def test_an_rpc_error_message_of_many_lines_is_shortened_to_a_single_line():
    error = COMPLAINTS.undelivered(OSError("one\n  two\n" + "x" * 5000))

    assert "one two xxx" in error.message
    assert len(error.message) < 500


def test_an_error_about_an_unsupported_object_version_states_both_versions():
    error = COMPLAINTS.remote(
        "IncompatibleObjectVersion",
        "Version 1.6 of MigrationList is not supported, supported version is 1.5",
        MANIFEST,
        {"objname": "MigrationList"},
    )

    assert isinstance(error, SourceInconsistent)
    assert "asks nova-conductor for MigrationList 1.6; nova-conductor supports only 1.5:" in error.message
    assert "upgrade" in error.message


def test_the_object_version_error_names_the_requested_object_and_version():
    error = COMPLAINTS.remote("IncompatibleObjectVersion", "no", MANIFEST, {"objname": "MigrationList"})

    assert f"MigrationList {MANIFEST['MigrationList']}" in error.message


@pytest.mark.parametrize("kind", ["UnsupportedObjectError", "UnsupportedVersion", "RPCVersionCapError", "NoSuchMethod"])
def test_the_error_about_an_unsupported_rpc_call_says_that_conductor_is_too_old(kind):
    error = COMPLAINTS.remote(kind, "Unsupported object type InstanceList", MANIFEST, {})

    assert isinstance(error, SourceInconsistent)
    assert "too old" in error.message


@pytest.mark.parametrize(
    ("kind", "is_transient"),
    [("DBConnectionError", True), ("OperationalError", True), ("DBDeadlock", True), ("ObjectActionError", False)],
)
def test_a_database_failure_in_conductor_is_marked_as_transient(kind, is_transient):
    error = COMPLAINTS.remote(kind, "words", MANIFEST, {})

    assert isinstance(error, RemoteFailure)
    assert isinstance(error, SourceUnavailable)
    assert (error.is_transient, error.kind, error.words) == (is_transient, kind, "words")
