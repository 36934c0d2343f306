"""The command of source-unavailable for each source, filled in from the configuration."""

from __future__ import annotations

import pytest

from agent.errors import PlacementDenied, PlacementUnavailable, SourceUnavailable
from agent.model.settings import CephAccess, DatabaseAccess, Role, Server, SourceAccess
from agent.model.snapshot import CEPH, FILESYSTEM, IMAGES, LIBVIRT, LVM, PLACEMENT, PMEM, STATE
from tests.rigs import facts
from tests.rigs.finding_worlds import Planted, lost

BROKER = SourceAccess(broker=Server(host="mq1", port=5671))
SQL = SourceAccess(
    database=DatabaseAccess(name="nova_cell1", server=Server(host="db", port=3306), user="reader"),
)
KEYSTONE = SourceAccess(auth_url="https://keystone.example.org:5000/v3")
OVERRIDE = SourceAccess(auth_url="https://keystone.example.org/v3", placement_url="https://p.example.org/placement")
LIVE = "stocktake config check --live"
TLS = PlacementUnavailable("SSL: CERTIFICATE_VERIFY_FAILED")
DOWN = PlacementUnavailable("no answer within 10 s")
SILENT_AT = PlacementUnavailable("no answer within 10 s")
SILENT_AT.endpoint = "https://placement.example.org:8778"

CASES = {
    "placement, Placement's URL is not known": (
        PLACEMENT, DOWN, KEYSTONE, ["curl -sS -m 10 -i https://keystone.example.org:5000/v3/"],
    ),
    "placement, endpoint_override": (PLACEMENT, DOWN, OVERRIDE, ["curl -sS -m 10 -i https://p.example.org/placement/"]),
    "placement, URL of the catalog": (
        PLACEMENT, SILENT_AT, KEYSTONE, ["curl -sS -m 10 -i https://placement.example.org:8778/"],
    ),
    "placement, TLS": (
        PLACEMENT, TLS, OVERRIDE,
        ["openssl s_client -connect p.example.org:443 -servername p.example.org </dev/null"],
    ),
    "placement, denied": (PLACEMENT, PlacementDenied("no", status=401), OVERRIDE, [LIVE]),
    "placement, nothing configured": (PLACEMENT, DOWN, SourceAccess(), [LIVE]),
    "lvm, no answer of the probe": (
        LVM,
        SourceUnavailable(LVM, "stocktake-probe (/run/stocktake-probe.sock) did not answer in time"),
        SourceAccess(),
        ["journalctl --no-pager -n 20 -u stocktake-probe.socket -u 'stocktake-probe@*'"],
    ),
    "state, conductor": (STATE, None, BROKER, ["timeout 5 bash -c '</dev/tcp/mq1/5671'", LIVE]),
    "state, sql": (STATE, None, SQL, ["mysql -h db -P 3306 -u reader -p nova_cell1 -e 'SELECT 1'", LIVE]),
    "state, sqlite": (
        STATE, None, SourceAccess(database=DatabaseAccess(name="/c.db")),
        ["sqlite3 -readonly /c.db 'SELECT 1'", LIVE],
    ),
    "libvirt": (
        LIBVIRT, None, SourceAccess(libvirt_uri="qemu+tls://h/system"), ["virsh -c qemu+tls://h/system list --all"],
    ),
    "lvm": (LVM, None, SourceAccess(), ["vgs --reportformat json"]),
    "ceph": (
        CEPH, None, SourceAccess(ceph=CephAccess(pool="vms", user="nova", conf="/etc/c.conf")),
        ["ceph --id nova --conf /etc/c.conf df"],
    ),
    "ceph with the defaults of ceph": (CEPH, None, SourceAccess(), ["ceph df"]),
    "pmem": (PMEM, None, SourceAccess(), ["ndctl list -X"]),
    "images": (IMAGES, None, SourceAccess(), [f"timeout 10 stat -f {facts.INSTANCES}"]),
    "filesystem": (FILESYSTEM, None, SourceAccess(), [f"timeout 10 stat -f {facts.INSTANCES}"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_unavailable_source_is_reported_with_commands(case):
    """If a source such as libvirt or Placement is unavailable, the finding gives commands to inspect the source."""
    source, error, access, commands = CASES[case]
    planted: Planted = lost(source, error)
    decision = planted.decision(Role.OWNER, access=access)
    (found,) = (f for f in decision.findings if f.code == "source-unavailable" and f.subject == source)
    assert [remedy.command for remedy in found.remedies if remedy.command] == commands
