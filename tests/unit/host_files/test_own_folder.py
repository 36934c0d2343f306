"""Whether the machine or only the operator can repair an unusable folder."""

import errno
import os

import pytest

from agent.errors import ConfigError, FolderUnavailable
from agent.host_files.own_folder import failure


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOENT, errno.ESTALE])
def test_a_folder_is_unavailable_if_its_file_system_fails(number):
    """If the file system of a folder is full, read-only or failing, the agent raises FolderUnavailable."""
    found = failure("/x: cannot be written", OSError(number, os.strerror(number)))
    assert type(found) is FolderUnavailable
    assert str(found) == f"/x: cannot be written: {os.strerror(number)}"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EEXIST, errno.ELOOP, errno.EISDIR])
def test_wrong_folder_permissions_are_a_configuration_error(number):
    """A folder with wrong permissions, or a file in its place, raises ConfigError: only the operator can repair it."""
    assert type(failure("/x", OSError(number, os.strerror(number)))) is ConfigError
