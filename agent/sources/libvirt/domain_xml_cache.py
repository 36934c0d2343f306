"""Parse a domain's XML only where it is another text than at the last read: that is most of what a read costs.

Each domain is read again in its turn, and all of them at each read while events
do not arrive; nearly all texts are then the ones of before. A digest is kept and
not the text, which is 5 to 8 KB.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace

from agent.model.host.facts import Domain, DomainState
from agent.sources.libvirt.xml import parse_domain


class DomainTexts:
    """What each domain's text said when it was last parsed, by uuid. For one thread."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, Domain]] = {}

    def parse(self, domain_uuid: str, xml: str, state: DomainState) -> Domain:
        """As parse_domain; the same object again where neither text nor state changed. Raises SourceInconsistent."""
        digest = hashlib.sha256(xml.encode(errors="surrogatepass")).digest()
        known = self._known.get(domain_uuid)
        if known is None or known[0] != digest:
            domain = parse_domain(xml, state)
        else:
            domain = known[1] if known[1].state is state else replace(known[1], state=state)
        self._known[domain_uuid] = digest, domain
        return domain

    def keep(self, domain_uuids: Collection[str]) -> None:
        """Forget all other domains."""
        self._known = {one: known for one, known in self._known.items() if one in domain_uuids}
