"""A Python environment with the released nova, for tests that compare with nova itself.

``STOCKTAKE_NOVA_PYTHON`` names an existing environment.
"""

import os
from pathlib import Path

from tests.rigs import python_env

VERSION = "34.0.0"
CONSTRAINTS = Path(__file__).parent / "nova-constraints.txt"


def nova_python() -> Path:
    """Return the python of that environment. Raise AssertionError with pip's output if it cannot be made."""
    given = os.environ.get("STOCKTAKE_NOVA_PYTHON")
    return Path(given) if given else python_env.made(f"nova-{VERSION}", CONSTRAINTS, f"nova=={VERSION}", "PyMySQL")
