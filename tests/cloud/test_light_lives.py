"""Audits with light reads decide on the same rows and report the same findings as audits that always read in full.

``STOCKTAKE_LIGHT_LIVES=50000`` plays more lives; 50,000 take ten minutes.
"""

import os

from tests.cloud.light_lives import play, play_pairs

LIVES = int(os.environ.get("STOCKTAKE_LIGHT_LIVES", "1000"))
LIVES_OF_PAIRS = max(40, LIVES // 25)


def test_a_partial_read_gives_the_same_rows_as_a_full_read():
    """A partial read of nova's rows gives the agent the same rows as a full read."""
    reads = play(LIVES, 20261123)
    # A run in which most reads are full would prove nothing.
    assert reads["light"] > reads["full"] > LIVES


def test_partial_reads_do_not_change_the_findings():
    """A partial read only checks if nova's rows have changed. Audits report the same findings as with full reads."""
    light, findings = play_pairs(LIVES_OF_PAIRS, 20261124)
    assert min(light, findings) > LIVES_OF_PAIRS
