"""A guard's case with one thing changed: its scene, the settings, or what the audit saw of Placement."""

import dataclasses
from typing import Any

from agent.guards.base import Case


def with_scene(case: Case, **changes: Any) -> Case:
    """The case in a scene that differs."""
    return dataclasses.replace(case, scene=dataclasses.replace(case.scene, **changes))


def with_settings(case: Case, **changes: Any) -> Case:
    """The case where an operator decided otherwise."""
    return with_scene(case, settings=dataclasses.replace(case.scene.settings, **changes))


def with_view(case: Case, **changes: Any) -> Case:
    """The case where Placement was seen otherwise."""
    snapshot = case.scene.snapshot
    assert snapshot.placement.value is not None
    view = dataclasses.replace(snapshot.placement.value, **changes)
    placement = dataclasses.replace(snapshot.placement, value=view)
    return with_scene(case, snapshot=dataclasses.replace(snapshot, placement=placement))
