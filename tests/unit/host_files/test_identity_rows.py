"""Scenarios 70, 71 and 73: identity files that differ, a lost file, and what the service row decides."""

from __future__ import annotations

import pytest

from agent.errors import ConfigError
from agent.host_files.identity import ComputeIdFiles, identity_from_state
from agent.model.nova import StateKind
from tests.rigs.facts import NODE, ROOT_UUID, node, root, service, snapshot, state, view, without
from tests.rigs.records import decision, seen_long_ago

OTHER = "22222222-2222-4222-8222-222222222222"
DISABLED = "COMPUTE_STATUS_DISABLED"


@pytest.mark.parametrize(("first", "second"), [(ROOT_UUID, OTHER), (ROOT_UUID, "garbage")])
def test_s70_conflicting_compute_id_files_are_an_error(tmp_path, first, second):
    """If two compute_id files differ, the agent raises a configuration error with the path of the second file."""
    for name, text in (("one", first), ("two", second)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "compute_id").write_text(text)
    with pytest.raises(ConfigError, match="two/compute_id"):
        ComputeIdFiles((tmp_path / "one", tmp_path / "two"), None, tmp_path / "state").find()


def test_s71_the_host_uuid_is_read_from_its_compute_node_row():
    """Through nova-conductor, the agent reads the host's uuid from the host's row in nova's table compute_nodes."""
    known = state(kind=StateKind.CONDUCTOR, service=service(version=74), nodes=(node(),))
    identity = identity_from_state(known, NODE)
    assert identity is not None
    assert identity.uuid == ROOT_UUID


@pytest.mark.parametrize("rows", [(), (node(hypervisor_hostname="old-name"),), (node(host="cmp2"),)])
def test_s71_a_service_without_a_compute_node_row_is_an_error(rows):
    """If nova has a service row and no compute_nodes row for the host, the agent raises a configuration error."""
    with pytest.raises(ConfigError, match="compute_id"):
        identity_from_state(state(service=service(version=74), nodes=rows), NODE)


def traits_after(observed: frozenset[str], **changes) -> frozenset[str]:
    """Return the traits of the root after the plan for that service is carried out."""
    held = root().traits - {DISABLED} | observed
    plan = decision(snapshot(nova=state(**changes), placement=view(provider=root(traits=held)))).plan
    return next((frozenset(w.traits) for w in plan.writes if hasattr(w, "traits")), held)


@pytest.mark.parametrize("observed", [frozenset(), frozenset({DISABLED})])
def test_s73_a_disabled_service_gives_the_disabled_trait(observed):
    """The agent sets the trait COMPUTE_STATUS_DISABLED if nova's compute service is disabled."""
    assert DISABLED in traits_after(observed, service=seen_long_ago(disabled=True))
    assert DISABLED not in traits_after(observed, service=seen_long_ago(disabled=False))
    assert (DISABLED in traits_after(observed, service=None)) == bool(observed)


def test_s73_the_disabled_trait_is_kept_if_nova_was_not_read():
    """If nova's database could not be read, the agent does not remove the trait COMPUTE_STATUS_DISABLED."""
    held = root(traits=root().traits | {DISABLED})
    world = without(snapshot(placement=view(provider=held)), "state")
    assert not [w for w in decision(world).plan.writes if hasattr(w, "traits") and DISABLED not in w.traits]


def test_the_agents_compute_id_file_can_be_written_and_removed(tmp_path):
    """The agent can write and remove the file compute_id in its own state folder."""
    files = ComputeIdFiles((), None, tmp_path)
    assert (files.own_text(), files.own_path) == (None, str(tmp_path / "compute_id"))
    files.put_own(f"{ROOT_UUID}\n")
    assert files.own_text() == f"{ROOT_UUID}\n"
    found = files.find()
    assert found is not None
    assert (found.uuid, found.origin) == (ROOT_UUID, files.own_path)
    files.put_own(None)
    files.put_own(None)
    assert files.find() is None


def test_a_folder_in_place_of_the_compute_id_file_is_an_error(tmp_path):
    """If the path of the agent's file compute_id is a folder, the agent raises a configuration error."""
    files = ComputeIdFiles((), None, tmp_path)
    (tmp_path / "compute_id").mkdir()
    for ask in (files.own_text, lambda: files.put_own("x"), lambda: files.put_own(None)):
        with pytest.raises(ConfigError, match="compute_id"):
            ask()
