"""Decide which findings of an audit cause other findings of the same audit: the roots and their symptoms.

One mistake in the cloud often shows as several findings. An operator who repairs the root also ends its symptoms, so
the agent's texts show the symptoms below their root and count roots instead of findings.

Two kinds of symptom exist. A symptom of the first kind has the consumer, the provider or the host in common with its
root. A symptom of the second kind reports missing capacity. The roots of such a symptom are findings that together use
at least the missing capacity, so the repair of these findings ends the symptom. Pure.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from agent.model.claim import UNMANAGED_CAUSES, Claim
from agent.model.finding import INSTANCE_LEAKS, Finding, SeenFinding
from agent.model.units import bytes_to_gib_ceil

_USERS = frozenset({"guest-running-deleted", "guest-unknown", "usage-unlisted", "volume-foreign", "volume-orphaned"})
_DOUBTS = frozenset({"hostname-duplicated", "identity-changed"})


def _consumer(found: Finding) -> tuple[str, ...]:
    return (found.consumer_uuid,) if found.consumer_uuid else ()


def _provider(found: Finding) -> tuple[str, ...]:
    """Return the provider's uuid and name. Findings share a provider if one of the two is equal.

    The name is necessary for provider-name-conflict, in which two providers with different uuids have the same name.
    """
    name = dict(found.facts).get("provider_name")
    return tuple(str(part) for part in (found.provider_uuid, name) if part)


def _host(found: Finding) -> tuple[str, ...]:  # noqa: ARG001 - all findings of one audit are about one host
    return ("host",)


class _Link(NamedTuple):
    """A rule: a finding with a code in ``roots`` causes a finding with a code in ``symptoms``.

    ``of`` returns the consumer, the provider or the host of a finding. The rule applies if both findings have the same
    value. A symptom in one rule may be a root in another rule. Then only the first finding of this chain counts as
    the root.
    """

    roots: frozenset[str]
    symptoms: frozenset[str]
    of: Callable[[Finding], tuple[str, ...]]


_LINKS = (
    _Link(INSTANCE_LEAKS, frozenset({"consumer-on-several-providers", "migration-finished-but-counted"}), _consumer),
    _Link(_DOUBTS, frozenset({"provider-name-conflict"}), _host),
    _Link(_DOUBTS | {"provider-name-conflict"}, frozenset({"write-refused"}), _provider),
    _Link(frozenset({"rival-writer"}), frozenset({"trait-unexpected"}), _provider),
)
# A finding with one of these codes reports a lack of capacity. Its possible causes are groups of codes, tried in this
# order. A group is the cause if its findings together account for the whole lacking amount.
_TAKERS: Mapping[str, tuple[frozenset[str], ...]] = {
    "over-capacity": (INSTANCE_LEAKS, _USERS, INSTANCE_LEAKS | _USERS),
    "unmanaged-use-unplaced": (_USERS,),
}


def with_causes(findings: tuple[SeenFinding, ...]) -> tuple[SeenFinding, ...]:
    """Return the findings of one audit, in the same order, with ``caused_by`` and ``symptoms`` set.

    Roots and symptoms may be findings that this audit could not check (state unknown).
    """
    found = [seen.finding for seen in findings]
    causes: dict[str, set[str]] = defaultdict(set)
    for link in _LINKS:
        _add_linked(causes, link, found)
    for finding in found:
        for codes in _TAKERS.get(finding.code, ()):
            if takers := _takers(finding, [one for one in found if one.code in codes]):
                causes[finding.id].update(takers)
                break
    place = {finding.id: number for number, finding in enumerate(found)}
    roots = {finding_id: tuple(sorted(_roots(finding_id, causes), key=place.__getitem__)) for finding_id in place}
    symptoms: dict[str, list[str]] = defaultdict(list)
    for finding_id in place:
        for root in roots[finding_id]:
            symptoms[root].append(finding_id)
    return tuple(_linked(seen, roots, symptoms) for seen in findings)


def _linked(seen: SeenFinding, roots: Mapping[str, tuple[str, ...]], symptoms: Mapping[str, list[str]]) -> SeenFinding:
    caused_by, found = roots[seen.finding.id], tuple(symptoms.get(seen.finding.id, ()))
    if (seen.caused_by, seen.symptoms) == (caused_by, found):
        return seen
    return dataclasses.replace(seen, caused_by=caused_by, symptoms=found)


def _add_linked(causes: dict[str, set[str]], link: _Link, found: Iterable[Finding]) -> None:
    by_value: dict[str, list[str]] = defaultdict(list)
    for finding in found:
        if finding.code in link.roots:
            for value in link.of(finding):
                by_value[value].append(finding.id)
    for finding in found:
        if finding.code in link.symptoms:
            causes[finding.id].update(root for value in link.of(finding) for root in by_value[value])


def _roots(finding_id: str, causes: Mapping[str, set[str]]) -> frozenset[str]:
    """Return the ids of the root findings that cause this finding; empty if no other finding causes this one."""
    found: set[str] = set()
    for cause in causes.get(finding_id, ()):
        found |= _roots(cause, causes) or {cause}
    return frozenset(found)


def _takers(symptom: Finding, candidates: Iterable[Finding]) -> tuple[str, ...]:
    """Return the ids of those ``candidates`` that use part of the capacity that ``symptom`` reports as missing.

    Return () if together they use less than the missing capacity.
    """
    facts = dict(symptom.facts)
    evidence = frozenset(claim for claim in symptom.evidence if claim.resource_class == symptom.resource_class)
    parts = {one.id: _claims(one, evidence) for one in candidates}
    hidden = {one.id: _unlisted(one, symptom) for one in candidates if not parts[one.id]}
    takers = tuple(one for one in parts if parts[one] or hidden[one])
    claims = {claim for one in takers for claim in parts[one]}
    taken = _amount(claims, _number(facts.get("allocation_ratio"), 1.0)) + sum(hidden.values())
    return takers if taken >= _number(facts.get("missing"), float("inf")) else ()


def _claims(root: Finding, evidence: frozenset[Claim]) -> frozenset[Claim]:
    """Return the claims in ``evidence`` that are also evidence of the finding ``root``.

    If some of these claims are allocations in Placement, return only the allocations. Otherwise return only the claims
    of guests and volumes that nova does not know.
    """
    shared = evidence.intersection(root.evidence)
    recorded = frozenset(claim for claim in shared if claim.source.system == "placement")
    return recorded or frozenset(claim for claim in shared if claim.cause in UNMANAGED_CAUSES)


def _unlisted(root: Finding, symptom: Finding) -> float:
    """Return the usage that Placement lists for no consumer, according to the finding ``root``.

    Return 0 if ``root`` is not a finding usage-unlisted, or if ``symptom`` is about another provider or resource class.
    """
    is_same = (root.provider_uuid, root.resource_class) == (symptom.provider_uuid, symptom.resource_class)
    return _number(dict(root.facts).get("unlisted"), 0.0) if root.code == "usage-unlisted" and is_same else 0.0


def _amount(claims: Iterable[Claim], ratio: float) -> float:
    """Return how much of the capacity the claims take together.

    Sizes in bytes are added and rounded up to GiB. The capacity is real space x ``ratio``, so each GiB of real space
    takes ``ratio`` units of the capacity.
    """
    found = tuple(claims)
    size_bytes = sum(claim.size_bytes or 0 for claim in found)
    return sum(claim.amount for claim in found if claim.size_bytes is None) + bytes_to_gib_ceil(size_bytes) * ratio


def _number(value: str | int | float | None, otherwise: float) -> float:
    return float(value) if isinstance(value, int | float) else otherwise
