"""Set up oslo.log: text or JSON lines with the fields of ``extra``, and the ``audit_id`` on each line of an audit.

oslo.log's text format drops ``extra``, and the agent's messages are constant texts. This module therefore
appends the fields as ``name=value``. By default oslo.log logs to stdout; the agent logs to stderr, because a
command prints its document to stdout.
"""

from __future__ import annotations

import contextlib
import contextvars
import json
import logging as stdlib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from oslo_config import cfg
from oslo_log import formatters
from oslo_log import log as logging

from agent.config.loaded import Loaded
from agent.config.options.opts import logging_opts
from agent.config.traced_conf import set_override
from agent.errors import ConfigError
from agent.text.wording import printable

PRODUCT = "stocktake"

# While Keystone is down and auth_url names no version, this logger of keystoneauth warns at every request for a token.
# The agent hides these warnings, because the audit logs the 1st, 2nd, 4th, 8th … occurrence of the same error.
REPEATS_ITSELF = "keystoneauth.identity.generic.base"

# The agent hides the errors of these loggers: an error at every attempt to reconnect (the agent itself logs the 1st,
# 2nd, 4th … attempt), and a traceback whenever another program calls a method that the agent does not have.
BROKER_LIBRARY = (
    "oslo.messaging._drivers.impl_rabbit",
    "oslo_messaging._drivers.amqpdriver",
    "oslo_messaging.rpc.server",
)

_audit_id: contextvars.ContextVar[str | None] = contextvars.ContextVar("audit_id", default=None)
_BARE = re.compile(r"[^\s\"=]+\Z")
# Fields that text lines do not show as ``name=value``; oslo.log's project and version do not describe the agent.
_UNSHOWN = frozenset({"audit_id", "resource", "instance", "instance_uuid", "context", "project", "version"})


@contextlib.contextmanager
def audit_context(audit_id: str) -> Iterator[None]:
    """Add the id to every line that this thread logs inside the block, lines from libraries included."""
    token = _audit_id.set(audit_id)
    try:
        yield
    finally:
        _audit_id.reset(token)


class AuditIdFilter(stdlib.Filter):
    """Adds the current audit's id to a log record, as a field of the JSON format. Attach the filter to a handler.

    The filter also drops oslo.log's ``project`` and ``version`` if their value is "unknown", as it normally is.
    """

    def filter(self, record: stdlib.LogRecord) -> bool:
        """Accept every record."""
        noise = {name for name in ("project", "version") if getattr(record, name, None) == "unknown"}
        names = set(getattr(record, "extra_keys", ())) - noise
        if audit_id := getattr(record, "audit_id", None) or _audit_id.get():
            record.audit_id = audit_id
            names.add("audit_id")
        record.extra_keys = sorted(names)
        return True


class FieldsFormatter(formatters.ContextFormatter):
    """oslo.log's text line with ``[audit ID]`` before the message and ``name=value`` after it.

    The message is one line; each line of a traceback has oslo.log's own prefix. Control characters are escaped.
    """

    def format(self, record: stdlib.LogRecord) -> str:
        """Return the formatted line. The record stays unchanged for other handlers."""
        shown = stdlib.makeLogRecord(record.__dict__)
        audit_id = getattr(record, "audit_id", None)
        prefix = f"[audit {audit_id}] " if audit_id else ""
        names = [name for name in getattr(record, "extra_keys", ()) if name not in _UNSHOWN]
        fields = "".join(f" {name}={_field(getattr(record, name))}" for name in names)
        shown.msg, shown.args = printable(f"{prefix}{record.getMessage()}{fields}"), None
        return _printable_lines(super().format(shown))

    def formatException(self, ei: Any, *, record: stdlib.LogRecord | None = None) -> str:  # noqa: ANN401, N802 - logging's
        """Return the traceback with escaped control characters. The journald handler calls this without ``format``."""
        return _printable_lines(super().formatException(ei, record=record))


class JsonFormatter(formatters.JSONFormatter):
    """oslo.log's JSON line. A record whose arguments cannot be serialized is logged with its text only.

    On some objects (such as an EntryPoint, which stevedore logs at DEBUG) oslo.serialization recurses without end.
    RecursionError is the only error in a handler that the logging module passes on to the caller.
    """

    def format(self, record: stdlib.LogRecord) -> str:
        """Return one line, whatever the record contains."""
        # The second format() below must not run inside an except block: the formatter would add the current exception.
        with contextlib.suppress(RecursionError):
            return str(super().format(record))
        shown = stdlib.makeLogRecord(record.__dict__)
        shown.msg, shown.args = record.getMessage(), None
        return str(super().format(shown))


def setup_logging(loaded: Loaded) -> None:
    """Set up logging as configured. A second call, after a reload, applies ``debug`` and reopens the log files.

    Raises ConfigError if the options cannot be applied (no such folder, no such level); the old logging setup then
    stays in effect.
    """
    conf = _logging_conf(loaded)
    if not (loaded.value("DEFAULT", "log_file") or loaded.value("DEFAULT", "log_dir") or conf.use_journal):
        conf.set_override("use_stderr", True)  # noqa: FBT003 - oslo.config's own signature
    _apply(conf, loaded)
    stdlib.getLogger(REPEATS_ITSELF).setLevel(stdlib.NOTSET if conf.debug else stdlib.ERROR)
    _quieten_broker_library(conf.debug)


def setup_command_logging(loaded: Loaded) -> None:
    """Set up logging for a command: stderr only, from WARNING up, or everything with ``debug``. Raises ConfigError."""
    conf = _logging_conf(loaded)
    for name in ("log_file", "log_dir", "log_config_append"):
        conf.set_override(name, None)
    for name in ("use_journal", "use_syslog"):
        conf.set_override(name, False)  # noqa: FBT003 - as above
    conf.set_override("use_stderr", True)  # noqa: FBT003 - as above
    _apply(conf, loaded)
    if not loaded.value("DEFAULT", "debug"):
        stdlib.getLogger().setLevel(stdlib.WARNING)
    _quieten_broker_library(loaded.value("DEFAULT", "debug"))


def _quieten_broker_library(debug: bool) -> None:  # noqa: FBT001 - an option's value
    for name in BROKER_LIBRARY:
        stdlib.getLogger(name).setLevel(stdlib.NOTSET if debug else stdlib.CRITICAL)


def _logging_conf(loaded: Loaded) -> cfg.ConfigOpts:
    """Return a separate ConfigOpts for oslo.log.

    oslo.log registers command line options and hooks, which do not work on the agent's own ConfigOpts.
    """
    conf = cfg.ConfigOpts()
    root = stdlib.getLogger()
    before = list(root.handlers)
    logging.register_options(conf)
    # If the root logger has no handler, register_options() adds one for the time until setup(). Remove that handler.
    for handler in [handler for handler in root.handlers if handler not in before]:
        root.removeHandler(handler)
    conf(args=[], project=PRODUCT, default_config_files=[], default_config_dirs=[], use_env=False)
    for opt in logging_opts():
        set_override(conf, "DEFAULT", opt.dest, loaded.value("DEFAULT", opt.dest))
    return conf


def _apply(conf: cfg.ConfigOpts, loaded: Loaded) -> None:
    root = stdlib.getLogger()
    before, level, hook = list(root.handlers), root.level, sys.excepthook
    try:
        logging.setup(conf, PRODUCT)
    except (OSError, RuntimeError, TypeError, ValueError, logging.LogConfigError) as error:
        _close(handler for handler in root.handlers if handler not in before)
        root.handlers[:] = before
        root.setLevel(level)
        sys.excepthook = hook
        where = ", ".join(loaded.files) or "default"
        raise ConfigError(f"{where}: logging cannot be set up as configured: {error}") from error
    for handler in root.handlers:
        handler.addFilter(AuditIdFilter())
        if type(handler.formatter) is formatters.ContextFormatter:
            handler.setFormatter(FieldsFormatter(project=PRODUCT, datefmt=conf.log_date_format, config=conf))
        elif type(handler.formatter) is formatters.JSONFormatter:
            handler.setFormatter(JsonFormatter(datefmt=conf.log_date_format))
    # setup() removes the old handlers but leaves their files open.
    _close(handler for handler in before if handler not in root.handlers)


def _printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def _close(handlers: Iterable[stdlib.Handler]) -> None:
    for handler in tuple(handlers):
        handler.close()


def _field(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(_field(item) for item in value) or "-"
    text = str(value)
    return text if _BARE.match(text) else json.dumps(text, ensure_ascii=False)
