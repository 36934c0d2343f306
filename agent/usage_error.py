"""The error of a command line that asks for something that is not there: exit 127, as bad arguments."""

from __future__ import annotations


class UsageError(Exception):
    """A sentence for the operator: what was asked for, and what is the nearest to it or where was looked."""
