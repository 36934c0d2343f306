"""The error for a command line that argparse accepts but the command cannot use, such as an unknown name: exit 127."""

from __future__ import annotations


class UsageError(Exception):
    """A mistake in the command line. The message names the mistake, and the nearest match or the places searched."""
