"""Questions about the host's facts that all their users share."""

from agent.model.host.facts import OddDomain
from tests.rigs.facts import domain, host, uuid


def test_guest_uuids_include_unreadable_domains():
    """If the agent cannot parse a libvirt domain, the domain's uuid is still in the list of guests."""
    odd = OddDomain(uuid=uuid("odd"), name="odd", reason="no <vcpu>")
    facts = host(domain(), odd_domains=(odd,))
    assert facts.guest_uuids == {domain().uuid, uuid("odd")}
