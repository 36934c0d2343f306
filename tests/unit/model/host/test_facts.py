"""Questions about the host's facts that all their users share."""

from agent.model.host.facts import OddDomain
from tests.rigs.facts import domain, host, uuid


def test_the_guest_uuids_include_the_uuid_of_a_domain_that_cannot_be_parsed():
    odd = OddDomain(uuid=uuid("odd"), name="odd", reason="no <vcpu>")
    facts = host(domain(), odd_domains=(odd,))
    assert facts.guest_uuids == {domain().uuid, uuid("odd")}
