"""Write the text that tells a trainee how to begin in a practice cloud, but not what is wrong in it. Pure: no I/O."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence

from agent.render.documents import SCHEMA_VERSION, Document
from agent.render.layout import Block, Line, Span

#: Programs of other projects. The output about findings contains commands that need these programs.
CLIENTS = ("openstack", "nova-manage")


def practice_document(
    *, faults: int, seed: int, folder: str, rc: Mapping[str, str], end: str, not_installed: Sequence[str] = ()
) -> Document:
    """Return the JSON document. ``rc`` maps each host to a shell file; a trainee sources it to work on the host.

    ``end`` is the command that removes the cloud. ``not_installed``: those of ``CLIENTS`` that this computer lacks.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "faults": faults,
        "seed": seed,
        "folder": folder,
        "rc": dict(rc),
        "end": end,
        "not_installed": list(not_installed),
    }


def practice_blocks(document: Document) -> Iterator[Block]:
    """Yield the text for the trainee: the task, and the shell commands to copy."""
    count, seed = document["faults"], document["seed"]
    yield f"A small cloud runs here, and {count} {'fault is' if count == 1 else 'faults are'} planted in it."
    yield "Find and repair each fault with the output of stocktake and the commands in that output."
    yield "All faults are repaired when `stocktake status` says clean on every host."
    yield ""
    missing = document["not_installed"]
    works = "the `stocktake` commands" if missing else "all commands"
    yield f"You can run {works} that stocktake prints. Before you work on a host, run the host's line:"
    for host, file in document["rc"].items():
        yield Line((Span(f"  . {shlex.quote(file)}    # {host}"),), whole=True)
    yield "Begin with: stocktake status"
    if missing:
        are, whose = ("is", "its") if len(missing) == 1 else ("are", "their")
        yield f"{' and '.join(missing)} {are} not installed here, so {whose} commands fail."
        yield "Run stocktake explain ID instead, with the ID of a finding or the uuid of its instance."
    yield ""
    yield "No guest runs, and the agents audit every 10 s. A repair is allowed at once ([heal] min_age = 0)."
    yield f"The same faults again: stocktake demo --practice {count} --seed {seed}"
    yield Line((Span(f"To remove the cloud: {document['end']}"),), whole=True)
