"""pci-allocation-missing: a guest has PCI functions for which Placement records no allocation, or a wrong amount.

Most such instances were on this host before ``[pci] report_in_placement`` was turned on, or were scheduled without
pci_in_placement. libvirt reports which guest has which function. The rule does not use nova's rows of PCI devices. It
skips an instance without any allocation on this host, because allocation-missing reports that instance. It also skips
an instance that nova is changing: during a move the functions may be allocated on the source or on the destination.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from agent.findings.base import AuditFacts, Findings, Rule, amount_text, named
from agent.findings.base_headlines import who
from agent.findings.base_pci import view_of
from agent.findings.base_remedies import (
    by_hand,
    heal,
    inspect,
    openstack,
    restart_nova_compute,
    show_allocations,
    wait,
)
from agent.model.books import DesiredTree
from agent.model.claim import Cause, Claim, Consumer, Origin
from agent.model.compared import Row
from agent.model.finding import Finding, Remedy, Severity
from agent.model.nova import NovaState
from agent.model.placement import ProviderKey
from agent.model.report import Verdict
from agent.model.settings import Role
from agent.model.snapshot import LIBVIRT, PLACEMENT, STATE
from agent.nested.pci_view import KIND, PciView, key_of

# A ledger row of an instance has one of these verdicts only if the instance has a guest on this host and nova is not
# changing the instance now.
_AT_REST = frozenset({Verdict.AGREED, Verdict.ALLOCATION_DIFFERS})


class _Home(NamedTuple):
    """The provider and the resource class under which Placement counts a PCI function."""

    provider_name: str
    provider_uuid: str
    resource_class: str

    @property
    def key(self) -> ProviderKey:
        """The provider's key in the evidence about Placement's allocations."""
        return ProviderKey("provider", self.provider_uuid)


def _find(audit: AuditFacts) -> Findings:
    host, view = audit.snapshot.host.value, view_of(audit)
    homes = _homes(audit.tree, view) if audit.tree and view else {}
    if host is None or not homes:
        return
    takers = [domain for domain in host.domains if not homes.keys().isdisjoint(domain.pci_addresses)]
    if not takers:
        return
    at_rest = resting(audit.rows, audit.state)
    recorded = audit.books.recorded.by_consumer()
    for domain in takers:
        row, claims = at_rest.get(domain.uuid), recorded.get(domain.uuid, ())
        if row is None:
            continue
        functions = {address: homes[address] for address in sorted(domain.pci_addresses) if address in homes}
        wrong = _wrong(functions, _held(claims))
        if wrong:
            yield _finding(audit, row, functions, wrong, claims)


def _homes(tree: DesiredTree, view: PciView) -> Mapping[str, _Home]:
    """Return the provider and resource class of each PCI function, by the function's PCI address.

    A function is left out while the agent cannot decide which provider counts the function.
    """
    children = {child.key.name: child for child in tree.providers if child.key.kind == KIND}
    return {
        match.device.address: _Home(child.name, child.uuid, offer.classes[0])
        for address, offer in view.offers.items()
        if (child := children.get(key_of(address).name))
        for match in offer.matches
    }


def resting(rows: Iterable[Row], state: NovaState | None) -> Mapping[str, Row]:
    """Return {instance uuid: a row} for the instances with a guest here, except those that nova is changing now."""
    migrations = state.migrations if state else ()
    moving = {m.instance_uuid for m in migrations if m.under_way}
    return {
        row.key: row for row in rows if row.verdict in _AT_REST and row.promised is not None and row.key not in moving
    }


def _held(claims: Iterable[Claim]) -> Counter[tuple[ProviderKey, str]]:
    held: Counter[tuple[ProviderKey, str]] = Counter()
    for claim in claims:
        held[claim.provider_key, claim.resource_class] += claim.amount
    return held


def _wrong(functions: Mapping[str, _Home], held: Counter[tuple[ProviderKey, str]]) -> Mapping[_Home, int]:
    """Return {home: the right amount} for the homes (provider and class) whose allocation is wrong.

    The right amount is the number of the guest's PCI functions (``functions``) that have this home. ``held`` are the
    amounts that Placement has allocated to the guest.
    """
    taken = Counter(functions.values())
    return {home: amount for home, amount in sorted(taken.items()) if held[home.key, home.resource_class] != amount}


def _finding(
    audit: AuditFacts, row: Row, functions: Mapping[str, _Home], wrong: Mapping[_Home, int], claims: tuple[Claim, ...]
) -> Finding:
    held = _held(claims)
    taken = [_taken(row, address, home) for address, home in functions.items() if home in wrong]
    addresses = ", ".join(address for address, home in functions.items() if home in wrong)
    there = {home.key for home in wrong}
    return RULE.finding(
        audit,
        headline=f"{who((row,))}: Placement counts no allocation, or a wrong amount, for the PCI devices {addresses} "
        f"on {audit.host}",
        consumer_uuid=row.key,
        expected=f"{_text(wrong)} for {named((row,))}, because the instance's guest uses {addresses}",
        actual=f"Placement records {_text({home: held[home.key, home.resource_class] for home in wrong})}",
        evidence=(*(claim for claim in claims if claim.provider_key in there), *taken),
        facts=(("functions", addresses), ("allocations", _options_text(wrong))),
        rests_on_recorded=True,
        remedies=_remedies(audit, row.key, wrong) if audit.settings.role is Role.OWNER else _BESIDE_NOVA,
    )


def _text(amounts: Mapping[_Home, int]) -> str:
    return ", ".join(
        f"{amount_text(h.resource_class, amount or None)} on {h.provider_name}" for h, amount in amounts.items()
    )


def _taken(row: Row, address: str, home: _Home) -> Claim:
    return Claim(
        consumer=Consumer(key=row.key, kind=row.consumer_kind, name=row.consumer_name, uuid=row.key),
        cause=Cause.INSTANCE,
        resource_class=home.resource_class,
        amount=1,
        provider_key=home.key,
        source=Origin("libvirt", "domain", f"{row.key} {address}"),
    )


def _remedies(audit: AuditFacts, consumer: str, wrong: Mapping[_Home, int]) -> tuple[Remedy, ...]:
    command = _allocation_set(audit, consumer, wrong)
    return (
        heal("add the allocation, once the devices' providers are published"),
        inspect("see all allocations of the instance", show_allocations(consumer)),
        by_hand(_BY_HAND if command else f"{_UNREAD} {_options_text(wrong)}", command),
    )


def _allocation_set(audit: AuditFacts, consumer: str, wrong: Mapping[_Home, int]) -> str | None:
    """Return the command that writes all allocations of the consumer, with corrected allocations for its devices.

    The command replaces all allocations of the consumer, and Placement requires a project and a user. So the command
    needs the consumer's whole record. Return None if this audit did not read that record.
    """
    record = next((r for r in (audit.view.consumers if audit.view else ()) if r.consumer_uuid == consumer), None)
    if record is None or record.project_id is None or record.user_id is None:
        return None
    amounts = {(a.provider_uuid, a.resource_class): a.amount for a in record.allocations}
    amounts.update({(home.provider_uuid, home.resource_class): amount for home, amount in wrong.items()})
    options = _options(amounts)
    owner = ("--project-id", record.project_id, "--user-id", record.user_id)
    return openstack("resource", "provider", "allocation", "set", *owner, *options, consumer)


def _options_text(wrong: Mapping[_Home, int]) -> str:
    return " ".join(f"--allocation rp={h.provider_uuid},{h.resource_class}={n}" for h, n in wrong.items())


def _options(amounts: Mapping[tuple[str, str], int]) -> list[str]:
    pairs = (("--allocation", f"rp={uuid},{name}={amount}") for (uuid, name), amount in sorted(amounts.items()))
    return [word for pair in pairs for word in pair]


_UNREAD = (
    "openstack resource provider allocation set replaces all allocations of the instance: run this command with the "
    "instance's project, user and other allocations, and with"
)
_BY_HAND = "replace all allocations of the instance; this command includes its PCI devices"
# The remedies in role companion. In this role nova-compute runs beside the agent, and allocates PCI devices whenever it
# updates Placement (nova/compute/resource_tracker.py:_update_to_placement).
_BESIDE_NOVA = (
    wait(
        "nova-compute of this host adds the allocation itself in its next update, if its nova.conf has [pci] "
        "report_in_placement = true"
    ),
    restart_nova_compute("to make nova-compute add the allocation at once, restart nova-compute"),
)

RULE = Rule(
    code="pci-allocation-missing",
    severity=Severity.ERROR,
    find=_find,
    rests_on=frozenset({PLACEMENT, STATE, LIBVIRT}),
    healed_in=frozenset({Role.OWNER}),
)
