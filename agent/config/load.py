"""Load the configuration: Stocktake's own files, nova.conf, and the defaults of the options.

Stocktake's own files have the highest precedence, then nova.conf (for the options that have the same meaning there),
then the defaults. Values from nova.conf are set as defaults of Stocktake's options, because oslo.config ranks defaults
below files. This module reads every option once, so that a malformed value prevents the start. Otherwise the agent
would start, and the first audit that uses the malformed value would fail.

In the code, ``own`` are Stocktake's own files and ``nova_conf`` is nova.conf.
"""

from __future__ import annotations

import dataclasses
import os
import socket
from collections.abc import Iterable, Sequence
from typing import Any

from oslo_config import cfg

from agent.config.files import ConfigFile, find_files, last_set, parse_files
from agent.config.loaded import Key, Loaded, NovaFacts
from agent.config.options import agent, nova, opts, placement
from agent.config.options.auth import auth_options
from agent.config.options.dynamic import dynamic_options
from agent.config.traced_conf import Book, open_book, register_strays, set_default
from agent.config.unknown import known_names, unknown_options
from agent.errors import ConfigError


def load(config_files: Sequence[str] = (), config_dirs: Sequence[str] = ()) -> Loaded:
    """Read and check all files. Without arguments, read the default search path, where files may be missing.

    Raises ConfigError with every problem of the files: a named file that is missing, text that cannot be parsed,
    unknown options in Stocktake's own files, malformed values.
    """
    loaded = survey(config_files, config_dirs)
    if loaded.problems:
        raise ConfigError(*loaded.problems)
    return loaded


def survey(config_files: Sequence[str] = (), config_dirs: Sequence[str] = ()) -> Loaded:
    """Read all files as ``load`` does, but return the problems, so that the caller can report them with other problems.

    Raises ConfigError if a named file is missing or is not a configuration file. Some options are read only from
    nova.conf. If one of these options is malformed, ConfigError is raised, unless nova-compute ignores the option.
    """
    found = find_files(config_files, config_dirs)
    files = parse_files(found.paths)
    nova_files = _nova_files(files)
    auth = auth_options(files, nova_files)
    own = open_book(files, [*opts.registered_opts(), *auth.options])
    nova_conf = _nova_book(nova_files, auth.options)
    dynamic = dynamic_options(own, nova_conf)
    own.register(dynamic)
    nova_conf.register(dynamic)
    register_strays(nova_conf)
    set_default(own.conf, "DEFAULT", "host", socket.gethostname())
    set_default(own.conf, "DEFAULT", "my_ip", _own_address())
    for name, value in placement.DEFAULTS.items():
        set_default(own.conf, placement.GROUP, name, value)
    unread: dict[Key, str] = {}
    ignored: list[str] = []
    taken = _take(own, nova_conf, [*opts.shared_opts(), *auth.options, *dynamic], unread, ignored)
    taken |= _take_instances_path(own, nova_conf, unread)
    unknown = unknown_options(own.files, known_names(own.options), auth.unchecked)
    problems = [*auth.problems, *unread.values(), *unknown]
    configured = _read_all(own, unread)
    problems = [*dict.fromkeys((*problems, *unread.values()))]
    origins = {(group, opt.dest): file.path for group, opt in own.options if (file := own.file_of(group, opt))} | taken
    own.conf.traced = origins
    return Loaded(
        conf=own.conf,
        config_files=tuple(config_files),
        config_dirs=tuple(config_dirs),
        searched=found.searched,
        files=found.paths,
        nova_files=tuple(file.path for file in nova_conf.files),
        nova=_nova_facts(nova_conf, problems, ignored),
        options=tuple(own.options),
        origins=origins,
        configured=configured,
        entry_origins=_entry_origins(nova_conf) | _entry_origins(own),
        problems=tuple(problems),
        unread=unread,
        blanks=(*own.blanks, *nova_conf.blanks),
        ignored=tuple(ignored),
    )


def _nova_files(files: Sequence[ConfigFile]) -> tuple[ConfigFile, ...]:
    (option,) = (opt for opt in agent.OPTS if opt.dest == "nova_conf")
    named = last_set(files, agent.GROUP, option)
    paths = [os.path.abspath(path) for path in (option.type(named[1]) if named else option.default) if path]
    missing = [path for path in paths if not os.path.exists(path)]
    if named and missing:
        origin = named[0].path
        raise ConfigError(*(f"{origin}: [agent] nova_conf = {path}: there is no such file" for path in missing))
    return parse_files(path for path in paths if path not in missing)


def _nova_book(files: Sequence[ConfigFile], auth: Iterable[tuple[str, cfg.Opt]]) -> Book:
    book = open_book(files, [*opts.shared_opts(), *auth, *((g, opt) for g, listed in nova.OPTS for opt in listed)])
    # This is oslo.config's own ``set_default``, which substitutes $state_path in the value. This project's function of
    # that name escapes "$", so that nothing is substituted.
    book.conf.set_default("instances_path", nova.INSTANCES_PATH)
    return book


def _take(
    own: Book, nova_conf: Book, options: Iterable[tuple[str, cfg.Opt]], unread: dict[Key, str], ignored: list[str]
) -> dict[Key, str]:
    """Make nova.conf's values the defaults of those options that nova.conf sets and Stocktake's own files do not.

    Return {option: path of the file that set the value} for these options.
    """
    taken: dict[Key, str] = {}
    for group, opt in options:
        source = nova_conf.file_of(group, opt)
        if source is None or own.file_of(group, opt):
            continue
        try:
            set_default(own.conf, group, opt.dest, nova_conf.read(group, opt))
        except ConfigError as error:
            if _goes_unread(nova_conf, (group, opt.dest)):
                ignored += error.problems
                continue
            (unread[group, opt.dest],) = error.problems
        taken[group, opt.dest] = source.path
    return taken


def _goes_unread(nova_conf: Book, key: Key) -> bool:
    """Return whether nova-compute starts without reading this option. If so, the agent accepts a malformed value."""
    if key != ("DEFAULT", "force_raw_images"):
        return key in nova.READ_AT_NEED
    (images,) = (opt for group, opt in nova_conf.options if (group, opt.dest) == ("libvirt", "images_type"))
    try:
        return nova_conf.read("libvirt", images) not in nova.RAW_ONLY
    except ConfigError:
        return False


def _take_instances_path(own: Book, nova_conf: Book, unread: dict[Key, str]) -> dict[Key, str]:
    """Derive ``instances_path`` from nova.conf's ``state_path`` if no file sets ``instances_path``.

    Return a mapping of the option ``instances_path`` to the path of the file that sets ``state_path``. If nothing was
    derived, the mapping is empty.
    """
    by_name = {opt.dest: opt for group, opt in nova_conf.options if group == "DEFAULT"}
    source = nova_conf.file_of("DEFAULT", by_name["state_path"])
    path = by_name["instances_path"]
    if source is None or nova_conf.file_of("DEFAULT", path) or own.file_of("DEFAULT", path):
        return {}
    key = ("DEFAULT", "instances_path")
    try:
        set_default(own.conf, *key, nova_conf.read("DEFAULT", path))
    except ConfigError as error:
        (unread[key],) = error.problems
    return {key: source.path}


def _entry_origins(book: Book) -> dict[Key, tuple[str, ...]]:
    """Return, for each multi-valued option, the files that set its values: one file for each value.

    ``book`` has the parsed files. If nova.conf and Stocktake's own files both set an option, only the values in
    Stocktake's own files apply.
    """
    several = ((group, opt) for group, opt in book.options if opt.multi)
    found = {(group, opt.dest): book.files_of_each(group, opt) for group, opt in several}
    return {key: paths for key, paths in found.items() if paths}


def _own_address() -> str | None:
    """Return this machine's source address for the default route; None if there is no such route. Sends no packet.

    The result is also None for stocktake-probe, whose sandbox allows no IPv4 sockets.
    """
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))
            address: str = probe.getsockname()[0]
    except OSError:
        return None
    return address


def _read_all(book: Book, unread: dict[Key, str]) -> dict[Key, Any]:
    values: dict[Key, Any] = {}
    for group, opt in book.options:
        try:
            values[group, opt.dest] = book.read(group, opt)
        except ConfigError as error:
            (unread[group, opt.dest],) = error.problems
    return values


def _nova_facts(nova_conf: Book, others: Iterable[str], ignored: list[str]) -> NovaFacts:
    """Return the values of the options that are read from nova.conf only.

    Raises ConfigError if such an option is malformed and nova-compute reads it, because too many checks depend on the
    option. The error also contains ``others``, the problems found earlier.
    """
    if not nova_conf.files:
        return NovaFacts()
    options = [(group, opt) for group, listed in nova.OPTS for opt in listed]
    unread: dict[Key, str] = {}
    values = _read_all(dataclasses.replace(nova_conf, options=options), unread)
    ignored += [problem for key, problem in unread.items() if _goes_unread(nova_conf, key)]
    if refused := [problem for key, problem in unread.items() if not _goes_unread(nova_conf, key)]:
        raise ConfigError(*dict.fromkeys((*others, *refused)))
    return NovaFacts(state_path=values["DEFAULT", "state_path"], connection=values.get(("database", "connection")))
