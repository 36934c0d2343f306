"""Each option left empty, at start and at reload, in stocktake.conf and in nova.conf, with the outcome.

The options come from where they are registered, so the table includes a new option at once. `cells` leaves one option
empty at a time. `cells_of_one_file` leaves many options of one file empty together: all but those that a host needs or
for which empty has a meaning. An option that counts as not set when empty does not affect the others, so
`cells_of_one_file` finds the same outcomes in seconds.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from keystoneauth1 import loading

from agent.config.blank import MEANS_NONE
from agent.config.build import BUILDERS, load_checked, notices, settings_from
from agent.config.loaded import Loaded
from agent.config.options import devices, neutron, nova, opts
from agent.config.options.notifications import publishing_options_from
from agent.config.reload import needs_restart, reload
from agent.errors import ConfigError
from agent.placement.http.access import client_from_conf
from tests.rigs.configs import write

#: The options that a host needs to start; the option under test is left out of them.
NEEDED = {
    ("DEFAULT", "transport_url"): "rabbit://nova:hunter2@127.0.0.1:5672/",
    ("devices", "enabled_mdev_types"): "t",
    ("neutron", "physnets"): "p",
    ("neutron_physnet_p", "numa_nodes"): "0",
    ("placement", "auth_type"): "password",
    ("placement", "auth_url"): "http://127.0.0.1:5000/v3",
    ("placement", "username"): "nova",
    ("placement", "password"): "hunter2",
    ("placement", "project_name"): "service",
}
OURS_NEEDED = {("state", "source"): "none", ("compute", "provider_config_location"): "/nonexistent"}

#: The ways in which an operator leaves an option empty.
WAYS = {"empty": "", "blanks": "   ", "quoted": '""', "comment": "\n# a comment on a line of its own"}

OURS, NOVAS = "ours", "nova.conf"
START, RELOAD = "start", "reload"


Key = tuple[str, str]


class Cell(NamedTuple):
    """One row of the table. ``outcome``: ``note``, ``silent``, ``78`` or ``traceback``; ``said``: its text."""

    group: str
    option: str
    file: str
    moment: str
    way: str
    outcome: str
    said: str


def options_of(file: str) -> list[tuple[str, str]]:
    """Return (group, option) of all options that a file may set: stocktake.conf's, or those read from nova.conf."""
    plugin = [("placement", opt.dest) for opt in loading.get_auth_plugin_conf_options("password")]
    dynamic = [(devices.type_group("t"), opt.dest) for opt in devices.type_opts("t")]
    dynamic += [(neutron.physnet_group("p"), opt.dest) for opt in neutron.physnet_opts()]
    listed = [(group, opt.dest) for group, options in opts.list_opts() for opt in options]
    if file == OURS:
        return list(dict.fromkeys([*listed, *plugin, *dynamic]))
    shared = [(group, opt.dest) for group, opt in opts.shared_opts()]
    own = [(group, opt.dest) for group, options in nova.OPTS for opt in options]
    rabbit = [key for key in listed if key[0] == "oslo_messaging_rabbit"]
    return list(dict.fromkeys([*shared, *own, *plugin, *dynamic, *rabbit]))


def cells(folder: Path, ways: dict[str, str]) -> Iterator[Cell]:
    """Yield a row for each option, file, moment and way."""
    for file in (OURS, NOVAS):
        for key in options_of(file):
            for moment in (START, RELOAD):
                for way in ways:
                    yield cell_of(folder, key, file, way, moment)


def cells_of_one_file(folder: Path, file: str, moment: str) -> list[Cell]:
    """Return a row for each option: most are left empty together, those with another meaning of empty one at a time."""
    said_otherwise = {*NEEDED, *OURS_NEEDED, *MEANS_NONE}
    together = [key for key in options_of(file) if key not in said_otherwise]
    alone = [cell_of(folder, key, file, "empty", moment) for key in options_of(file) if key in said_otherwise]
    found = _outcomes(folder, together, file, "", MOMENTS[moment])
    return alone + [Cell(*key, file, moment, "empty", *found[key]) for key in together]


def cell_of(folder: Path, key: tuple[str, str], file: str = OURS, way: str = "empty", moment: str = START) -> Cell:
    """Return the row of one option left empty."""
    outcome, said = _outcomes(folder, [key], file, WAYS[way], MOMENTS[moment])[key]
    return Cell(*key, file, moment, way, outcome, said)


def _outcomes(
    folder: Path, keys: list[Key], file: str, value: str, act: Callable[[Path, str, str], Loaded]
) -> dict[Key, tuple[str, str]]:
    """Return (outcome, text) of each of these options, left empty together in that file."""
    ours = _text(_ours_needed(folder), keys if file == OURS else [], value)
    novas = _text(NEEDED, keys, value if file == NOVAS else None)
    try:
        told = notices(act(folder, ours, novas))
    except ConfigError as error:
        return dict.fromkeys(keys, ("78", "; ".join(error.problems)))
    except Exception:  # noqa: BLE001 - the table tells what came, whatever it was
        return dict.fromkeys(keys, ("traceback", traceback.format_exc().splitlines()[-1]))
    return {key: _noted(key, told) for key in keys}


def _noted(key: Key, told: Iterable[str]) -> tuple[str, str]:
    start = f"[{key[0]}] {key[1]} "
    mine = [line for line in told if start in line]
    return ("note", "; ".join(mine)) if mine else ("silent", "")


def _start(folder: Path, ours: str, novas: str) -> Loaded:
    write(folder, "nova.conf", novas)
    loaded = load_checked([write(folder, "stocktake.conf", ours)])
    _use(loaded)
    return loaded


def _reload(folder: Path, ours: str, novas: str) -> Loaded:
    """Start with only the needed options, then reload files that leave the options empty."""
    write(folder, "nova.conf", _text(NEEDED, [], None))
    running = load_checked([write(folder, "stocktake.conf", _text(_ours_needed(folder), [], None))])
    write(folder, "nova.conf", novas)
    write(folder, "stocktake.conf", ours)
    reloaded = reload(running)
    needs_restart(running, reloaded)
    _use(reloaded)
    return reloaded


MOMENTS = {START: _start, RELOAD: _reload}


def _use(loaded: Loaded) -> None:
    """Build all that the daemon builds from the configuration: a value that crashes an audit crashes here."""
    settings = settings_from(loaded)
    assert settings.confirm_audits > 0
    assert settings.source_deadline_s > 0
    assert settings.full_read_every > 0
    publishing_options_from(loaded)
    for build in BUILDERS:
        build(loaded)
    client_from_conf(loaded.conf)
    assert loaded.rows()


def _ours_needed(folder: Path) -> dict[tuple[str, str], str]:
    return {**OURS_NEEDED, ("agent", "nova_conf"): str(folder / "nova.conf")}


def _text(needed: dict[Key, str], keys: list[Key], value: str | None) -> str:
    """Return a file of the needed options without ``keys``, plus ``keys`` with that value unless it is None."""
    lines = {other: text for other, text in needed.items() if other not in keys}
    if value is not None:
        lines.update(dict.fromkeys(keys, value))
    return "".join(f"[{group}]\n{option} ={' ' if text else ''}{text}\n" for (group, option), text in lines.items())
