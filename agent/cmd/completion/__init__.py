"""Completion scripts for bash, zsh and fish, made from the commands' own parsers.

Begin with words.py, which reads the parsers into frozen values. Each of the modules bash.py, zsh.py and fish.py turns
these values into a script for its shell. ``stocktake complete --shell NAME`` prints a script.

Not here: the list of commands (agent/cmd/registry.py).
"""
