"""The agent's own consumers in Placement. Their allocations count what nova does not know, such as unknown guests.

Each root provider has one such consumer for each cause of the use. The agent recognizes its consumers by their uuid,
which is computed from the root's uuid and the cause. It cannot use the consumer type for this: Placement reports
consumer types only from microversion 1.38 on.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from agent.model.claim import UNMANAGED_CAUSES, Cause
from agent.model.memo import for_equal_arguments

OWN_TYPE = "STOCKTAKE_UNMANAGED"
OWN_KIND = "stocktake"
OWN_CAUSES = tuple(sorted(UNMANAGED_CAUSES, key=lambda cause: cause.value))

# The ids of the project and the user of the agent's own consumers are computed from fixed names: uuid5 in the name
# space for domain names (RFC 9562, appendix). An operator who finds such an id in Placement can compute it again and so
# recognize the agent's consumers.
OWN_PROJECT_ID = str(uuid.uuid5(uuid.NAMESPACE_DNS, "project.unmanaged.stocktake"))
OWN_USER_ID = str(uuid.uuid5(uuid.NAMESPACE_DNS, "user.unmanaged.stocktake"))


def own_consumer_uuid(root_uuid: str, cause: Cause) -> str:
    """Return the uuid of the consumer for this root provider and cause. The uuid is the same after every restart."""
    return str(uuid.uuid5(uuid.UUID(root_uuid), cause.value))


@for_equal_arguments
def own_consumers(root_uuid: str | None) -> Mapping[str, Cause]:
    """Return {uuid: cause} of the consumers that the agent itself creates in Placement; {} without a root uuid."""
    if root_uuid is None:
        return {}
    return {own_consumer_uuid(root_uuid, cause): cause for cause in OWN_CAUSES}
