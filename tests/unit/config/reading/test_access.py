"""How an operator reaches the sources by hand, from the configuration and without credentials."""

from __future__ import annotations

import pytest

from agent.config.build import settings_from
from agent.model.settings import CephAccess, DatabaseAccess, Server, SourceAccess
from tests.rigs.configs import ALONE, load_beside_nova, load_ours


def access_of(tmp_path, text: str) -> SourceAccess:
    return settings_from(load_ours(tmp_path, ALONE + text)).access


def test_source_addresses_are_shown_without_passwords(tmp_path):
    """The agent shows the addresses of Keystone, the message broker and libvirt without any password."""
    found = settings_from(load_beside_nova(tmp_path, "")).access
    assert found == SourceAccess(
        auth_url="http://192.0.2.5/identity", broker=Server(host="192.0.2.5", port=5672), libvirt_uri="qemu:///system"
    )
    assert not any(secret in repr(found) for secret in ("hunter2", "pla$cement", "nova:"))


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("rabbit://u:p%40ss@h1:5671,u:p@h2:5672/vhost?ssl=1", Server(host="h1", port=5671)),
        ("rabbit://u:p@[2001:db8::1]:5672/", Server(host="2001:db8::1", port=5672)),
        ("rabbit://h1/", Server(host="h1", port=5672)),
        ("rabbit:///", None),
    ],
)
def test_the_broker_address_is_the_first_host(tmp_path, url, server):
    """If transport_url lists several hosts, the agent shows the first as the broker's address."""
    text = f"[DEFAULT]\ntransport_url = {url}\n[state]\nsource = conductor\n"
    assert access_of(tmp_path, text).broker == server


@pytest.mark.parametrize(
    ("url", "database"),
    [
        (
            "mysql+pymysql://reader:s3cret@db.example.org:3307/nova_cell1?charset=utf8",
            DatabaseAccess(name="nova_cell1", server=Server(host="db.example.org", port=3307), user="reader"),
        ),
        (
            "mysql+pymysql://db/nova",
            DatabaseAccess(name="nova", server=Server(host="db", port=3306)),
        ),
        ("sqlite:////var/lib/cell.db", DatabaseAccess(name="/var/lib/cell.db")),
    ],
)
def test_the_database_address_has_no_password(tmp_path, url, database):
    """The agent shows the cell database's name, host, port and user from [state] connection, without the password."""
    found = access_of(tmp_path, f"[state]\nsource = sql\nconnection = {url}\n")
    assert found.database == database
    assert found.broker is None
    assert "s3cret" not in repr(found)


def test_source_urls_are_shown_without_a_user_name(tmp_path):
    """The agent removes the user name from the URLs of Placement and libvirt before it shows them."""
    text = (
        "[placement]\nauth_type = http_basic\nusername = u\npassword = p\n"
        "endpoint_override = https://admin:marker@placement.example.org:8778/x\n"
        "[libvirt]\nconnection_uri = qemu+tls://marker@host.example.org/system\n"
    )
    found = access_of(tmp_path, text)
    assert found.placement_url == "https://placement.example.org:8778/x"
    assert found.libvirt_uri == "qemu+tls://host.example.org/system"


def test_the_ceph_access_is_read_from_libvirt_options(tmp_path):
    """The agent takes Ceph's pool, user and configuration file from the [libvirt] options."""
    text = "[libvirt]\nimages_type = rbd\nimages_rbd_pool = vms\nrbd_user = nova\nimages_rbd_ceph_conf = /etc/c.conf\n"
    assert access_of(tmp_path, text).ceph == CephAccess(pool="vms", user="nova", conf="/etc/c.conf")


def test_an_unconfigured_source_has_no_address(tmp_path):
    """Without a broker, a database or Ceph in its options, the agent shows only the URLs of Placement and libvirt."""
    assert access_of(tmp_path, "") == SourceAccess(placement_url="http://127.0.0.1:8778")
