"""The probe reads the agent's configuration in a sandbox that allows unix sockets alone."""

import errno
import os
import socket

import pytest

from agent.privileged.configuration import configured

CONF = """
[DEFAULT]
host = node-a
instances_path = /srv/instances
[agent]
nova_conf =
[libvirt]
connection_uri = test:///default
images_type = qcow2
[state]
source = none
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: a configuration that only root may write")
def test_the_helper_reads_its_configuration_without_network(tmp_path, monkeypatch):
    """The privileged helper stocktake-probe reads its configuration in a sandbox that allows only unix sockets."""
    conf = tmp_path / "stocktake.conf"
    conf.write_text(CONF)
    conf.chmod(0o640)
    real = socket.socket

    class UnixOnly(real):
        """A socket as RestrictAddressFamilies=AF_UNIX allows."""

        def __init__(self, family=socket.AF_INET, *args, **more):
            if family != socket.AF_UNIX:
                raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
            super().__init__(family, *args, **more)

    monkeypatch.setattr(socket, "socket", UnixOnly)
    scope, user = configured([str(conf)], [])
    assert (scope.file_systems, scope.libvirt_uri, user) == (("/srv/instances",), "test:///default", "stocktake")
