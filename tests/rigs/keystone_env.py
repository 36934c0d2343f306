"""A Python environment with the released Keystone and Placement, for tests that use real tokens.

``STOCKTAKE_KEYSTONE_PYTHON`` names an existing environment. The head of the constraints file has the time and the size
measured on a machine without one.
"""

import os
from pathlib import Path

from tests.rigs import python_env

VERSION = "30.0.0"
CONSTRAINTS = Path(__file__).parent / "keystone-constraints.txt"
PACKAGES = (f"keystone=={VERSION}", "openstack-placement==16.0.0", "gunicorn", "PyMySQL")


def keystone_python() -> Path:
    """Return the python of that environment. Raise AssertionError with pip's output if it cannot be made."""
    given = os.environ.get("STOCKTAKE_KEYSTONE_PYTHON")
    return Path(given) if given else python_env.made(f"keystone-{VERSION}", CONSTRAINTS, *PACKAGES)
