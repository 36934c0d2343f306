"""What is said on the broker under which name: topics, methods, versions. docs/messages.md documents them."""

from __future__ import annotations

#: Our own, so that no other service's idea of durable or auto-delete meets ours on one exchange.
EXCHANGE = "stocktake"
VERSION = "1.0"

#: Each agent answers here, as server [DEFAULT] host.
AGENT_TOPIC = "stocktake"
AUDIT_NOW = "audit_now"
LAST_REPORT = "last_report"
PING = "ping"
PUBLISH_NOW = "publish_now"

#: Each agent's fan-out of its host's state, to whoever listens; nothing is kept for those who do not.
FLEET_TOPIC = "stocktake_fleet"
HOST_STATE = "host_state"
#: All watchers have one name: a name of its own would leave an empty queue in the broker for each that ever ran.
WATCHER = "watch"
