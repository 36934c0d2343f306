"""Where provider.yaml files lie, and what they add to providers."""

from __future__ import annotations

from agent.config.load import Loaded
from agent.config.reading.provider_yaml import ProviderFiles, read_provider_files
from agent.errors import ConfigError
from agent.model.provider_config import ProviderEntry


def provider_entries(loaded: Loaded) -> tuple[ProviderEntry, ...]:
    """All entries of all files. Raises ConfigError with file and line of each problem."""
    return _read(loaded).entries


def provider_notices(loaded: Loaded) -> tuple[str, ...]:
    """What of the files is ignored; nothing of files that are refused: that is told as a problem."""
    try:
        return _read(loaded).notices
    except ConfigError:
        return ()


def _read(loaded: Loaded) -> ProviderFiles:
    return read_provider_files(loaded.value("compute", "provider_config_location"))
