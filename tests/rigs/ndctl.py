"""Output of ``ndctl list -X``: the example in ndctl-list(1), with the field ``name``, which nova requires."""

from __future__ import annotations

from typing import Any

from agent.model.host.storage import PmemNamespace

DEVDAX: dict[str, Any] = {
    "dev": "namespace0.0",
    "mode": "devdax",
    "map": "dev",
    "name": "ns_0",
    "size": 4225761280,
    "uuid": "18ae1bbb-bb62-4efc-86df-4a5caacb5dcc",
    "daxregion": {
        "id": 0,
        "size": 4225761280,
        "align": 2097152,
        "devices": [{"chardev": "dax0.0", "size": 4225761280}],
    },
}
# The fields that the agent reads.
EXPECTED = PmemNamespace(name="ns_0", device_path="/dev/dax0.0", size_bytes=4225761280, alignment_bytes=2097152)
