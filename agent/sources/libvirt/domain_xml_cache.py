"""Parse a domain's XML only if the text changed since the last read, because parsing is most of a read's cost.

The agent often reads XML that has not changed (domain_cache.py). It reads each domain again in every tenth audit. While
libvirt's events do not arrive, it reads all domains in every audit. This cache stores a digest of the XML, because the
text has 5 to 8 KB.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import replace

from agent.model.host.facts import Domain, DomainState
from agent.sources.libvirt.xml import parse_domain


class DomainTexts:
    """Each domain's parsed value, with the digest of the XML that was parsed. Only one thread may use this object."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[bytes, Domain]] = {}

    def parse(self, domain_uuid: str, xml: str, state: DomainState) -> Domain:
        """Return the domain that ``xml`` describes, with ``state`` as its state.

        Parses ``xml`` only if it differs from this domain's last XML. Raises SourceInconsistent.
        """
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
