"""The error for a command line that names something that does not exist: exit 127, as for bad arguments."""

from __future__ import annotations


class UsageError(Exception):
    """A sentence for the operator: what the command line named, and the nearest match or where the command searched."""
