"""The host's provider uuid: from files, then from its record; never a new uuid while the cloud knows the host."""

import multiprocessing
import stat
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ConfigError
from agent.host_files.identity import ComputeIdFiles, identity_from_state
from agent.model.nova import ComputeNode, NovaState, Service, StateKind

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def files(tmp_path):
    """Return identity files in two configuration folders and both state folders; all folders exist and are empty."""
    folders = [tmp_path / name for name in ("etc-nova", "etc-stocktake", "lib-nova", "lib-stocktake")]
    for folder in folders:
        folder.mkdir()
    return ComputeIdFiles((folders[0], folders[1]), folders[2], folders[3])


def every_path(files):
    return [*(folder / "compute_id" for folder in (*files.config_dirs, files.nova_state_path, files.state_dir))]


def test_the_host_uuid_is_unknown_without_a_compute_id_file(files):
    assert files.find() is None


def test_a_missing_folder_of_the_compute_id_file_is_no_error(tmp_path):
    """If the folders for the compute_id file do not exist, the host's uuid is unknown, and no error is raised."""
    assert ComputeIdFiles((tmp_path / "a",), None, tmp_path / "b").find() is None


@pytest.mark.parametrize("place", range(4))
def test_the_compute_id_file_is_found_in_each_folder(files, place):
    """The file compute_id is found in any config folder, in nova's state folder and in the agent's state folder."""
    path = every_path(files)[place]
    path.write_text(ONE)
    identity = files.find()

    assert (identity.uuid, identity.origin) == (ONE, str(path))


def test_the_first_of_equal_compute_id_files_is_used(files):
    """If several compute_id files contain the same uuid, the agent uses the first file in its search order."""
    for path in every_path(files)[1:]:
        path.write_text(f"  {ONE.upper()}\n")
    identity = files.find()

    assert (identity.uuid, identity.origin) == (ONE, str(every_path(files)[1]))


def test_two_different_compute_id_files_are_an_error(files):
    """If two compute_id files contain different uuids, the error message contains the paths and uuids of both files."""
    first, last = every_path(files)[0], every_path(files)[3]
    first.write_text(ONE)
    last.write_text(TWO)

    with pytest.raises(ConfigError) as caught:
        files.find()
    assert all(part in str(caught.value) for part in (str(first), str(last), ONE, TWO))


@pytest.mark.parametrize("content", [b"", b"\n", b"no uuid", ONE.encode() + b"\nxyz", b"\xff\xfe", ONE[:-1].encode()])
def test_an_invalid_compute_id_file_is_a_configuration_error(files, content):
    """The configuration error about an invalid compute_id file contains the path of this file."""
    every_path(files)[0].write_text(ONE)
    path = every_path(files)[3]
    path.write_bytes(content)

    with pytest.raises(ConfigError, match="lib-stocktake/compute_id"):
        files.find()


def test_a_folder_named_compute_id_is_a_configuration_error(files):
    every_path(files)[2].mkdir()

    with pytest.raises(ConfigError, match="lib-nova/compute_id"):
        files.find()


def test_a_new_host_uuid_is_saved_in_the_compute_id_file(files):
    """The agent creates a random uuid for the host.

    The agent saves the uuid in the file compute_id with mode 0644. A later read of the file returns the same uuid.
    """
    created = files.create()
    path = every_path(files)[3]

    assert uuid.UUID(created.uuid).version == 4
    assert path.read_text().strip() == created.uuid
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert files.find().uuid == created.uuid
    assert [each.name for each in files.state_dir.iterdir()] == ["compute_id"]


def test_a_missing_state_folder_is_created_for_a_host_uuid(tmp_path):
    """If the agent's state folder is missing, it is created when the agent saves a new uuid for the host."""
    files = ComputeIdFiles((), None, tmp_path / "new" / "state")

    assert files.create().uuid == files.find().uuid


def test_an_existing_compute_id_file_is_not_replaced(files):
    """If a compute_id file exists, the agent takes the host's uuid from the file instead of creating a new uuid."""
    path = every_path(files)[3]
    path.write_text(ONE)

    assert files.create().uuid == ONE
    assert path.read_text() == ONE


def test_an_invalid_compute_id_file_is_not_overwritten(files):
    """If the existing compute_id file is invalid, the agent raises a configuration error and creates no new uuid."""
    path = every_path(files)[3]
    path.write_text("garbage")

    with pytest.raises(ConfigError, match="garbage"):
        files.create()
    assert path.read_text() == "garbage"


def test_an_unwritable_compute_id_file_is_shown_in_the_error(tmp_path):
    """If the agent cannot save the host's new uuid, the error message contains the path of the compute_id file."""
    (tmp_path / "file").write_text("")
    files = ComputeIdFiles((), None, tmp_path / "file" / "state")

    with pytest.raises(ConfigError, match="file/state/compute_id"):
        files.create()


def _create(files, start, answers):
    start.wait()
    answers.put(files.create().uuid)


def test_processes_that_start_together_share_one_host_uuid(files):
    """If eight processes create the host's uuid at the same moment, all of them get the same uuid."""
    context = multiprocessing.get_context("fork")
    start, answers = context.Event(), context.Queue()
    workers = [context.Process(target=_create, args=(files, start, answers)) for _ in range(8)]
    for worker in workers:
        worker.start()
    start.set()
    uuids = {answers.get(timeout=60) for _ in workers}
    for worker in workers:
        worker.join(60)

    assert uuids == {files.find().uuid}


def node(number, host="cmp1", hostname="cmp1.example.org", *, node_uuid=ONE, deleted=False):
    return ComputeNode(id=number, uuid=node_uuid, host=host, hypervisor_hostname=hostname, deleted=deleted)


SERVICE = Service(id=7, version=74, disabled=False, forced_down=False, last_seen_up=None, created_at=None)


def state(*nodes, service=SERVICE, kind=StateKind.SQL):
    return NovaState(kind=kind, host="cmp1", nodes=nodes, service=service)


def test_the_host_uuid_is_read_from_the_compute_node_row():
    """The agent takes the host's uuid from the host's row in nova's table compute_nodes."""
    identity = identity_from_state(state(node(3, node_uuid=ONE.upper())), "cmp1.example.org")

    assert (identity.uuid, identity.origin) == (ONE, "compute_nodes id 3")


def test_a_compute_node_row_suffices_for_the_host_uuid():
    """The agent takes the host's uuid from the compute_nodes row even if nova has no service row for the host."""
    assert identity_from_state(state(node(3), service=None), "cmp1.example.org").uuid == ONE


@pytest.mark.parametrize(
    "nodes",
    [(), (node(1, hostname="old.example.org"),), (node(1, deleted=True),), (node(1, host="cmp2"),)],
)
def test_a_service_without_a_compute_node_row_is_an_error(nodes):
    """If nova has a service row and no compute_nodes row for the host, the agent raises a configuration error."""
    with pytest.raises(ConfigError) as caught:
        identity_from_state(state(*nodes), "cmp1.example.org")
    message = str(caught.value)

    assert all(part in message for part in ("cmp1.example.org", "id 7", "compute_id"))
    assert ("old.example.org" in message) == any(each.hypervisor_hostname == "old.example.org" for each in nodes)


@pytest.mark.parametrize("nodes", [(), (node(1, hostname="old.example.org"),), (node(1, deleted=True),)])
def test_nova_may_have_no_uuid_for_a_new_host(nodes):
    """If nova has no service row and no valid compute_nodes row for a host, the agent finds no uuid for the host."""
    assert identity_from_state(state(*nodes, service=None), "cmp1.example.org") is None


def test_no_host_uuid_is_found_without_access_to_nova():
    """If no access to nova is configured, the agent finds no uuid of the host in nova and raises no error."""
    assert identity_from_state(state(service=None, kind=StateKind.NONE), "cmp1.example.org") is None


def test_a_compute_node_row_with_an_invalid_uuid_is_rejected():
    """If the uuid in the host's compute_nodes row is invalid, the configuration error contains the id of the row."""
    with pytest.raises(ConfigError, match="compute_nodes id 3"):
        identity_from_state(state(node(3, node_uuid="none")), "cmp1.example.org")


def test_two_compute_node_rows_of_the_same_node_are_rejected():
    """If nova has two undeleted compute_nodes rows for one node, the error message contains the ids of both rows."""
    with pytest.raises(ConfigError, match="1, 2"):
        identity_from_state(state(node(1), node(2, node_uuid=TWO)), "cmp1.example.org")


NODES = st.builds(
    node,
    st.integers(1, 99),
    st.sampled_from(["cmp1", "cmp2"]),
    st.sampled_from(["a", "b", "c"]),
    node_uuid=st.uuids().map(str),
    deleted=st.booleans(),
)


@given(st.lists(NODES, max_size=6), st.sampled_from([None, SERVICE]), st.sampled_from(["a", "b"]))
def test_a_host_never_takes_the_uuid_of_another_compute_node(nodes, service, hostname):
    """The agent takes the host's uuid only from the compute_nodes row with the name of this host and node."""
    ours = [
        each.uuid for each in nodes if (each.host, each.hypervisor_hostname, each.deleted) == ("cmp1", hostname, False)
    ]
    try:
        identity = identity_from_state(state(*nodes, service=service), hostname)
    except ConfigError:
        assert len(ours) > 1 or (not ours and service is not None)
        return
    assert ([] if identity is None else [identity.uuid]) == ours
    assert identity is not None or service is None


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r"), max_size=60))
def test_random_text_in_a_compute_id_file_is_read_or_rejected(tmp_path_factory, text):
    """The agent reads a compute_id file with a valid uuid, and rejects other random text with a ConfigError."""
    folder = tmp_path_factory.mktemp("law")
    (folder / "compute_id").write_text(text, encoding="utf-8")
    try:
        identity = ComputeIdFiles((), None, folder).find()
    except ConfigError:
        return
    assert identity.uuid == str(uuid.UUID(text[:40].strip()))
