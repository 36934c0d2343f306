"""Python environments with released packages on which Stocktake does not depend, each made once and kept between runs.

They are in the cache folder. A lock makes parallel test workers share one; an incomplete folder (no stamp) is removed.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

INSTALL_TIMEOUT_S = 900


def made(name: str, constraints: Path, *packages: str, interpreter: str = sys.executable) -> Path:
    """Return the python of the environment ``name``, which ``interpreter`` makes.

    Raise AssertionError with pip's output if the environment cannot be made.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stocktake"
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / name
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _complete(home, constraints):
            _make(home, constraints, packages, interpreter)
    return home / "bin" / "python"


def _complete(home: Path, constraints: Path) -> bool:
    # The stamp holds the constraints, so that changed constraints cause a new environment.
    stamp = home / "complete"
    return stamp.exists() and stamp.read_text() == constraints.read_text()


def _make(home: Path, constraints: Path, packages: tuple[str, ...], interpreter: str) -> None:
    shutil.rmtree(home, ignore_errors=True)
    _run([interpreter, "-m", "venv", str(home)])
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "-c", str(constraints), *packages])
    (home / "complete").write_text(constraints.read_text())


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
