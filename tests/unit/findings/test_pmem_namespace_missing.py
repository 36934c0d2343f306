"""pmem-namespace-missing: a configured namespace that ndctl does not list, or lists twice."""

from __future__ import annotations

import dataclasses

import pytest

from agent.model.finding import Severity
from agent.model.host.storage import PmemNamespace, StorageFacts
from agent.model.settings import PmemLabel
from agent.model.snapshot import PMEM
from tests.rigs.facts import ROOT_UUID, failed, findings, good, settings, snapshot

CODE = "pmem-namespace-missing"
LABELS = settings(pmem_labels=(PmemLabel(label="4gb", namespaces=("ns_0", "ns_1")),))


def listing(*names):
    namespaces = tuple(
        PmemNamespace(name=name, device_path="/dev/dax0.0", size_bytes=1 << 30, alignment_bytes=1 << 21)
        for name in names
    )
    world = snapshot()
    return dataclasses.replace(world, storage=(*world.storage, good(PMEM, StorageFacts(pmem_namespaces=namespaces))))


def test_a_missing_pmem_namespace_is_reported():
    """If ndctl does not list a configured namespace, the finding shows the namespace and its label."""
    (found,) = findings(listing("ns_0", "ns_9"), CODE, LABELS)
    assert (found.severity, found.provider_uuid, found.subject) == (Severity.ERROR, ROOT_UUID, "ns_1")
    assert found.resource_class == "CUSTOM_PMEM_NAMESPACE_4GB"
    assert found.expected == "one namespace ns_1 in devdax mode, for label 4gb ([libvirt] pmem_namespaces)"
    assert found.actual == (
        "ndctl lists no devdax namespace named ns_1; Placement's inventory of persistent memory stays unchanged"
    )


def test_each_missing_or_duplicate_namespace_has_its_own_finding():
    found = findings(listing("ns_1", "ns_1"), CODE, LABELS)
    assert {f.subject: f.actual.partition(";")[0] for f in found} == {
        "ns_0": "ndctl lists no devdax namespace named ns_0",
        "ns_1": "ndctl lists 2 namespaces named ns_1",
    }
    assert len({f.id for f in found}) == 2


UNREAD = dataclasses.replace(snapshot(), storage=(*snapshot().storage, failed(PMEM)))
QUIET = {
    "all are there": (listing("ns_0", "ns_1"), LABELS),
    "none is configured": (listing("ns_0", "ns_0"), settings()),
    "ndctl failed, which is another finding": (UNREAD, LABELS),
    "ndctl was not asked": (snapshot(), LABELS),
}


@pytest.mark.parametrize(("world", "chosen"), QUIET.values(), ids=QUIET.keys())
def test_a_valid_or_unread_pmem_namespace_is_not_reported(world, chosen):
    """The agent reports no PMEM namespace if ndctl lists every configured one or was not read."""
    assert findings(world, CODE, chosen) == ()
