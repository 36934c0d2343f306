"""Find and parse configuration files, so that every value can be traced to its file.

oslo.config merges the files and does not record which file set a value, so this module keeps the files separate. The
agent skips the default search path if the command line names a file or a folder: a test or a demo must not read the
machine's own /etc.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oslo_config import cfg

from agent.config.blank import is_set
from agent.errors import ConfigError

DEFAULT_FILE = "/etc/stocktake/stocktake.conf"
DEFAULT_DIR = "/etc/stocktake/stocktake.conf.d"

# The content of one file: normalised group -> option name as written -> its raw values, in the order of the file.
Sections = dict[str, dict[str, list[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """One parsed configuration file."""

    path: str
    sections: Sections


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The paths searched for configuration files, and the files found. A later file overrides an earlier file."""

    searched: tuple[str, ...]
    paths: tuple[str, ...]


def group_name(section: str) -> str:
    """Return the group name of a section as oslo.config compares group names: in lower case, except for DEFAULT."""
    return section if section == "DEFAULT" else section.lower()


def find_files(files: Sequence[str], folders: Sequence[str]) -> Found:
    """Return the files to read: the files named on the command line, then the files in the folders named there.

    If the command line names no path, the default search path applies. Raises ConfigError if a named path is missing.
    """
    if not files and not folders:
        present = [DEFAULT_FILE] if os.path.exists(DEFAULT_FILE) else []
        return Found(searched=(DEFAULT_FILE, DEFAULT_DIR), paths=(*present, *_in_folder(DEFAULT_DIR)))
    missing = [f"{path}: there is no such file" for path in files if not os.path.exists(path)]
    missing += [f"{path}: there is no such folder" for path in folders if not os.path.isdir(path)]
    if missing:
        raise ConfigError(*missing)
    in_folders = [path for folder in folders for path in _in_folder(folder)]
    return Found(searched=(*files, *folders), paths=(*map(os.path.abspath, files), *in_folders))


def parse_files(paths: Iterable[str]) -> tuple[ConfigFile, ...]:
    """Return the parsed files, in order. Raises ConfigError, which names file and line of each malformed part."""
    parsed: list[ConfigFile] = []
    problems: list[str] = []
    for path in paths:
        try:
            parsed.append(_parse(path))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(*problems)
    return tuple(parsed)


def last_set(files: Sequence[ConfigFile], group: str, opt: cfg.Opt) -> tuple[ConfigFile, str] | None:
    """Return the last file that sets an option, and the raw value; None if no file sets the option."""
    for file in reversed(files):
        for owner, name in names_of(group, opt):
            written = file.sections.get(group_name(owner), {}).get(name, ())
            if values := [value for value in written if is_set(group, opt.dest, value)]:
                return file, values[-1]
    return None


def names_of(group: str, opt: cfg.Opt) -> list[tuple[str, str]]:
    """Return each (group, name) under which a file may set an option: the current name first, then deprecated names."""
    return [(group, opt.dest), *((old.group or group, old.name or opt.dest) for old in opt.deprecated_opts)]


def _in_folder(folder: str) -> list[str]:
    return sorted(glob.glob(os.path.join(os.path.abspath(folder), "*.conf")))


def _parse(path: str) -> ConfigFile:
    written: Sections = {}
    parser = cfg.ConfigParser(path, written)
    try:
        parser.parse()
    except cfg.ParseError as error:
        # The message omits the text of the line, which may contain a password.
        raise ConfigError(f"{path}: line {error.lineno} cannot be parsed: {error.msg}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text: {error.reason} at byte {error.start}") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    sections: Sections = {}
    for section, options in written.items():
        group = sections.setdefault(group_name(section), {})
        for name, values in options.items():
            group.setdefault(name, []).extend(values)
    return ConfigFile(path=path, sections=sections)
