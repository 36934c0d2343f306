"""Set up oslo.log: text or JSON lines, each line of an audit with its ``audit_id``, fields visible in both.

oslo.log's text format drops ``extra``: a constant message would say nothing, so the
fields are appended as ``name=value``. It also writes to stdout where nothing is
configured, which for a command is the document; here it is stderr.
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

from agent.config.load import Loaded
from agent.config.options.opts import logging_opts
from agent.config.traced_conf import set_override
from agent.errors import ConfigError
from agent.text.wording import printable

PRODUCT = "stocktake"

# Where auth_url names no version it warns at every try to get a token, without end while Keystone is away;
# the audit's own line says the same at the 1st, 2nd, 4th, 8th … time.
REPEATS_ITSELF = "keystoneauth.identity.generic.base"

# oslo.messaging: an error at every try to reconnect, without end, where ours says it at the 1st, 2nd, 4th … time; and a
# traceback for a call of a method that there is not, which is the caller's to hear.
BROKER_LIBRARY = (
    "oslo.messaging._drivers.impl_rabbit",
    "oslo_messaging._drivers.amqpdriver",
    "oslo_messaging.rpc.server",
)

_audit_id: contextvars.ContextVar[str | None] = contextvars.ContextVar("audit_id", default=None)
_BARE = re.compile(r"[^\s\"=]+\Z")
# project and version are oslo.log's own additions to every line, and say nothing of ours.
_UNSHOWN = frozenset({"audit_id", "resource", "instance", "instance_uuid", "context", "project", "version"})


@contextlib.contextmanager
def audit_context(audit_id: str) -> Iterator[None]:
    """Every line of this thread within the block carries the id, those of libraries too."""
    token = _audit_id.set(audit_id)
    try:
        yield
    finally:
        _audit_id.reset(token)


class AuditIdFilter(stdlib.Filter):
    """Puts the current audit's id on a record, as a field that the JSON format shows. Belongs on a handler.

    It also drops oslo.log's ``project`` and ``version``, which say "unknown" in every line.
    """

    def filter(self, record: stdlib.LogRecord) -> bool:
        """Let every record through."""
        names = {name for name in getattr(record, "extra_keys", ()) if not _is_noise(name, getattr(record, name))}
        if audit_id := getattr(record, "audit_id", None) or _audit_id.get():
            record.audit_id = audit_id
            names.add("audit_id")
        record.extra_keys = sorted(names)
        return True


class FieldsFormatter(formatters.ContextFormatter):
    """oslo.log's text line with ``[audit ID]`` before the message and ``name=value`` after it.

    The message is one line; each line of a traceback has oslo.log's own prefix. All of it is ``printable``.
    """

    def format(self, record: stdlib.LogRecord) -> str:
        """One line; the record itself stays as it is for other handlers."""
        shown = stdlib.makeLogRecord(record.__dict__)
        audit_id = getattr(record, "audit_id", None)
        prefix = f"[audit {audit_id}] " if audit_id else ""
        names = [name for name in getattr(record, "extra_keys", ()) if name not in _UNSHOWN]
        fields = "".join(f" {name}={_field(getattr(record, name))}" for name in names)
        shown.msg, shown.args = printable(f"{prefix}{record.getMessage()}{fields}"), None
        return _printable_lines(super().format(shown))

    def formatException(self, ei: Any, *, record: stdlib.LogRecord | None = None) -> str:  # noqa: ANN401, N802 - logging's
        """The traceback; journald gets it once more as a field of its own."""
        return _printable_lines(super().formatException(ei, record=record))


class JsonFormatter(formatters.JSONFormatter):
    """oslo.log's JSON line; of a record whose arguments it cannot follow, the text alone.

    oslo.serialization never gets to the end of some objects (an EntryPoint, which
    stevedore logs at DEBUG), and of all errors logging lets that one through to the caller.
    """

    def format(self, record: stdlib.LogRecord) -> str:
        """One line, whatever the record holds."""
        # Not inside an except: the formatter looks for an exception at work and tells it.
        with contextlib.suppress(RecursionError):
            return str(super().format(record))
        shown = stdlib.makeLogRecord(record.__dict__)
        shown.msg, shown.args = record.getMessage(), None
        return str(super().format(shown))


def setup_logging(loaded: Loaded) -> None:
    """Log as configured; call again after a reload: it applies ``debug`` and opens log files anew.

    Raises ConfigError where the options cannot be followed (no such folder, no such
    level); the logging that was there then goes on.
    """
    conf = _logging_conf(loaded)
    if not (loaded.value("DEFAULT", "log_file") or loaded.value("DEFAULT", "log_dir") or conf.use_journal):
        conf.set_override("use_stderr", True)  # noqa: FBT003 - oslo.config's own signature
    _apply(conf, loaded)
    stdlib.getLogger(REPEATS_ITSELF).setLevel(stdlib.NOTSET if conf.debug else stdlib.ERROR)
    _quieten_broker_library(conf.debug)


def setup_command_logging(loaded: Loaded) -> None:
    """For a command: stderr alone, warnings and worse, everything with ``debug``. Raises ConfigError."""
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
    """A ConfigOpts of oslo.log's own: its registration wants command line options and hooks that ours does not have."""
    conf = cfg.ConfigOpts()
    root = stdlib.getLogger()
    before = list(root.handlers)
    logging.register_options(conf)
    # It adds a handler where there is none, to bridge the time until setup().
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
    # setup() takes the old handlers off and leaves their files open.
    _close(handler for handler in before if handler not in root.handlers)


def _printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def _close(handlers: Iterable[stdlib.Handler]) -> None:
    for handler in tuple(handlers):
        handler.close()


def _is_noise(name: str, value: object) -> bool:
    return name in ("project", "version") and value == "unknown"


def _field(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(_field(item) for item in value) or "-"
    text = str(value)
    return text if _BARE.match(text) else json.dumps(text, ensure_ascii=False)
