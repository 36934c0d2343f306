"""Read the version of the installed package stocktake."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """Return the version of this program, "" if its package is not installed."""
    try:
        return version("stocktake")
    except PackageNotFoundError:
        return ""
