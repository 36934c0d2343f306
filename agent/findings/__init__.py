"""The rules that report findings; one module for each finding code.

Most findings are differences between three amounts: the amount that the cloud promised to an instance, the amount that
its guest uses, and the amount that Placement records.

Each module defines a RULE: the code, its severity, its remedy, and a pure function that derives findings from
AuditFacts. ``BUILTIN`` lists all rules; agent/audit/decide.py runs them in every audit.

Begin with base.py (``Rule`` and ``AuditFacts``), then read allocation_leaked.py, a short rule. The modules named
``base_*.py`` contain what several rules share. To add a finding, follow CONTRIBUTING.md: a module, its import
and its line in ``BUILTIN`` here, and elsewhere its page, its tests and its section in docs/findings.md.

Not here: the comparison of these three amounts for each consumer (agent/books/compare.py, verdict.py), the confirmation
of findings over several audits (agent/books/confirm.py), and the changes that fix a finding (agent/repairs).
"""

from __future__ import annotations

from agent.findings import (
    allocation_differs,
    allocation_leaked,
    allocation_missing,
    allocation_stale_move,
    capabilities_incomplete,
    companion_leftover,
    compute_node_orphaned,
    consumer_on_several_providers,
    consumer_project_differs,
    consumer_unknown,
    cpu_offline,
    guest_missing,
    guest_power_state_differs,
    guest_running_deleted,
    guest_size_differs,
    guest_unknown,
    hostname_duplicated,
    identity_changed,
    image_leftover,
    mdev_type_unknown,
    migration_finished_but_counted,
    migration_stuck,
    over_capacity,
    pci_allocation_missing,
    pci_device_lost,
    pci_reporting_disabled,
    pci_spec_conflict,
    pci_spec_unmatched,
    pmem_namespace_missing,
    provider_config_conflict,
    provider_config_unmatched,
    provider_name_conflict,
    provider_orphaned,
    reshape_needed,
    rival_writer,
    source_stale,
    source_unavailable,
    state_row_unreadable,
    store_changed,
    thin_pool_filling,
    thin_pool_overcommitted,
    trait_unexpected,
    unmanaged_use_unplaced,
    usage_unlisted,
    volume_foreign,
    volume_group_missing,
    volume_orphaned,
    write_refused,
)
from agent.findings.base import Rule

BUILTIN: tuple[Rule, ...] = (
    allocation_differs.RULE,
    allocation_leaked.RULE,
    allocation_missing.RULE,
    allocation_stale_move.RULE,
    capabilities_incomplete.RULE,
    companion_leftover.RULE,
    compute_node_orphaned.RULE,
    consumer_on_several_providers.RULE,
    consumer_project_differs.RULE,
    consumer_unknown.RULE,
    cpu_offline.RULE,
    guest_missing.RULE,
    guest_power_state_differs.RULE,
    guest_running_deleted.RULE,
    guest_size_differs.RULE,
    guest_unknown.RULE,
    hostname_duplicated.RULE,
    identity_changed.RULE,
    image_leftover.RULE,
    mdev_type_unknown.RULE,
    migration_finished_but_counted.RULE,
    migration_stuck.RULE,
    over_capacity.RULE,
    pci_allocation_missing.RULE,
    pci_device_lost.RULE,
    pci_reporting_disabled.RULE,
    pci_spec_conflict.RULE,
    pci_spec_unmatched.RULE,
    pmem_namespace_missing.RULE,
    provider_config_conflict.RULE,
    provider_config_unmatched.RULE,
    provider_name_conflict.RULE,
    provider_orphaned.RULE,
    reshape_needed.RULE,
    rival_writer.RULE,
    source_stale.RULE,
    source_unavailable.RULE,
    state_row_unreadable.RULE,
    store_changed.RULE,
    thin_pool_filling.RULE,
    thin_pool_overcommitted.RULE,
    trait_unexpected.RULE,
    unmanaged_use_unplaced.RULE,
    usage_unlisted.RULE,
    volume_foreign.RULE,
    volume_group_missing.RULE,
    volume_orphaned.RULE,
    write_refused.RULE,
)
