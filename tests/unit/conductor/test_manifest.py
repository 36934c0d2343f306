"""Which versions of an object the agent can read: any minor version, but only a known major version."""

import pytest

from agent.conductor.manifest import MANIFEST, other_major


def envelope(name, version, **fields):
    return {"nova_object.name": name, "nova_object.version": version, "nova_object.data": fields}


def instances(*versions, **fields):
    return envelope("InstanceList", "2.6", objects=[envelope("Instance", version, **fields) for version in versions])


@pytest.mark.parametrize("version", ["2.0", "2.8", "2.9", "2.99", "2.8.1"])
def test_any_minor_object_version_is_accepted(version):
    """The agent reads an Instance object of a known major version, whatever its minor version is."""
    assert other_major(instances("2.8", version), MANIFEST) is None


@pytest.mark.parametrize("version", ["3.0", "1.24", "20.8", ""])
def test_an_unknown_major_object_version_is_reported(version):
    """The version check reports the type and version of a nova object with an unexpected major version."""
    assert other_major(instances("2.8", version), MANIFEST) == f"Instance {version}"


def test_the_version_check_includes_nested_objects():
    """A Flavor inside an Instance is reported if the agent cannot read the Flavor's major version."""
    flavor = envelope("Flavor", "2.0", id=1)

    assert other_major(instances("2.8", flavor=flavor), MANIFEST) == "Flavor 2.0"


def test_an_object_of_an_unknown_type_is_accepted():
    """The version check accepts a nova object of a type that the agent does not know."""
    assert other_major(instances("2.8", novelty=envelope("SomethingNew", "7.0")), MANIFEST) is None


@pytest.mark.parametrize("answer", [None, 7, "text", [], {}, {"nova_object.name": None}, [{"nova_object.name": "Tag"}]])
def test_replies_without_a_version_cause_no_exception(answer):
    """The version check raises no exception for a reply of nova-conductor that has no version."""
    assert other_major(answer, MANIFEST) in {None, "Tag "}
