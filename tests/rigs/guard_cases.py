"""A guard's case with one change: to its scene, to the settings, or to the audit's view of Placement."""

import dataclasses
from typing import Any

from agent.guards.base import GuardedFinding


def with_scene(case: GuardedFinding, **changes: Any) -> GuardedFinding:
    """Return the case with changes to its scene."""
    return dataclasses.replace(case, scene=dataclasses.replace(case.scene, **changes))


def with_settings(case: GuardedFinding, **changes: Any) -> GuardedFinding:
    """Return the case with other settings by the operator."""
    return with_scene(case, settings=dataclasses.replace(case.scene.settings, **changes))


def with_view(case: GuardedFinding, **changes: Any) -> GuardedFinding:
    """Return the case with changes to the view of Placement."""
    snapshot = case.scene.snapshot
    assert snapshot.placement.value is not None
    view = dataclasses.replace(snapshot.placement.value, **changes)
    placement = dataclasses.replace(snapshot.placement, value=view)
    return with_scene(case, snapshot=dataclasses.replace(snapshot, placement=placement))
