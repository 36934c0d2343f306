"""Read typed values from one set of configuration files, with errors that name the file, the option and the value.

A Book is one set of files with the ConfigOpts that reads them. Stocktake's own files and nova.conf are two Books:
``$state_path`` in nova.conf refers to nova's option and never affects Stocktake's own files. A Book does not use
oslo.config's global ConfigOpts, because any library in the process may use that object.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from oslo_config import cfg

from agent.config.blank import is_set
from agent.config.files import ConfigFile, Sections, group_name, last_set, names_of
from agent.config.value_hints import wanted
from agent.errors import ConfigError
from agent.text.urls import without_login

MASK = "***"
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")


class Blank(NamedTuple):
    """A line that leaves an option empty.

    ``group`` and ``option`` are the names in the file, which may be deprecated. ``key`` has the current names.
    """

    path: str
    group: str
    option: str
    key: tuple[str, str]


class TracedConf(cfg.ConfigOpts):
    """A ConfigOpts that also knows the file of each value.

    Error messages must name the file that sets an option. oslo.config's own ``get_location`` may name another file: the
    last file that contains the group. For a value from nova.conf, oslo.config names a line of the agent's code.
    """

    def __init__(self) -> None:
        super().__init__()
        # (group, option) -> the file that ``get_location`` returns.
        self.traced: Mapping[tuple[str, str], str] = {}

    def hold(self, path: str, sections: Sections) -> None:
        """Add a parsed file, which takes precedence over the files added before.

        oslo.config makes no copy of ``sections``. If the caller later removes a value from ``sections``, the option has
        no value any more. The code below calls a private method of oslo.config, because the public method parses the
        file itself and does not return the result.
        """
        assert self._namespace is not None
        self._namespace._add_parsed_config_file(path, sections, sections)

    def get_location(self, name: str, group: str | None = None) -> cfg.LocationInfo | None:
        """Return the location that set the effective value."""
        path = self.traced.get((group or "DEFAULT", name))
        return cfg.LocationInfo(cfg.Locations.user, path) if path else super().get_location(name, group)


@dataclass(frozen=True, slots=True)
class Book:
    """Parsed configuration files and their options. ``register`` adds options to ``options``.

    ``held``: for each file, the sections that ``conf`` reads. ``blanks``: lines that give an option no value.
    """

    conf: TracedConf
    files: tuple[ConfigFile, ...]
    held: tuple[Sections, ...] = ()
    options: list[tuple[str, cfg.Opt]] = field(default_factory=list)
    blanks: list[Blank] = field(default_factory=list)

    def register(self, options: Iterable[tuple[str, cfg.Opt]]) -> None:
        """Register all new options.

        If a line in ``held`` gives a new option no value, move the line to ``blanks``.
        """
        for group, opt in options:
            if self.conf.register_opt(opt, group=in_oslo(group)):
                self.options.append((group, opt))
                self._drop_blanks(group, opt)

    def file_of(self, group: str, opt: cfg.Opt) -> ConfigFile | None:
        """Return the file that sets the effective value, None if the default applies."""
        hit = last_set(self.files, group, opt)
        return hit[0] if hit else None

    def files_of_each(self, group: str, opt: cfg.Opt) -> tuple[str, ...]:
        """Return one path for each value of an option that may have several values: the file that sets the value.

        The paths are in the order of the values.
        """
        return tuple(
            file.path
            for file in self.files
            for owner, name in names_of(group, opt)
            for value in file.sections.get(group_name(owner), {}).get(name, ())
            if is_set(group, opt.dest, value)
        )

    def read(self, group: str, opt: cfg.Opt) -> Any:  # noqa: ANN401 - an option's type is the option's
        """Return an option's typed value. Raises ConfigError, which names file, option and value (secrets masked)."""
        try:
            value = value_of(self.conf, group, opt.dest)
        except (cfg.Error, ValueError) as error:
            cause = error.__context__ or error
            # A cfg.Error means that a ``$name`` refers to an unknown option. oslo.config's own message says this. For
            # any other error, the function ``wanted`` returns a text on the values that the option takes.
            hint = None if isinstance(cause, cfg.Error) else wanted(opt.type)
            # ``from None``: the message of the cause contains the value, which may be secret.
            raise ConfigError(self._problem(group, opt, hint or str(cause))) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise ConfigError(self._problem(group, opt, "not a finite number"))
        return value

    def _drop_blanks(self, group: str, opt: cfg.Opt) -> None:
        for file, sections in zip(self.files, self.held, strict=True):
            for owner, name in names_of(group, opt):
                written = sections.get(group_name(owner), {})
                values = [value for value in written.get(name, ()) if is_set(group, opt.dest, value)]
                if len(values) < len(written.get(name, ())):
                    self.blanks.append(Blank(file.path, owner, name, (group, opt.dest)))
                    written[name] = values
                if not values:
                    written.pop(name, None)

    def _problem(self, group: str, opt: cfg.Opt, reason: str) -> str:
        hit = last_set(self.files, group, opt)
        path, raw = (hit[0].path, hit[1]) if hit else ("default", "")
        if opt.secret:
            return f"{path}: [{group}] {opt.dest} = {MASK}: not a valid value"
        comment = "; write a comment on a line of its own" if raw.startswith("#") else ""
        return f"{path}: [{group}] {opt.dest} = {without_login(raw)}: {without_login(reason)}{comment}"


def open_book(files: Sequence[ConfigFile], options: Iterable[tuple[str, cfg.Opt]]) -> Book:
    """Return the files and their options. No environment variable sets a value: only the files and defaults count."""
    conf = empty_conf()
    held = tuple({group: dict(written) for group, written in file.sections.items()} for file in files)
    for file, sections in zip(files, held, strict=True):
        conf.hold(file.path, sections)
    book = Book(conf, tuple(files), held)
    book.register(options)
    return book


def empty_conf() -> TracedConf:
    """Return a ConfigOpts without options and files."""
    conf = TracedConf()
    conf(args=[], project="stocktake", default_config_files=[], default_config_dirs=[], use_env=False)
    return conf


def value_of(conf: cfg.ConfigOpts, group: str, name: str) -> Any:  # noqa: ANN401 - as above
    """Return the value of an option in any group, also in [DEFAULT]. Empty items of a list are left out."""
    value = conf[name] if group == "DEFAULT" else conf[group][name]
    return [item for item in value if item is not None] if isinstance(value, list) else value


def set_default(conf: cfg.ConfigOpts, group: str, name: str, value: Any) -> None:  # noqa: ANN401 - as above
    """Set the value that applies if no file sets the option. A ``$`` in the value stays a ``$``."""
    conf.set_default(name, literal(value), group=in_oslo(group))


def set_override(conf: cfg.ConfigOpts, group: str, name: str, value: Any) -> None:  # noqa: ANN401 - as above
    """Set the value that applies even if a file sets the option. A ``$`` in the value stays a ``$``."""
    conf.set_override(name, literal(value), group=in_oslo(group))


def literal(value: Any) -> Any:  # noqa: ANN401 - as above
    r"""Return the value with each ``$`` (as in a password) escaped, so that oslo.config does not substitute it.

    The escape is ``\$`` and not ``$$``. With ``$$``, the value ``\$`` would become ``\$$``, and oslo.config would read
    the first two characters as an escape.
    """
    if isinstance(value, str):
        return value.replace("$", r"\$")
    if isinstance(value, list):
        return [literal(item) for item in value]
    return value


def register_strays(book: Book) -> None:
    """Register every unknown option in the files as a string option, so that ``$name`` in a value can refer to it."""
    for file in book.files:
        for group, options in file.sections.items():
            for name in filter(_PLAIN_NAME.match, options):
                # These errors mean that the option already has a type of its own, or that oslo.config reserves the
                # name. In both cases the option stays as it is.
                with contextlib.suppress(cfg.DuplicateOptError, ValueError):
                    book.conf.register_opt(cfg.StrOpt(name), group=in_oslo(group))


def in_oslo(group: str) -> str | None:
    """Return a group as oslo.config's methods expect it: None for [DEFAULT]."""
    return None if group == "DEFAULT" else group
