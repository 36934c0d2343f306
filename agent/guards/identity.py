"""identity: refuse every repair while anything contradicts the identity of this host's provider.

The ``compute_id`` file, the provider's name in Placement and nova's compute node record must all confirm that the
provider is this host's. After a cloned disk, a renamed host or a restored database, the agent may take the provider of
another host for its own. Then the allocations of that host would look leaked.
"""

from __future__ import annotations

from agent.guards.base import Guard, GuardedFinding
from agent.provider_tree.identity_doubt import doubts
from agent.repairs.base import Scene

_CLEAR = "heal changes nothing until this is settled (`stocktake adopt` shows how)"


def _refuses(guarded: GuardedFinding) -> str | None:
    scene = guarded.scene
    uuid, node = scene.subject.root_uuid, scene.subject.node
    if uuid is None or node is None or scene.identity is None or scene.identity.invented:
        return f"this host's own provider is not known; {_CLEAR}"
    found = _persisted(scene, uuid) or _provider(scene, uuid, node) or _record(scene, uuid, node) or _doubt(scene)
    return f"{found}; {_CLEAR}" if found else None


def _persisted(scene: Scene, uuid: str) -> str | None:
    if scene.persisted is None or scene.persisted.uuid == uuid:
        return None
    return f"{scene.persisted.origin} contains uuid {scene.persisted.uuid} now, but the audit used {uuid}"


def _provider(scene: Scene, uuid: str, node: str) -> str | None:
    root = scene.view.root if scene.view else None
    if root is None:
        return f"Placement has no provider {uuid}, or the agent did not read the provider"
    if root.name != node:
        return f"provider {uuid} is named {root.name}, this node is named {node}"
    holder = scene.view.name_holder if scene.view else None
    return f"another provider, {holder.uuid}, has the name {holder.name} of this node" if holder else None


def _record(scene: Scene, uuid: str, node: str) -> str | None:
    state = scene.snapshot.nova.value
    if state is None:
        return "the compute node record could not be read"
    if not state.kind.has_cloud:
        return None
    rows = [row for row in state.nodes if row.uuid == uuid and not row.deleted]
    if any((row.host, row.hypervisor_hostname) == (scene.settings.host, node) for row in rows):
        return None
    if not rows:
        return f"the cell has no compute node record {uuid}"
    return f"nova's record {uuid} is of another compute node: host {rows[0].host}, node {rows[0].hypervisor_hostname}"


def _doubt(scene: Scene) -> str | None:
    root = scene.view.root if scene.view else None
    found = doubts(root, scene.snapshot.nova.value, scene.snapshot.host.value, scene.subject)
    return f"this host's identity is in doubt: {found[0].actual}" if found else None


GUARD = Guard(name="identity", refuses=_refuses)
