"""Frozen values: what was read, what was decided, what is to be written."""
