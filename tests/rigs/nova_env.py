"""A Python environment with the released nova, for tests that ask nova itself; made once and kept between runs.

``STOCKTAKE_NOVA_PYTHON`` names one that is there already. Otherwise it is made in
the cache folder, under a lock, so that parallel workers make one; a half-made
folder (no stamp) is thrown away.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

VERSION = "34.0.0"
CONSTRAINTS = Path(__file__).parent / "nova-constraints.txt"
INSTALL_TIMEOUT_S = 900


def nova_python() -> Path:
    """The python of that environment. AssertionError, with pip's own words, where it cannot be made."""
    given = os.environ.get("STOCKTAKE_NOVA_PYTHON")
    if given:
        return Path(given)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stocktake"
    cache.mkdir(parents=True, exist_ok=True)
    home = cache / f"nova-{VERSION}"
    with (cache / f"nova-{VERSION}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _complete(home):
            _make(home)
    return home / "bin" / "python"


def _complete(home: Path) -> bool:
    # The stamp holds the constraints, so that a change of them makes it anew.
    stamp = home / "complete"
    return stamp.exists() and stamp.read_text() == CONSTRAINTS.read_text()


def _make(home: Path) -> None:
    shutil.rmtree(home, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(home)])
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "-c", str(CONSTRAINTS), f"nova=={VERSION}", "PyMySQL"])
    (home / "complete").write_text(CONSTRAINTS.read_text())


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_S, check=False)
    assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
