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


def test_s136_it_names_the_file_and_the_provider():
    (found,) = findings(snapshot(), CODE, named("nobody"))
    assert found.severity is Severity.WARNING
    assert (
        found.actual == "a.yaml:4: there is no provider nobody in this host's tree; the entry is applied once it exists"
    )


def test_it_is_silent_where_the_provider_is_there():
    assert findings(snapshot(), CODE, named(NODE)) == ()
