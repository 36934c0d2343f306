"""Update the column of tests in docs/contributor/scenarios.md: ``.venv/bin/python tools/scenario_tests.py``."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from tests.rigs.scenario_table import DOCUMENT, rewritten

DOCUMENT.write_text(rewritten(DOCUMENT.read_text()))
