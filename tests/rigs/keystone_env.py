"""A Python environment with the released Keystone and Placement, for tests that get real tokens.

``STOCKTAKE_KEYSTONE_PYTHON`` names one that is there already. Measured on a machine without it: see the
constraints file's head.
"""

import os
from pathlib import Path

from tests.rigs import python_env

VERSION = "30.0.0"
CONSTRAINTS = Path(__file__).parent / "keystone-constraints.txt"
PACKAGES = (f"keystone=={VERSION}", "openstack-placement==16.0.0", "gunicorn", "PyMySQL")


def keystone_python() -> Path:
    """The python of that environment. AssertionError, with pip's own words, where it cannot be made."""
    given = os.environ.get("STOCKTAKE_KEYSTONE_PYTHON")
    return Path(given) if given else python_env.made(f"keystone-{VERSION}", CONSTRAINTS, *PACKAGES)
