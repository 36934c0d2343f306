"""Parse a domain's XML only if the text has changed since the last read: parsing is most of a read's cost.

The agent often reads XML that has not changed: each domain's at its scheduled turn, and every domain's while no events
arrive (domain_cache.py). This cache stores a digest, not the text of 5 to 8 KB.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace

from agent.model.host.facts import Domain, DomainState
from agent.sources.libvirt.xml import parse_domain


class DomainTexts:
    """The last digest and the parsed value of each domain, by uuid. Only one thread may use this object."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, Domain]] = {}

    def parse(self, domain_uuid: str, xml: str, state: DomainState) -> Domain:
        """Return what parse_domain returns; for equal text and state, the same object. Raises SourceInconsistent."""
        digest = hashlib.sha256(xml.encode(errors="surrogatepass")).digest()
        known = self._known.get(domain_uuid)
        if known is None or known[0] != digest:
            domain = parse_domain(xml, state)
        else:
            domain = known[1] if known[1].state is state else replace(known[1], state=state)
        self._known[domain_uuid] = digest, domain
        return domain

    def keep(self, domain_uuids: Collection[str]) -> None:
        """Drop every domain that is not in ``domain_uuids``."""
        self._known = {one: known for one, known in self._known.items() if one in domain_uuids}
