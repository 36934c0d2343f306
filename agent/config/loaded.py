"""The loaded configuration: every effective value with the file that set it, and the problems of the files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from oslo_config import cfg

from agent.config.traced_conf import MASK, Blank, value_of
from agent.errors import ConfigError
from agent.text.urls import without_login

DEFAULT_ORIGIN = "default"

Key = tuple[str, str]


class ConfigRow(NamedTuple):
    """An option's effective value as text (None if unset) and its ``origin``: a file's path, or ``default``."""

    group: str
    option: str
    value: str | None
    origin: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NovaFacts:
    """The options that are read from nova.conf only; each is None if there is no nova.conf."""

    state_path: str | None = None
    connection: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Loaded:
    """The parsed configuration; ``build.check`` decides whether the values are valid together.

    ``config_files`` and ``config_dirs``: the paths named on the command line.
    ``searched``: the paths searched for configuration files.
    ``files`` and ``nova_files``: the files that were read; a later file overrides an earlier one.
    ``options``: each known (group, option), including the options of the auth plugin.
    ``configured``: the values in the files. After a reload, ``value`` may differ for an option that needs a restart.
    ``entry_origins``: for an option that may be set several times, the file of each of its values.
    ``problems``: the problems of the files themselves; empty in the result of ``load``.
    ``unread``: for each value that cannot be parsed, the reason.
    ``blanks``: the lines that leave an option empty, and so do not set it.
    ``ignored``: the problems of malformed values in nova.conf that neither nova-compute nor the agent uses.
    """

    conf: cfg.ConfigOpts = field(repr=False)
    config_files: tuple[str, ...]
    config_dirs: tuple[str, ...]
    searched: tuple[str, ...]
    files: tuple[str, ...]
    nova_files: tuple[str, ...]
    nova: NovaFacts
    options: tuple[tuple[str, cfg.Opt], ...] = field(repr=False)
    origins: Mapping[Key, str] = field(repr=False)
    configured: Mapping[Key, Any] = field(repr=False)
    entry_origins: Mapping[Key, tuple[str, ...]] = field(repr=False, default_factory=dict)
    problems: tuple[str, ...] = ()
    unread: Mapping[Key, str] = field(repr=False, default_factory=dict)
    blanks: tuple[Blank, ...] = ()
    ignored: tuple[str, ...] = ()

    def value(self, group: str, option: str) -> Any:  # noqa: ANN401 - an option's type is the option's
        """Return an option's effective value. Raises ConfigError if the value in the file is malformed."""
        if problem := self.unread.get((group, option)):
            raise ConfigError(problem)
        return value_of(self.conf, group, option)

    def listed(self, group: str, option: str) -> tuple[str, ...]:
        """Return the items of a list option, stripped, without empty items; no items if the option is unset."""
        return tuple(item.strip() for item in self.value(group, option) or () if item.strip())

    def entries(self, group: str, option: str) -> tuple[tuple[str, str], ...]:
        """Return the values of an option that may be set several times, each with its file; leave out empty values."""
        pairs = zip(self.value(group, option), self.entry_origins.get((group, option), ()), strict=True)
        return tuple((text.strip(), origin) for text, origin in pairs if text.strip())

    def origin(self, group: str, option: str) -> str:
        """Return the path of the file that set the option, or ``default``."""
        return self.origins.get((group, option), DEFAULT_ORIGIN)

    def all_searched(self) -> str:
        """Return one text: the paths that were searched for configuration files, then the paths in [agent] nova_conf.

        Raises ConfigError if nova_conf is malformed.
        """
        return ", ".join((*self.searched, *self.value("agent", "nova_conf")))

    def default(self, group: str, option: str) -> Any:  # noqa: ANN401 - as above
        """Return the default in the option's definition, even if the agent computed another default for this host."""
        return next(opt.default for owner, opt in self.options if (owner, opt.dest) == (group, option))

    def shown_default(self, group: str, option: str) -> str | None:
        """Return the default in the option's definition as text, None if there is none; secrets are masked."""
        opt = next(opt for owner, opt in self.options if (owner, opt.dest) == (group, option))
        return None if opt.default is None else _shown(opt, opt.default)

    def shown(self, group: str, option: str) -> str:
        """Return an option's effective value as text, empty if the option is unset; a secret is masked."""
        opt = next(opt for owner, opt in self.options if (owner, opt.dest) == (group, option))
        return _shown(opt, self.value(group, option))

    def quote(self, group: str, option: str) -> str:
        """Return ``file: [group] option = value`` or ``[group] option is not set`` for messages; secrets are masked."""
        shown, origin = self.shown(group, option), self.origin(group, option)
        if origin == DEFAULT_ORIGIN and not shown:
            return f"[{group}] {option} is not set"
        return f"{origin}: [{group}] {option} = {shown}"

    def rows(self) -> tuple[ConfigRow, ...]:
        """Return a row for every option with its effective value, [DEFAULT] first, secrets masked."""
        rows = (self._row(group, opt) for group, opt in self.options)
        return tuple(sorted(rows, key=lambda row: (row.group != "DEFAULT", row.group, row.option)))

    def _row(self, group: str, opt: cfg.Opt) -> ConfigRow:
        value = self.value(group, opt.dest)
        return ConfigRow(group, opt.dest, None if value is None else _shown(opt, value), self.origin(group, opt.dest))


def _shown(opt: cfg.Opt, value: Any) -> str:  # noqa: ANN401 - an option's type is the option's
    if value is None:
        return ""
    return MASK if opt.secret else without_login(_written(value))


def _written(value: Any) -> str:  # noqa: ANN401 - as above
    if isinstance(value, list):
        return ",".join(str(item) for item in value)
    if isinstance(value, dict):
        return ",".join(f"{key}:{item}" for key, item in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)
