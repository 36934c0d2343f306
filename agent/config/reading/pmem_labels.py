"""Read the persistent memory namespaces of each label.

Only an audit of the host shows whether the namespaces exist, so this module does not check that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from agent.config.loaded import Loaded
from agent.config.problems import refuse
from agent.model.settings import PmemLabel

# Maximum length of a label. CUSTOM_PMEM_NAMESPACE_ and the label together are the name of a resource class, which has
# at most 255 characters.
_LONGEST = 255 - len("CUSTOM_PMEM_NAMESPACE_")


def pmem_labels(loaded: Loaded) -> tuple[PmemLabel, ...]:
    """Return the configured ``LABEL:ns1|ns2`` entries.

    Raises ConfigError for a malformed entry, or if several entries have the same label or namespace.
    """
    entries = [_label(text) for text in loaded.listed("libvirt", "pmem_namespaces")]
    quoted = loaded.quote("libvirt", "pmem_namespaces")
    refuse(f"{quoted}: {problem}" for problem in _problems(loaded, entries))
    return tuple(entries)


def _label(text: str) -> PmemLabel:
    label, _, names = text.partition(":")
    return PmemLabel(label=label.strip(), namespaces=tuple(map(str.strip, names.split("|"))))


def _problems(loaded: Loaded, entries: Iterable[PmemLabel]) -> Iterable[str]:
    for text, entry in zip(loaded.listed("libvirt", "pmem_namespaces"), entries, strict=True):
        if not (entry.label and all(entry.namespaces)):
            yield f"{text!r} is not LABEL:NAMESPACE|NAMESPACE"
        elif len(entry.label) > _LONGEST:
            yield f"{text!r}: the label is longer than {_LONGEST} characters, too long for its resource class"
    named = Counter(name for entry in entries for name in entry.namespaces if name)
    yield from (f"namespace {name} is named twice" for name, times in named.items() if times > 1)
    labels = Counter(_class_part(entry.label) for entry in entries if entry.label)
    yield from (f"label {label} is named twice" for label, times in labels.items() if times > 1)


def _class_part(label: str) -> str:
    """Return the label in capitals, with ``_`` for other characters: a resource class is named after this text.

    Two labels with the same text would share one class, so the configuration may have only one of them.
    """
    return re.sub(r"[^0-9A-Z]+", "_", label.upper())
