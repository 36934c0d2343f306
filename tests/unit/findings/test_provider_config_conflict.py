"""provider-config-conflict: entries of provider.yaml files that contradict each other or the agent."""

from __future__ import annotations

from agent.model.finding import Severity
from agent.model.provider_config import COMPUTE_NODE, ProviderEntry
from tests.rigs.facts import NODE, ROOT_UUID, findings, inventory, settings, snapshot

CODE = "provider-config-conflict"
BY_UUID = ProviderEntry(origin="a.yaml:4", uuid=ROOT_UUID, inventories=(inventory("CUSTOM_A", 1),))
BY_NAME = ProviderEntry(origin="b.yaml:9", name=NODE, traits=frozenset({"CUSTOM_T"}))


def test_s130_a_provider_config_conflict_shows_both_files():
    """If two provider.yaml entries are for the same provider, the finding shows both files and line numbers."""
    (found,) = findings(snapshot(), CODE, settings(provider_entries=(BY_UUID, BY_NAME)))
    assert found.severity is Severity.ERROR
    assert found.provider_uuid == ROOT_UUID
    assert found.actual == (
        f"a.yaml:4 and b.yaml:9: one entry names provider {NODE} ({ROOT_UUID}) by its uuid, another entry by its name; "
        "the agent applies nothing from this entry"
    )
    assert "SIGHUP" in found.remedy


def test_a_general_provider_entry_causes_no_conflict():
    """A provider.yaml entry for all compute nodes does not conflict with an entry for one node."""
    every = ProviderEntry(origin="a.yaml:4", uuid=COMPUTE_NODE, inventories=(inventory("CUSTOM_A", 1),))
    assert findings(snapshot(), CODE, settings(provider_entries=(every, BY_NAME))) == ()
