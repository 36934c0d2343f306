"""Define the names used on the broker: topics, methods, versions. docs/messages.md documents them."""

from __future__ import annotations

#: Stocktake's own exchange: its durable and auto-delete settings cannot conflict with those of another service.
EXCHANGE = "stocktake"
VERSION = "1.0"

#: Each agent answers on this topic; its server name is [DEFAULT] host.
AGENT_TOPIC = "stocktake"
AUDIT_NOW = "audit_now"
LAST_REPORT = "last_report"
PING = "ping"
PUBLISH_NOW = "publish_now"

#: Each agent casts its host's state to this topic as a fan-out; the broker keeps nothing for absent listeners.
FLEET_TOPIC = "stocktake_fleet"
HOST_STATE = "host_state"
#: All watchers share this server name: with separate names, each watcher that ever ran would leave an empty queue in
#: the broker.
WATCHER = "watch"
