"""Name the consumers that are ours: one per root provider and cause of use that the cloud does not know (design 2.1).

What a newcomer would get wrong: they are told by their uuid, which follows from the
root's and the cause, never by their type, which a server below 1.38 does not tell.
Pure: no I/O.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from agent.model.claim import UNMANAGED_CAUSES, Cause
from agent.model.memo import for_equal_arguments

OWN_TYPE = "STOCKTAKE_UNMANAGED"
OWN_KIND = "stocktake"
OWN_CAUSES = tuple(sorted(UNMANAGED_CAUSES, key=lambda cause: cause.value))

# RFC 9562 appendix: the name space of names that are domain names. Whoever meets the project in a
# list of usages can make the two uuids again, and so knows whose they are.
OWN_PROJECT_ID = str(uuid.uuid5(uuid.NAMESPACE_DNS, "project.unmanaged.stocktake"))
OWN_USER_ID = str(uuid.uuid5(uuid.NAMESPACE_DNS, "user.unmanaged.stocktake"))


def own_consumer_uuid(root_uuid: str, cause: Cause) -> str:
    """The consumer that holds this cause's use of this root: the same on every start."""
    return str(uuid.uuid5(uuid.UUID(root_uuid), cause.value))


@for_equal_arguments
def own_consumers(root_uuid: str | None) -> Mapping[str, Cause]:
    """The cause of each consumer of ours by its uuid; none where the root is not known."""
    if root_uuid is None:
        return {}
    return {own_consumer_uuid(root_uuid, cause): cause for cause in OWN_CAUSES}
