"""provider-config-unmatched: an entry of a provider.yaml file for a provider that does not exist."""

from __future__ import annotations

from agent.model.finding import Severity
from agent.model.provider_config import ProviderEntry
from tests.rigs.facts import NODE, findings, inventory, settings, snapshot

CODE = "provider-config-unmatched"


def named(name):
    return settings(
        provider_entries=(ProviderEntry(origin="a.yaml:4", name=name, inventories=(inventory("CUSTOM_A", 1),)),)
    )


def test_s136_a_config_entry_for_no_provider_is_reported():
    """If a provider.yaml entry is for a provider that does not exist, the finding shows the file and the provider."""
    (found,) = findings(snapshot(), CODE, named("nobody"))
    assert found.severity is Severity.WARNING
    assert found.actual == (
        "a.yaml:4: there is no provider nobody in this host's tree; "
        "the agent applies the entry once the provider exists"
    )


def test_an_entry_for_an_existing_provider_is_not_reported():
    """The agent does not report an entry in provider.yaml if the entry's provider exists."""
    assert findings(snapshot(), CODE, named(NODE)) == ()
