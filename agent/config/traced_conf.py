"""One set of files with the ConfigOpts that reads them: values with types, and errors that name file, option and value.

Ours and nova's are two books, so that ``$state_path`` in nova.conf is nova's and
never reaches ours. Always a ConfigOpts of its own: the global one belongs to
whichever library asks first.
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
from agent.config.files import ConfigFile, group_name, last_set, names_of
from agent.config.value_hints import wanted
from agent.errors import ConfigError
from agent.text.urls import without_login

MASK = "***"
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*\Z")

# Of one file: normalised group -> option as written -> its raw values in order.
Sections = dict[str, dict[str, list[str]]]


class Blank(NamedTuple):
    """A line that leaves an option empty: ``[group] option`` as written, and the option that it does not set."""

    path: str
    group: str
    option: str
    key: tuple[str, str]


class TracedConf(cfg.ConfigOpts):
    """oslo.config's, which also knows the file of each value.

    By itself it names the last file that has the group, whichever set the option, and a
    line of code for a value that was taken from nova.conf. For who is handed the
    ConfigOpts alone (agent/placement/http/access.py).
    """

    def __init__(self) -> None:
        super().__init__()
        self._traced: dict[tuple[str, str], str] = {}

    def hold(self, path: str, sections: Sections) -> None:
        """Read from a parsed file too, before those that are held already; what is taken out of it later is gone.

        oslo.config itself parses a file once more, and keeps what it found to itself.
        """
        assert self._namespace is not None
        self._namespace._add_parsed_config_file(path, sections, sections)

    def trace(self, origins: Mapping[tuple[str, str], str]) -> None:
        """From now on the value of (group, option) stands in that file."""
        self._traced = dict(origins)

    def get_location(self, name: str, group: str | None = None) -> cfg.LocationInfo | None:
        """Where the value in force was set."""
        path = self._traced.get((group or "DEFAULT", name))
        return cfg.LocationInfo(cfg.Locations.user, path) if path else super().get_location(name, group)


@dataclass(frozen=True, slots=True)
class Book:
    """Files and the options that are read from them. Its lists grow by ``register``, while the book is set up.

    ``held`` is what ``conf`` reads, file by file; ``blanks`` are the lines that set nothing.
    """

    conf: TracedConf
    files: tuple[ConfigFile, ...]
    held: tuple[Sections, ...] = ()
    options: list[tuple[str, cfg.Opt]] = field(default_factory=list)
    blanks: list[Blank] = field(default_factory=list)

    def register(self, options: Iterable[tuple[str, cfg.Opt]]) -> None:
        """Make options readable; one that is there already stays. Lines that leave one empty are not read."""
        for group, opt in options:
            if self.conf.register_opt(opt, group=in_oslo(group)):
                self.options.append((group, opt))
                self._drop_blanks(group, opt)

    def file_of(self, group: str, opt: cfg.Opt) -> ConfigFile | None:
        """The file whose value of an option holds, None where it has its default."""
        hit = last_set(self.files, group, opt)
        return hit[0] if hit else None

    def files_of_each(self, group: str, opt: cfg.Opt) -> tuple[str, ...]:
        """The file of each value of an option that may be given several times, in order: every file adds its own."""
        return tuple(
            file.path
            for file in self.files
            for owner, name in names_of(group, opt)
            for value in file.sections.get(group_name(owner), {}).get(name, ())
            if is_set(group, opt.dest, value)
        )

    def read(self, group: str, opt: cfg.Opt) -> Any:  # noqa: ANN401 - an option's type is the option's
        """The typed value. Raises ConfigError naming file, option and raw value; a secret, also in a URL, is masked."""
        try:
            value = value_of(self.conf, group, opt.dest)
        except (cfg.Error, ValueError) as error:
            # The cause is cut off: its message holds the value, which may be secret.
            raise ConfigError(self._problem(group, opt, _reason(opt, error.__context__ or error))) from None
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
        path, raw = "default", ""
        if hit := last_set(self.files, group, opt):
            path, raw = hit[0].path, hit[1]
        if opt.secret:
            return f"{path}: [{group}] {opt.dest} = {MASK}: not a valid value"
        comment = "; a comment stands on a line of its own" if raw.startswith("#") else ""
        return f"{path}: [{group}] {opt.dest} = {without_login(raw)}: {without_login(reason)}{comment}"


def _reason(opt: cfg.Opt, error: BaseException) -> str:
    """In plain words where the value is not of the option's type; a reference that leads nowhere says so itself."""
    is_reference = isinstance(error, cfg.Error)
    return (None if is_reference else wanted(opt.type)) or str(error)


def open_book(files: Sequence[ConfigFile], options: Iterable[tuple[str, cfg.Opt]]) -> Book:
    """A book of parsed files. The environment is not a source: a value stands in a file or is the default."""
    conf = empty_conf()
    held = tuple({group: dict(written) for group, written in file.sections.items()} for file in files)
    for file, sections in zip(files, held, strict=True):
        conf.hold(file.path, sections)
    book = Book(conf, tuple(files), held)
    book.register(options)
    return book


def empty_conf() -> TracedConf:
    """A ConfigOpts without options and files."""
    conf = TracedConf()
    conf(args=[], project="stocktake", default_config_files=[], default_config_dirs=[], use_env=False)
    return conf


def value_of(conf: cfg.ConfigOpts, group: str, name: str) -> Any:  # noqa: ANN401 - as above
    """A value by group and name, [DEFAULT] included. An empty item of a list of numbers is no item."""
    value = conf[name] if group == "DEFAULT" else conf[group][name]
    return [item for item in value if item is not None] if isinstance(value, list) else value


def set_default(conf: cfg.ConfigOpts, group: str, name: str, value: Any) -> None:  # noqa: ANN401 - as above
    """A value that holds where no file sets the option, taken literally."""
    conf.set_default(name, literal(value), group=in_oslo(group))


def set_override(conf: cfg.ConfigOpts, group: str, name: str, value: Any) -> None:  # noqa: ANN401 - as above
    """A value that holds whatever the files say, taken literally."""
    conf.set_override(name, literal(value), group=in_oslo(group))


def literal(value: Any) -> Any:  # noqa: ANN401 - as above
    r"""A value that survives oslo.config's ``$`` substitution unchanged: a password may hold one.

    ``\$`` and not ``$$``: oslo.config turns the first into the second before it
    substitutes, so that a backslash before a ``$`` would come out as something else.
    """
    if isinstance(value, str):
        return value.replace("$", r"\$")
    if isinstance(value, list):
        return [literal(item) for item in value]
    return value


def register_strays(book: Book) -> None:
    """Register all else that the files set, as strings, so that ``$name`` may refer to options that are not ours."""
    for file in book.files:
        for group, options in file.sections.items():
            for name in filter(_PLAIN_NAME.match, options):
                # Registered with a type of its own, or a name that oslo.config keeps for itself: not ours to change.
                with contextlib.suppress(cfg.DuplicateOptError, ValueError):
                    book.conf.register_opt(cfg.StrOpt(name), group=in_oslo(group))


def in_oslo(group: str) -> str | None:
    """A group as oslo.config's methods want it: None for [DEFAULT]."""
    return None if group == "DEFAULT" else group
