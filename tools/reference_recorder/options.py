"""Options of oslo.config files as plain values: read, joined and written, repeated options included.

configparser refuses a repeated option, and ``device_spec`` and ``reserved_huge_pages`` may be repeated.
"""

from collections.abc import Mapping
from pathlib import Path

from oslo_config import cfg

# section -> option -> its values in order; more than one only for options that may be repeated.
Options = Mapping[str, Mapping[str, tuple[str, ...]]]


def read(path: Path) -> Options:
    """Return all options of a file as written there."""
    sections: dict[str, dict[str, list[str]]] = {}
    cfg.ConfigParser(str(path), sections).parse()
    return {section: {option: tuple(values) for option, values in found.items()} for section, found in sections.items()}


def joined(*layers: Options) -> Options:
    """Return the options of all layers; later layers win, option by option."""
    sections: dict[str, dict[str, tuple[str, ...]]] = {}
    for layer in layers:
        for section, found in layer.items():
            sections.setdefault(section, {}).update(found)
    return sections


def text(options: Options) -> str:
    """Return the file's text; sections and options sorted, DEFAULT first."""
    lines = []
    for section in sorted(options, key=lambda name: (name != "DEFAULT", name)):
        lines += ["", f"[{section}]"]
        lines += [f"{option} = {value}" for option, values in sorted(options[section].items()) for value in values]
    return "\n".join(lines[1:]) + "\n"


def value(options: Options, section: str, option: str, default: str) -> str:
    """Return the last value, or the default."""
    return options.get(section, {}).get(option, (default,))[-1]
