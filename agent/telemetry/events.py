"""The constant texts of the agent's log lines with their levels and loggers, for grep and for alert rules.

The level says who must read a line. ERROR: the agent does not do its work, or the host has a confirmed error. WARNING:
an operator should read the line in working hours. A change in Placement by one of the commands heal, undo and adopt is
always a WARNING. INFO: a change that needs no action. Some events have no constant level. ``Varies`` lists what decides
the level of such an event.
"""

from __future__ import annotations

import enum
import logging as levels
from typing import Final

ERROR, WARNING, INFO, DEBUG = levels.ERROR, levels.WARNING, levels.INFO, levels.DEBUG


class Logger(enum.Enum):
    """The names of the agent's loggers. Each logger has one subject, so an operator can filter the log by subject."""

    FINDING = "stocktake.finding"
    SOURCE = "stocktake.source"
    PLACEMENT = "stocktake.placement"
    HEAL = "stocktake.heal"
    BUS = "stocktake.bus"
    CONFIG = "stocktake.config"
    AGENT = "stocktake.agent"
    AUDIT = "stocktake.audit"


class Varies(enum.Enum):
    """What decides the level of an event whose level is not constant.

    - SEVERITY: the finding's severity; at most WARNING while the finding is not confirmed.
    - LOSS: ERROR for the first line after the finding about the lost source became an error or after Placement refused
      the credentials. WARNING for all other lines.
    - OUTCOME: INFO for clean and findings, WARNING for partial and refused, ERROR for unreadable and crashed.
    - ROLE: INFO in role observer, which never writes; WARNING in every other role.
    """

    SEVERITY = "severity"
    LOSS = "loss"
    OUTCOME = "outcome"
    ROLE = "role"


class Event(str):
    """The constant text of a log line, with its level and its logger.

    The class derives from ``str``, so that the logging module, JSON and tests can use an event as a plain text.
    """

    __slots__ = ("level", "logger")
    level: int | Varies
    logger: Logger

    def __new__(cls, text: str, level: int | Varies, logger: Logger) -> Event:
        """Return the event."""
        event = super().__new__(cls, text)
        event.level, event.logger = level, logger
        return event


# Findings.
FINDING_APPEARED: Final = Event("finding appeared", Varies.SEVERITY, Logger.FINDING)
FINDING_CONFIRMED: Final = Event("finding confirmed", Varies.SEVERITY, Logger.FINDING)
FINDING_CHANGED: Final = Event("finding changed", Varies.SEVERITY, Logger.FINDING)
FINDING_GONE: Final = Event("finding gone", INFO, Logger.FINDING)
FINDINGS_UNKNOWN: Final = Event("findings unknown", WARNING, Logger.FINDING)
FINDINGS_KNOWN_AGAIN: Final = Event("findings known again", INFO, Logger.FINDING)

# Sources.
SOURCE_LOST: Final = Event("source lost", Varies.LOSS, Logger.SOURCE)
SOURCE_STILL_LOST: Final = Event("source still lost", Varies.LOSS, Logger.SOURCE)
SOURCE_BACK: Final = Event("source back", INFO, Logger.SOURCE)
NOVA_SPEAKS: Final = Event("nova speaks", INFO, Logger.SOURCE)

# Placement.
PLACEMENT_SPEAKS: Final = Event("placement speaks", INFO, Logger.PLACEMENT)
PLACEMENT_WRITTEN: Final = Event("placement written", INFO, Logger.PLACEMENT)
WRITE_HELD_BACK: Final = Event("write held back", Varies.ROLE, Logger.PLACEMENT)

# Audits.
AUDIT_DONE: Final = Event("audit done", DEBUG, Logger.AUDIT)
AUDIT_ERROR: Final = Event("audit error", ERROR, Logger.AUDIT)
AUDIT_CRASHED: Final = Event("audit crashed", ERROR, Logger.AUDIT)
AUDIT_RUNNING: Final = Event("audit running", WARNING, Logger.AUDIT)
FIRST_AUDIT_DONE: Final = Event("first audit done", INFO, Logger.AUDIT)
OUTCOME_CHANGED: Final = Event("outcome changed", Varies.OUTCOME, Logger.AUDIT)
SUMMARY: Final = Event("summary", INFO, Logger.AUDIT)

# These texts are those of nova-compute's log lines, word for word. The logging module inserts the values with %.
HYPERVISOR_VIEW: Final = Event(
    "Hypervisor/Node resource view: name=%(node)s free_ram=%(free_ram)sMB free_disk=%(free_disk)sGB"
    " free_vcpus=%(free_vcpus)s pci_devices=%(pci_devices)s",
    INFO,
    Logger.AUDIT,
)
USABLE_VCPUS: Final = Event(
    "Total usable vcpus: %(total_vcpus)s, total allocated vcpus: %(used_vcpus)s", INFO, Logger.AUDIT
)
FINAL_VIEW: Final = Event(
    "Final resource view: name=%(node)s phys_ram=%(phys_ram)sMB used_ram=%(used_ram)sMB phys_disk=%(phys_disk)sGB"
    " used_disk=%(used_disk)sGB total_vcpus=%(total_vcpus)s used_vcpus=%(used_vcpus)s"
    " pci_stats=[%(pci_stats)s] stats={}",
    INFO,
    Logger.AUDIT,
)

# Events about changes in Placement by the commands heal, undo and adopt.
FINDING_HEALED: Final = Event("finding healed", WARNING, Logger.HEAL)
CHANGE_UNDONE: Final = Event("change undone", WARNING, Logger.HEAL)
IDENTITY_ADOPTED: Final = Event("identity adopted", WARNING, Logger.HEAL)
HEAL_WAITING: Final = Event("heal waiting", INFO, Logger.HEAL)
HEAL_REFUSED: Final = Event("heal refused", WARNING, Logger.HEAL)
HEAL_UNKNOWN: Final = Event("heal outcome not known", ERROR, Logger.HEAL)
JOURNAL_UNWRITTEN: Final = Event(
    "outcome of a change in Placement not written to the agent's journal", ERROR, Logger.HEAL
)

# The message bus.
BROKER_LOST: Final = Event("broker lost", WARNING, Logger.BUS)
BROKER_STILL_LOST: Final = Event("broker still lost", WARNING, Logger.BUS)
BROKER_BACK: Final = Event("broker back", INFO, Logger.BUS)
MESSAGE_NOT_BUILT: Final = Event("message not built, this is a bug", WARNING, Logger.BUS)
ENDPOINT_UP: Final = Event("rpc endpoint up", INFO, Logger.BUS)
ENDPOINT_REFUSED: Final = Event("rpc endpoint refused by the broker", WARNING, Logger.BUS)

# The configuration.
RELOADED: Final = Event("configuration reloaded", INFO, Logger.CONFIG)
RELOAD_REFUSED: Final = Event("reload refused, old configuration kept", ERROR, Logger.CONFIG)
RESTART_NEEDED: Final = Event("option needs a restart", WARNING, Logger.CONFIG)
CONFIGURATION_NOTICE: Final = Event("configuration notice", WARNING, Logger.CONFIG)

# Events about the agent's process and its files.
STARTING: Final = Event("agent starting", INFO, Logger.AGENT)
STARTED: Final = Event("agent started", INFO, Logger.AGENT)
START_FAILED: Final = Event("agent start failed", ERROR, Logger.AGENT)
STOPPING: Final = Event("agent stopping", INFO, Logger.AGENT)
STOPPED: Final = Event("agent stopped", INFO, Logger.AGENT)
READ_LEFT_BEHIND: Final = Event("read left behind", WARNING, Logger.AGENT)
STOP_INCOMPLETE: Final = Event("agent stop incomplete", ERROR, Logger.AGENT)
WORKER_ENDED: Final = Event("worker ended", ERROR, Logger.AGENT)
SIGNAL_FAILED: Final = Event("signal not served", ERROR, Logger.AGENT)
INTERVAL_FAILED: Final = Event("periodic audit not requested, this is a bug", WARNING, Logger.AGENT)
AGENT_LOCK_UNUSABLE: Final = Event(
    "agent lock not usable, nothing stops a second agent on this host", WARNING, Logger.AGENT
)
MONITORING_LOST: Final = Event(
    "cannot listen on the monitoring address, tried again each minute", WARNING, Logger.AGENT
)
METRICS_UNWRITTEN: Final = Event("metrics file not written, tried again by the next audit", WARNING, Logger.AGENT)
STATE_DUMP: Final = Event("state dump", INFO, Logger.AGENT)
REPORT_BY_HAND: Final = Event("report written by a run with --once", INFO, Logger.AGENT)
REPORT_UNPUBLISHED: Final = Event("report not written", WARNING, Logger.AGENT)
HISTORY_UNREADABLE: Final = Event(
    "findings' history partly unreadable, the unreadable rows are left out", WARNING, Logger.AGENT
)
HISTORY_SET_ASIDE: Final = Event(
    "findings' history partly unreadable, a copy of the file is kept", WARNING, Logger.AGENT
)
HISTORY_UNSAVED: Final = Event("findings' history not written, tried again by the next audit", WARNING, Logger.AGENT)
STORE_UNREADABLE: Final = Event(
    "store.json (says where guests' disks are) not readable, the agent continues without this file",
    WARNING,
    Logger.AGENT,
)
STORE_UNSAVED: Final = Event(
    "store.json (says where guests' disks are) not written, tried again by the next audit", WARNING, Logger.AGENT
)
STATE_DIR_UNUSABLE: Final = Event(
    "state directory not usable now, so the agent saves nothing there", WARNING, Logger.AGENT
)

#: Every event, in the order of this module.
EVENTS: Final = tuple(value for value in globals().copy().values() if isinstance(value, Event))
