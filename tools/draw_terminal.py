#!/usr/bin/env python3
"""Draw docs/terminal.svg, the picture of the README: real output of the commands on the demo's first host.

    .venv/bin/stocktake demo --keep
    .venv/bin/python tools/draw_terminal.py FOLDER_OF_THE_KEPT_CLOUD
    .venv/bin/stocktake demo --end

Each command runs on a terminal of 96 columns, so the picture has the colours that an operator sees.
"""

from __future__ import annotations

import io
import os
import pty
import re
import sys
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs/terminal.svg"
COLUMNS = 96
HOST = "stocktake-demo-1"
COMMANDS = (("findings", "--causes"), ("explain", "VCPU"), ("heal", "--finding", "87897f25"))
#: `explain` goes on with the host's inventory; the picture ends before that.
LAST_LINE = re.compile(r"^evacuated from here|^provider ")


def printed(cloud: Path, command: tuple[str, ...]) -> str:
    """Return what the command prints on a terminal, with its colours."""
    program = str(Path(sys.executable).with_name("stocktake"))
    config = str(cloud / HOST / "stocktake.conf")
    child, terminal = pty.fork()
    if child == 0:
        sizes = {"COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "LVM_SYSTEM_DIR": str(cloud / "lvm")}
        os.execve(program, [program, "--config-file", config, *command], {**os.environ, **sizes})
    text = b""
    while part := _read(terminal):
        text += part
    os.waitpid(child, 0)
    return _shown(text.decode())


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux reports the end of the other side so.
        return b""


def _shown(text: str) -> str:
    """Return the lines of the picture, without the lines about waiting, which the terminal erases."""
    lines = [line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n")]
    end = next((n for n, line in enumerate(lines) if LAST_LINE.match(re.sub(r"\x1b\[[\d;]*[A-Za-z]", "", line))), None)
    return "\n".join(lines[:end]).rstrip()


def svg(texts: list[tuple[str, str]]) -> str:
    """Return the picture: each command after a prompt, and its output below."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for number, (command, output) in enumerate(texts):
        console.print(Text(f"{'' if number == 0 else chr(10)}# {command}", style="bold"), soft_wrap=True)
        console.print(Text.from_ansi(output), soft_wrap=True)
    # Without the fonts of another server: a picture must not make a browser ask anybody.
    form = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    return console.export_svg(title="Stocktake", code_format=form, unique_id="stocktake") + "\n"


def main() -> None:
    """Run the commands and write the picture."""
    if len(sys.argv) != 2:
        sys.exit("usage: tools/draw_terminal.py FOLDER_OF_THE_KEPT_CLOUD")
    texts = [(f"stocktake {' '.join(command)}", printed(Path(sys.argv[1]), command)) for command in COMMANDS]
    picture = svg(texts)
    if re.search(r"https?://(?!www\.w3\.org/|www\.textualize\.io)|url\(\W*http", picture):
        sys.exit("the picture names another server")
    PICTURE.write_text("\n".join(line.rstrip() for line in picture.splitlines()) + "\n")


if __name__ == "__main__":
    main()
