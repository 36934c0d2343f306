"""A Python environment with the released nova, for tests that compare with nova itself.

``STOCKTAKE_NOVA_PYTHON`` names an existing environment. ``STOCKTAKE_RELEASE`` chooses an older nova (releases.py).
"""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import libvirt

from tests.rigs import python_env, releases
from tools import make_cell_schema

GIVEN = "STOCKTAKE_NOVA_PYTHON"
VERSION = releases.NEWEST.nova
CONSTRAINTS = Path(__file__).parent / "nova-constraints.txt"


def nova_python() -> Path:
    """Return the python of that environment. Raise AssertionError with pip's output if it cannot be made."""
    if given := os.environ.get(GIVEN):
        return Path(given)
    return nova_python_of(releases.chosen())


def nova_python_of(release: releases.Release) -> Path:
    """Return the python of the environment with that release's nova. Raise AssertionError as ``nova_python`` does."""
    if release is not releases.NEWEST:
        return releases.environment(release)
    return python_env.made(f"nova-{VERSION}", CONSTRAINTS, f"nova=={VERSION}", "PyMySQL")


def with_libvirt(folder: Path) -> Path:
    """Return a folder for PYTHONPATH with this environment's libvirt: the environment of nova has none of its own."""
    shared = folder / "libvirt"
    shared.mkdir()
    for path in Path(libvirt.__file__).parent.glob("libvirt*"):
        (shared / path.name).symlink_to(path)
    return shared


def cell_schema(release: releases.Release) -> Path:
    """Return the description of the tables that an older release's own migrations make, kept in its environment."""
    python = releases.environment(release)
    target = python.parent.parent / "cell_schema.json"
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            command = [sys.executable, make_cell_schema.__file__, "--nova-python", str(python), "--target", str(target)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            assert done.returncode == 0, f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}"
    return target
