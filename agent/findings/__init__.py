"""The findings, one module each. A new one is a file here and a line in BUILTIN."""

from __future__ import annotations

from agent.findings import (
    allocation_differs,
    allocation_leaked,
    allocation_missing,
    allocation_stale_move,
    compute_node_orphaned,
    consumer_on_several_providers,
    consumer_unknown,
    cpu_offline,
    guest_missing,
    guest_unknown,
    identity_changed,
    migration_finished_but_counted,
    migration_stuck,
    over_capacity,
    provider_config_conflict,
    provider_config_unmatched,
    provider_name_conflict,
    rival_writer,
    source_unavailable,
    volume_foreign,
    volume_group_missing,
    volume_orphaned,
)
from agent.findings.base import Rule

BUILTIN: tuple[Rule, ...] = (
    allocation_differs.RULE,
    allocation_leaked.RULE,
    allocation_missing.RULE,
    allocation_stale_move.RULE,
    compute_node_orphaned.RULE,
    consumer_on_several_providers.RULE,
    consumer_unknown.RULE,
    cpu_offline.RULE,
    guest_missing.RULE,
    guest_unknown.RULE,
    identity_changed.RULE,
    migration_finished_but_counted.RULE,
    migration_stuck.RULE,
    over_capacity.RULE,
    provider_config_conflict.RULE,
    provider_config_unmatched.RULE,
    provider_name_conflict.RULE,
    rival_writer.RULE,
    source_unavailable.RULE,
    volume_foreign.RULE,
    volume_group_missing.RULE,
    volume_orphaned.RULE,
)
