"""Set up oslo.log: text or JSON lines with the fields of ``extra``, and the ``audit_id`` on each line of an audit.

The agent's messages are constant texts with the values in ``extra``, which oslo.log's text format drops. So this module
appends the fields as ``name=value`` (agent/telemetry/text_form.py). By default oslo.log logs to stdout; the agent logs
to stderr, because a command prints its document to stdout. Without ``debug``, libraries log nothing. The agent logs a
library's error in the field ``error``, and the library would log the same error again at every try.
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

from agent.cmd.log_output.journald import JournaldFormatter, is_read_by_journald
from agent.config.loaded import DEFAULT_ORIGIN, Loaded
from agent.config.options.opts import logging_opts
from agent.config.traced_conf import set_override
from agent.errors import ConfigError
from agent.telemetry.text_form import LINE_BYTES, message, size_bytes
from agent.text.redact import blotted
from agent.text.wording import printable

PRODUCT = "stocktake"

# The loggers of libraries that log nothing without ``debug``, unless [DEFAULT] default_log_levels sets their levels.
LIBRARIES = (
    "amqp",
    "keystoneauth",
    "kombu",
    "oslo.messaging",
    "oslo_messaging",
    "py.warnings",
    "requests",
    "sqlalchemy",
    "stevedore",
    "urllib3",
)

#: The most bytes of one value in the JSON form.
JSON_VALUE_BYTES = 4096

_audit_id: contextvars.ContextVar[str | None] = contextvars.ContextVar("audit_id", default=None)
# A text line begins with a prefix. The first number is the size in bytes of the longest prefix for journald. The second
# number is the size of oslo.log's usual prefix (time, process id, level, logger).
_JOURNALD_BYTES, _USUAL_PREFIX_BYTES = 3, 75
_OURS = ("stocktake.", "agent.")
# Text lines do not show these fields as ``name=value``: text lines show ``audit_id`` as ``audit``, and the other fields
# belong to oslo.log.
_UNSHOWN = frozenset({"audit_id", "resource", "instance", "instance_uuid", "context", "project", "version"})
_NOT_KEBAB = re.compile(r"[^a-z0-9]+")


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
    """oslo.log's text line with ``name=value`` after the message, and ``audit=ID`` at the end.

    The message is one line; a line that the agent itself logs has at most LINE_BYTES. Each line of a traceback has
    oslo.log's own prefix. Control characters are escaped.
    """

    def format(self, record: stdlib.LogRecord) -> str:
        """Return the formatted line. The record stays unchanged for other handlers."""
        fields = {name: getattr(record, name) for name in getattr(record, "extra_keys", ()) if name not in _UNSHOWN}
        fields["audit"] = getattr(record, "audit_id", None)
        text = record.getMessage()
        if not is_ours(record):
            audit_id = message("", {"audit": fields["audit"]})
            # The line may contain a password: a library may log a URL with one, and oslo.log appends the text of the
            # exception that is being handled. So ``blotted`` removes passwords.
            return blotted(self._line(record, printable(text) + audit_id))
        limit = LINE_BYTES - _JOURNALD_BYTES
        shown = message(text, fields, limit - _USUAL_PREFIX_BYTES)
        line = self._line(record, shown)
        over = size_bytes(line.partition("\n")[0]) - limit
        return self._line(record, message(text, fields, size_bytes(shown) - over)) if over > 0 else line

    def _line(self, record: stdlib.LogRecord, text: str) -> str:
        shown = stdlib.makeLogRecord(record.__dict__)
        shown.msg, shown.args = text, None
        if is_ours(record) and record.levelno > stdlib.INFO:
            # From level WARNING up, oslo.log would append the text of the exception that is being handled. The field
            # ``error`` already has this text, so format the line as if its level were INFO.
            shown.levelno = stdlib.INFO
        return _printable_lines(super().format(shown))

    def formatException(self, ei: Any, record: stdlib.LogRecord | None = None) -> str:  # noqa: ANN401, N802 - logging's
        """Return the traceback without credentials, with escaped control characters.

        The journald handler calls only this method, not the method ``format``. oslo.log 7.1 (OpenStack 2025.1) passes
        ``record`` by its position, later versions by its name.
        """
        return _printable_lines(blotted(super().formatException(ei, record=record)))


class JsonFormatter(formatters.JSONFormatter):
    """oslo.log's JSON line. If the agent itself logs the line, the JSON object also has the key ``event``.

    Each value of ``extra`` has at most JSON_VALUE_BYTES. A record whose arguments cannot be serialized is logged with
    its text only.

    For some objects (such as an EntryPoint, which stevedore logs at DEBUG) oslo.serialization recurses infinitely. This
    class must catch the RecursionError: logging catches every other error in a handler, but not this one.
    """

    def format(self, record: stdlib.LogRecord) -> str:
        """Return one line for any record. The record stays unchanged for other handlers."""
        shown = stdlib.makeLogRecord(record.__dict__)
        for name in getattr(record, "extra_keys", ()):
            setattr(shown, name, _bounded(getattr(record, name)))
        if not is_ours(record) and (text := record.getMessage()) != (masked := blotted(text)):
            shown.msg, shown.args = masked, None
        line = self._line(shown)
        if shown.exc_info or not is_ours(record):
            document = json.loads(line)
            document |= {name: _one_text(document[name]) for name in ("traceback", "error_summary") if document[name]}
            line = json.dumps(document)
        return f'{{"event": "{event_name(record)}", {line[1:]}' if is_ours(record) else line

    def _line(self, record: stdlib.LogRecord) -> str:
        # After a RecursionError, format only the record's text. Do this outside an ``except`` block: inside the block,
        # oslo.log would find the RecursionError in sys.exc_info() and add this error to the log line.
        with contextlib.suppress(RecursionError):
            return str(super().format(record))
        shown = stdlib.makeLogRecord(record.__dict__)
        shown.msg, shown.args = record.getMessage(), None
        return str(super().format(shown))


def _one_text(value: str | list[str]) -> str:
    """Return the text without credentials. oslo.log 7.1 (OpenStack 2025.1) has a traceback as a list of its lines."""
    return blotted("\n".join(value) if isinstance(value, list) else value)


def setup_logging(loaded: Loaded) -> None:
    """Set up logging as configured. A second call, after a reload, applies ``debug`` and reopens the log files.

    Raises ConfigError if the options cannot be applied (no such folder, no such level); the old logging setup then
    stays in effect.
    """
    conf = _logging_conf(loaded)
    if not (loaded.value("DEFAULT", "log_file") or loaded.value("DEFAULT", "log_dir") or conf.use_journal):
        conf.set_override("use_stderr", True)  # noqa: FBT003 - oslo.config's own signature
    _apply(conf, loaded)


def setup_command_logging(loaded: Loaded) -> None:
    """Set up logging for a command: only to stderr, and only from level WARNING up unless ``debug`` is set.

    Raises ConfigError.
    """
    conf = _logging_conf(loaded)
    for name in ("log_file", "log_dir", "log_config_append"):
        conf.set_override(name, None)
    for name in ("use_journal", "use_syslog"):
        conf.set_override(name, False)  # noqa: FBT003 - as above
    conf.set_override("use_stderr", True)  # noqa: FBT003 - as above
    _apply(conf, loaded)
    if not loaded.value("DEFAULT", "debug"):
        stdlib.getLogger().setLevel(stdlib.WARNING)


def is_ours(record: stdlib.LogRecord) -> bool:
    """Return whether the agent itself, and not a library, logs the record."""
    return record.name.startswith(_OURS)


def event_name(record: stdlib.LogRecord) -> str:
    """Return the event name of the record: its constant text in lower case with hyphens, such as ``finding-appeared``.

    If the logger inserts values into the text (nova-compute's log lines), the name is the part before the first colon.
    """
    text = str(record.msg)
    return _NOT_KEBAB.sub("-", (text.partition(":")[0] if "%(" in text else text).lower()).strip("-")


def _set_library_levels(conf: cfg.ConfigOpts, loaded: Loaded) -> None:
    """Silence the libraries. If ``debug`` is set, leave the libraries at oslo.log's default levels instead.

    If the operator's file sets ``default_log_levels``, the loggers in that list keep the operator's levels.
    """
    listed = {pair.partition("=")[0] for pair in conf.default_log_levels}
    named = listed if loaded.origin("DEFAULT", "default_log_levels") != DEFAULT_ORIGIN else set()
    below = {name for name in listed if name.startswith(tuple(f"{library}." for library in LIBRARIES))}
    for name in {*LIBRARIES, *below} - named:
        if not conf.debug:
            stdlib.getLogger(name).setLevel(stdlib.CRITICAL)
        elif name not in listed:
            stdlib.getLogger(name).setLevel(stdlib.NOTSET)


def _logging_conf(loaded: Loaded) -> cfg.ConfigOpts:
    """Return a ConfigOpts that only oslo.log uses.

    oslo.log registers command line options and a hook. Neither would work on the agent's own ConfigOpts.
    """
    conf = cfg.ConfigOpts()
    root = stdlib.getLogger()
    before = list(root.handlers)
    logging.register_options(conf)
    # If the root logger has no handler, register_options() adds a temporary handler. Remove that handler before
    # setup().
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
        if isinstance(handler, stdlib.StreamHandler) and handler.stream is sys.stderr and is_read_by_journald():
            handler.setFormatter(JournaldFormatter(handler.formatter or stdlib.Formatter()))
    # setup() removes the old handlers but leaves their files open, so close these files here.
    _close(handler for handler in before if handler not in root.handlers)
    stdlib.captureWarnings(True)  # noqa: FBT003 - logging's own signature
    _set_library_levels(conf, loaded)


def _printable_lines(text: str) -> str:
    return "\n".join(map(printable, text.split("\n")))


def _close(handlers: Iterable[stdlib.Handler]) -> None:
    for handler in tuple(handlers):
        handler.close()


def _bounded(value: object) -> object:
    """Return the value, or its beginning if it is a text or a list of more than JSON_VALUE_BYTES."""
    if isinstance(value, str):
        if len(value) * 4 <= JSON_VALUE_BYTES or size_bytes(value) <= JSON_VALUE_BYTES:
            return value
        return value.encode("utf-8", "surrogatepass")[: JSON_VALUE_BYTES - 40].decode("utf-8", "ignore") + "..."
    if isinstance(value, list | tuple):
        shown: list[object] = []
        room = JSON_VALUE_BYTES - 40
        for item in value:
            room -= size_bytes(str(item)) + 4
            if room < 0:
                return (*shown, f"and {len(value) - len(shown)} more")
            shown.append(item)
    return value
