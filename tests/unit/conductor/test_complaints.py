"""The error that an operator reads when conductor does not answer: the cause, the remedy, and never a password."""

import pytest

from agent.bus.options import BusOptions
from agent.conductor.complaints import Complaints, RemoteFailure
from agent.conductor.manifest import MANIFEST
from agent.errors import SourceInconsistent, SourceUnavailable

OPTIONS = BusOptions(url="rabbit://st%40ck:p%40ss-1@192.0.2.1:5672,nova:p%40ss-2@192.0.2.2:5672/cell1")
COMPLAINTS = Complaints(OPTIONS, "conductor")


def test_a_refused_login_names_the_user():
    error = COMPLAINTS.undelivered(ConnectionError("(0, 0): (403) ACCESS_REFUSED - Login was refused using PLAIN"))

    assert "refuses user 'st@ck'" in error.message
    assert "rabbit://192.0.2.1:5672,192.0.2.2:5672/cell1" in error.message


@pytest.mark.parametrize("secret", ["p@ss-1", "p%40ss-1", "p@ss-2", "p%40ss-2"])
def test_a_password_in_somebody_else_s_words_is_masked(secret):
    words = f"cannot connect with {secret} anywhere"
    errors = [
        COMPLAINTS.undelivered(OSError(words)),
        COMPLAINTS.other(RuntimeError(words)),
        COMPLAINTS.remote("DBError", words, MANIFEST, {}),
        COMPLAINTS.remote("UnsupportedVersion", words, MANIFEST, {}),
    ]

    assert all(secret not in str(error) and "***" in str(error) for error in errors)


def test_long_words_on_several_lines_become_one_short_line():
    error = COMPLAINTS.undelivered(OSError("one\n  two\n" + "x" * 5000))

    assert "one two xxx" in error.message
    assert len(error.message) < 500


def test_an_object_that_conductor_does_not_have_names_object_and_versions():
    error = COMPLAINTS.remote(
        "IncompatibleObjectVersion",
        "Version 1.6 of MigrationList is not supported, supported version is 1.5",
        MANIFEST,
        {"objname": "MigrationList"},
    )

    assert isinstance(error, SourceInconsistent)
    assert "asks nova-conductor for MigrationList 1.6; nova-conductor supports 1.5 " in error.message
    assert "upgrade" in error.message


def test_other_words_about_versions_still_name_what_was_asked():
    error = COMPLAINTS.remote("IncompatibleObjectVersion", "no", MANIFEST, {"objname": "MigrationList"})

    assert f"MigrationList {MANIFEST['MigrationList']}" in error.message


@pytest.mark.parametrize("kind", ["UnsupportedObjectError", "UnsupportedVersion", "RPCVersionCapError", "NoSuchMethod"])
def test_what_conductor_does_not_know_is_its_age(kind):
    error = COMPLAINTS.remote(kind, "Unsupported object type InstanceList", MANIFEST, {})

    assert isinstance(error, SourceInconsistent)
    assert "too old" in error.message


@pytest.mark.parametrize(
    ("kind", "is_weather"),
    [("DBConnectionError", True), ("OperationalError", True), ("DBDeadlock", True), ("ObjectActionError", False)],
)
def test_a_database_that_is_away_is_weather_and_a_refusal_is_not(kind, is_weather):
    error = COMPLAINTS.remote(kind, "words", MANIFEST, {})

    assert isinstance(error, RemoteFailure)
    assert isinstance(error, SourceUnavailable)
    assert (error.is_weather, error.kind, error.words) == (is_weather, kind, "words")
