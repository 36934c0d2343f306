"""What is read from nova.conf alone, and is no option of ours.

``state_path`` finds ``compute_id`` and expands ``$state_path/instances``;
``[database] connection`` says where the cloud's state is.
"""

from __future__ import annotations

from oslo_config import cfg

STATE_PATH = "/var/lib/nova"

OPTS: list[tuple[str, list[cfg.Opt]]] = [
    (
        "DEFAULT",
        [
            # Nova's own default is its code's folder; every distribution sets this one instead.
            cfg.StrOpt("state_path", default=STATE_PATH),
        ],
    ),
    ("database", [cfg.StrOpt("connection", secret=True)]),
]

INSTANCES_PATH = "$state_path/instances"
